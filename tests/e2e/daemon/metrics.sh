# SPDX-License-Identifier: Apache-2.0
#
# --metrics: a file that is always whole, and a socket whose clients, however
# they behave, hold nobody. The text is what Prometheus reads.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need perl
perl -MSocket -e 1 2>/dev/null || skip 'perl has no sockets'

# valid FILE: and VALUE of a metric.
valid()
{
	awk -f "$TOP/tests/e2e/lib/metrics.awk" "$1" || fail "$1 is not valid"
}
value()
{
	sed -n "s/^$2 //p" "$1"
}

# A name with every character that a label has to escape.
build 'a"b\c' <<'SOURCE'
#include <unistd.h>
int main(void)
{
	while (access("go", F_OK) < 0)
		usleep(1000);
	return 0;
}
SOURCE

# --- the file
start_daemon --metrics m.prom
wait_for 60 test -s m.prom
valid m.prom
expect_eq 'recordings' "$(value m.prom perfrec_recordings)" 0
preload './a"b\c' &
program=$!
recorded()
{
	[ "$(value m.prom perfrec_recordings)" = 1 ]
}
wait_for 60 recorded
valid m.prom
grep -qF 'program="a\"b\\c"} 1' m.prom || fail "labels: $(grep a.b m.prom)"
expect_none m.prom.new
expect_eq 'mode' "$(stat -c %a m.prom)" 644
touch go
wait $program || fail 'the program'
stop_daemon
expect_none m.prom m.prom.new
rm go

# Not to be written: the collector goes on, and says so once.
mkdir -p there
start_daemon --metrics there/m.prom
wait_for 60 test -s there/m.prom
if [ "$(id -u)" != 0 ]; then
	chmod 500 there
	wait_for 60 grep -q "cannot write 'there/m.prom'" collect.log
	chmod 700 there
fi
stop_daemon
mkfifo pipe
run "$O/perfrec-collect" -o other --metrics pipe
expect_status 1
expect_match err "cannot write 'pipe': it is no plain file"
run "$O/perfrec-collect" -o other --metrics unix:
expect_status 2
expect_match err "--metrics 'unix:': give the path of a socket after unix:"
run "$O/perfrec-collect" -o other --metrics unix:pipe
expect_status 1
expect_match err "'pipe' exists and is no socket .choose another with --metrics"

# --- the socket
# ask.pl TEXT HOW: sends TEXT to m.sock, and prints the answer, or with HOW
# "silent" waits for the end of the connection.
cat >ask.pl <<'SCRIPT'
use Socket;
alarm 60;
socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die;
connect($s, sockaddr_un("m.sock")) or die "connect: $!";
$SIG{PIPE} = 'IGNORE';
my $text = eval "\"$ARGV[0]\"";
send($s, $text, 0) if length $text;
if ($ARGV[1] eq 'stay') {
	open(my $up, '>>', 'up');
	print $up "x";
	close $up;
	sleep 50;
}
while (sysread($s, my $part, 65536)) { print $part; }
SCRIPT
ask()
{
	perl ask.pl "$1" read
}
start_daemon --metrics unix:m.sock
expect_eq 'mode' "$(stat -c %a m.sock)" 600
ask 'GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n' >answer
head -n 1 answer | grep -q '^HTTP/1.0 200 OK' || fail "$(head -n 3 answer)"
expect_match answer '^Content-Type: text/plain; version=0.0.4'
sed '1,/^\r*$/d' answer >body
valid body
expect_eq 'length' "$(wc -c <body)" \
	"$(sed -n 's/^Content-Length: \([0-9]*\).*/\1/p' answer)"
status_of()
{
	ask "$1" | sed -n '1s/^HTTP.1.0 \([0-9]*\).*/\1/p'
}
expect_eq 'HEAD' "$(status_of 'HEAD /metrics HTTP/1.1\n\n')" 200
expect_eq 'query' "$(status_of 'GET /metrics?a=b HTTP/1.1\r\n\r\n')" 200
expect_eq 'other path' "$(status_of 'GET / HTTP/1.1\r\n\r\n')" 404
expect_eq 'POST' "$(status_of 'POST /metrics HTTP/1.1\r\n\r\n')" 405
expect_eq 'nonsense' "$(status_of '\x00\xff\r\n\r\n')" 400
expect_eq 'too much' "$(status_of "$(head -c 9000 /dev/zero | tr '\0' x)")" 431

# Silent clients, more than it takes: programs and perfrec ctl do not notice,
# and its turn comes.
clients=
trap 'kill -KILL $collector $clients 2>/dev/null' EXIT
for text in '' 'GET /met' 'GET /metrics HTTP/1.0\r\n\r\n'; do
	for i in 1 2 3 4 5 6 7 8 9 10; do
		perl ask.pl "$text" stay &
		clients="$clients $!"
	done
done
all_up()
{
	[ "$(wc -c <up)" -ge 16 ]
}
wait_for 60 test -e up
wait_for 60 all_up
build_calls
LD_PRELOAD=$SHIM ./calls 1000 >out || fail 'the program'
"$PERFREC" ctl stats --json >stats.json || fail 'perfrec ctl stats'
expect_eq 'programs' "$(json stats.json .stats.programs)" 1
answers()
{
	ask 'GET /metrics HTTP/1.0\r\n\r\n' 2>/dev/null |
		grep -q '^perfrec_programs_total 1'
}
wait_for 60 answers
kill $clients 2>/dev/null
# A collector that does not answer: status 503, and no hang at the end.
stop_daemon
expect_none m.sock
