# SPDX-License-Identifier: Apache-2.0
#
# The unit for systemd: it is well formed, and the collector tells who started
# it when it serves and when it stops.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need perl

cat >receive.pl <<'SCRIPT'
use Socket;
socket(my $socket, PF_UNIX, SOCK_DGRAM, 0) or die;
bind($socket, sockaddr_un($ARGV[0])) or die;
open(my $up, '>', 'up');
$| = 1;
while (defined recv($socket, my $text, 256, 0)) {
	print "$text\n";
	last if $text =~ /STOPPING/;
}
SCRIPT
perl -MSocket -e 1 2>/dev/null || skip 'perl has no sockets'
# receive PATH NAME: what the collector says to NAME, which PATH is to perl.
receive()
{
	rm -f up
	printf '%s' "$1" >path
	perl -e 'open(F, "path"); $p = <F>; $p =~ s/^@/\0/; @ARGV = ($p);
		do "./receive.pl"; die $@ if $@' >told &
	receiver=$!
	wait_for 60 test -e up
	export NOTIFY_SOCKET="$2"
	start_daemon
	wait_for 60 grep -q '^READY=1$' told
	stop_daemon
	unset NOTIFY_SOCKET
	wait $receiver
	expect_eq 'told' "$(tr '\n' ' ' <told)" 'READY=1 STOPPING=1 '
}
receive "$PWD/notify" "$PWD/notify"
receive "@perfrec-test-$$" "@perfrec-test-$$"

# Nobody there: it does not matter.
export NOTIFY_SOCKET="$PWD/nobody"
start_daemon
stop_daemon
unset NOTIFY_SOCKET

if command -v systemd-analyze >/dev/null; then
	sed "s|@BINDIR@|$O|" "$TOP/dist/perfrec-collect.service" \
		>perfrec-collect.service
	systemd-analyze verify --user --man=no ./perfrec-collect.service \
		>out 2>&1 || fail "the unit: $(cat out)"
	[ ! -s out ] || fail "the unit: $(cat out)"
fi
