# SPDX-License-Identifier: Apache-2.0
#
# perfrec ctl stats: the figures of a collector about itself are true.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need jq perl

# ./calls N: calls, then waits until ./go is there.
build calls <<'SOURCE'
#include <stdlib.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) static void leaf(long i) { sum += i; }
int main(int argc, char **argv)
{
	for (long i = 0; i < atol(argv[argc - 1]); i++)
		leaf(i);
	while (access("go", F_OK) < 0)
		usleep(1000);
	return 0;
}
SOURCE
start_daemon --max-total 1G

# figure EXPRESSION: of the object "stats".
figure()
{
	"$PERFREC" ctl stats --json >stats.json || fail 'perfrec ctl stats'
	json stats.json ".stats$1"
}
# is EXPRESSION VALUE
is()
{
	[ "$(figure "$1")" = "$2" ]
}

expect_eq 'recordings at first' "$(figure .going_on)" 0
expect_eq 'programs at first' "$(figure .programs)" 0
expect_eq 'limit of the disk' "$(figure .disk_bytes_max)" 1073741824
[ "$(figure .uptime_ns)" -gt 0 ] || fail "uptime: $(cat stats.json)"
[ "$(figure .rss_bytes)" -gt 100000 ] || fail "memory: $(cat stats.json)"

preload ./calls 1000 &
wait_for 60 is '.recordings[0].spans' 1001
expect_eq 'recordings' "$(figure .going_on)" 1
expect_eq 'program' "$(figure '.recordings[0].program')" calls
expect_eq 'processes' "$(figure '.recordings[0].processes')" 1
expect_eq 'threads' "$(figure '.recordings[0].threads')" 1
wait_for 60 is '.recordings[0].unread_bytes' 0
[ "$(figure '.recordings[0].memory_bytes')" -gt 0 ] || fail 'no memory'
[ "$(figure '.recordings[0].ring_bytes')" -ge 65536 ] || fail 'no ring'

# Lag: records that no thread drains now count as unread later.
stop_process $collector
preload ./calls 3000 &
second=$!
kill -CONT $collector
wait_for 60 is .going_on 2
touch go
wait $second || fail 'the second program'
wait_for 60 is .going_on 0
wait_for 60 is .finishing 0
expect_eq 'programs' "$(figure .programs)" 2
[ "$(figure .spans)" -ge 4000 ] || fail "spans: $(figure .spans)"
expect_eq 'lost' "$(figure .lost)" 0

# A refusal, with its reason.
perl -MSocket -e '
	socket(my $s, PF_UNIX, SOCK_SEQPACKET, 0) or die;
	connect($s, sockaddr_un("perfrec.sock")) or die "connect: $!";
	send($s, "x" x 200, 0); recv($s, my $answer, 256, 0);' || fail perl
expect_eq 'refused' "$(figure .refused)" 1
expect_eq 'why' "$(figure '.refusals[0].why')" \
	"it does not speak as perfrec's shim does"

run "$PERFREC" ctl stats
expect_status 0
expect_match out '^perfrec-collect \(pid [0-9]+\): up ' \
	'so far 2 programs, ' '^drain: [0-9]+ workers?, ' \
	"^refused: 1, because it does not speak as perfrec's shim does"
run "$PERFREC" ctl stats calls
expect_error 2 'stats are of all programs'
stop_daemon
