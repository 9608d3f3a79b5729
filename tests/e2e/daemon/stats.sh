# SPDX-License-Identifier: Apache-2.0
#
# perfrec ctl stats: the figures of a collector about itself are true.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need perl

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

expect_eq 'recordings at first' "$(stat_of .going_on)" 0
expect_eq 'programs at first' "$(stat_of .programs)" 0
expect_eq 'limit of the disk' "$(stat_of .disk_bytes_max)" 1073741824
[ "$(stat_of .uptime_ns)" -gt 0 ] || fail "uptime: $(cat stats.json)"
[ "$(stat_of .rss_bytes)" -gt 100000 ] || fail "memory: $(cat stats.json)"

preload ./calls 1000 &
wait_for 60 stat_is '.recordings[0].spans' 1001
expect_eq 'recordings' "$(stat_of .going_on)" 1
expect_eq 'program' "$(stat_of '.recordings[0].program')" calls
expect_eq 'processes' "$(stat_of '.recordings[0].processes')" 1
expect_eq 'threads' "$(stat_of '.recordings[0].threads')" 1
wait_for 60 stat_is '.recordings[0].unread_bytes' 0
[ "$(stat_of '.recordings[0].memory_bytes')" -gt 0 ] || fail 'no memory'
[ "$(stat_of '.recordings[0].ring_bytes')" -ge 65536 ] || fail 'no ring'

# Lag: records that no thread drains now count as unread later.
stop_process $collector
preload ./calls 3000 &
second=$!
kill -CONT $collector
wait_for 60 stat_is .going_on 2
touch go
wait $second || fail 'the second program'
wait_for 60 stat_is .going_on 0
wait_for 60 stat_is .finishing 0
expect_eq 'programs' "$(stat_of .programs)" 2
[ "$(stat_of .spans)" -ge 4000 ] || fail "spans: $(stat_of .spans)"
expect_eq 'lost' "$(stat_of .lost)" 0

# A refusal, with its reason.
perl -MSocket -e '
	socket(my $s, PF_UNIX, SOCK_SEQPACKET, 0) or die;
	connect($s, sockaddr_un("perfrec.sock")) or die "connect: $!";
	send($s, "x" x 200, 0); recv($s, my $answer, 256, 0);' || fail perl
expect_eq 'refused' "$(stat_of .refused)" 1
expect_eq 'why' "$(stat_of '.refusals[0].why')" \
	"it does not speak as perfrec's shim does"

run_ok "$PERFREC" ctl stats
expect_match out '^perfrec-collect \(pid [0-9]+\): up ' \
	'so far 2 programs, ' '^drain: [0-9]+ workers?, ' \
	"^refused: 1, because it does not speak as perfrec's shim does"
run "$PERFREC" ctl stats calls
expect_error 2 'stats are of all programs'
stop_daemon
