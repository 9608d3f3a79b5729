# SPDX-License-Identifier: Apache-2.0
#
# The recordings of a daemon with --flight have one memory: a busy program fills
# it, and takes nothing from what a quiet one has.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

# ./calls NAME [PAUSE_US]: calls until ./stop is there.
build calls <<'SOURCE'
#include <stdlib.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) static void leaf(long i) { sum += i; }
int main(int argc, char **argv)
{
	while (access("stop", F_OK) < 0) {
		for (long i = 0; i < (argc > 2 ? 50 : 100000); i++)
			leaf(i);
		if (argc > 2)
			usleep(atoi(argv[2]));
	}
	return 0;
}
SOURCE
cp calls busy
cp calls quiet
trap 'touch stop; [ -z "$collector" ] || kill -KILL $collector' EXIT
start_daemon --flight --memory 16M --keep 1h --margin 10ms

# figure PROGRAM MEMBER: of its recording, 0 if there is none.
figure()
{
	"$PERFREC" ctl stats --json >stats.json || fail 'perfrec ctl stats'
	jq ".stats.recordings | map(select(.program == \"$1\"))[0].$2 // 0" \
		stats.json
}
# is_above PROGRAM MEMBER LEAST
is_above()
{
	[ "$(figure "$1" "$2")" -gt "$3" ]
}

# So little in a minute that it is below its share, however slow the other one is.
preload ./quiet quiet 20000 &
quiet=$!
wait_for 60 is_above quiet spans 1000
preload ./busy busy &
busy=$!
# Four times what fits in.
wait_for 120 is_above busy spans 20000000
bytes=$(figure busy flight_bytes)
[ "$bytes" -gt 12000000 ] || fail "the busy one has only $bytes bytes"
all=$(jq '[.stats.recordings[].flight_bytes] | add' stats.json)
[ "$all" -lt 18000000 ] || fail "both have $all bytes of 16 MiB"
expect_eq 'memory' "$(figure busy flight_bytes_max)" 16777216

# The snapshot of the quiet one has all from its start on.
expect_eq 'asked' "$("$PERFREC" ctl snapshot --json quiet |
	jq '.snapshots | length')" 1
why=$(echo data/quiet-*/snapshots/*/why.json)
expect_eq 'missing' "$(json "$why" '.missing | length')" 0
[ "$(figure quiet flight_kept_ns)" -gt "$(figure busy flight_kept_ns)" ] ||
	fail "the quiet one has lost something: $(cat stats.json)"
touch stop
wait $quiet && wait $busy || fail 'a program failed'
wait_for 60 has_summary quiet
wait_for 60 has_summary busy
stop_daemon
