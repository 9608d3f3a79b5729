#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Waiting for the collector does not make a call an outlier: no duration, total
# or bound contains that time, wherever a call's duration is made. A server had
# two slowest calls of half a second, which were perfrec's doing alone.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build stalled -O1 <<'SOURCE'
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile long sum;

NOINLINE static void leaf(void)
{
	sum++;
}

/* More than fits into the ring. */
NOINLINE static void stall(void)
{
	close(open("stalling", O_CREAT | O_WRONLY, 0600));
	for (int i = 0; i < 20000; i++)
		leaf();
}

int main(void)
{
	close(open("ready", O_CREAT | O_WRONLY, 0600));
	while (access("go", F_OK))
		sched_yield();
	stall();
	return 0;
}
SOURCE

# Until the program waits for room, which it does for 0.1 s: a collector that is
# stopped for longer frees it. So this starts no process.
until_it_waits()
{
	while [ ! -e stalling ]; do
		kill -0 $program 2>/dev/null || return
	done
	# Z: it was freed, and has ended.
	while read -r _ _ state _ <"/proc/$program/stat" &&
		[ "$state" != S ] && [ "$state" != Z ]; do
		:
	done
}

# record: to ./data; the collector stands still while stall() calls leaf().
record()
{
	rm -rf data ready go stalling
	start_daemon --on-full block --cpu off --overhead off
	LD_PRELOAD=$SHIM PERFREC_RING_KB=64 ./stalled &
	program=$!
	wait_for 60 test -e ready
	stop_process "$collector"
	: >go
	until_it_waits
	kill -CONT "$collector"
	wait $program || fail "status $?"
	stop_daemon
	mv data/stalled-* recorded
	rm -rf data
	mv recorded data
}

# The last recording has the wait, and all calls. It has not where this shell had
# no CPU while the program waited.
is_whole()
{
	jq -e '.totals | .wait_ns > 0 and .dropped_spans == 0' \
		data/summary.json >/dev/null
}

# raw NAME: ns from the start to the end of the only call of NAME.
raw()
{
	"$O/tests/tools/trace_check" --dump data/trace.pftrace | awk -v name="$1" '
		$1 == "B" && $6 == name { begin = $4; depth = $5 }
		$1 == "E" && begin && !end && $5 == depth { end = $4 }
		END { printf "%.0f\n", end - begin }'
}

# found MEMBER JSON: of the call of stall().
found()
{
	jq -r ".functions[] | select(.name == \"stall\") | .$1" "$2"
}

for _ in 1 2 3 4 5 6 7 8 9 10; do
	record
	is_whole && break
done
is_whole || fail 'it did not wait, or lost calls'
waited=$(json data/summary.json .totals.wait_ns)
took=$(($(raw stall) - waited))
expect_eq 'find' "$("$PERFREC" find --json 'stall' data |
	jq -r '.calls[] | .duration_ns')" $took
expect_eq 'the bound of find' "$("$PERFREC" find --json "stall > ${took}ns" data |
	jq -r '.calls | length')" 0
"$PERFREC" report --json --from 0ns data >range.json
expect_eq 'max and total of a range' \
	"$(found max_ns range.json) $(found total_ns range.json)" "$took $took"
# The summary also subtracts the cost of hooks.
expect_eq 'max of the summary' "$(found 'max_ns == .total_ns and .max_ns <= '$took \
	data/summary.json)" true
expect_eq 'the longest of all is shorter than the wait' "$("$PERFREC" find --json \
	--limit 1 'main' data | jq -r ".calls[0].duration_ns - $(raw main) + $waited")" 0
"$PERFREC" export --to csv --calls data >calls.csv
expect_eq 'the table of calls' "$(awk -F, '$8 ~ /^"?stall"?$/ { print $5 }' calls.csv)" \
	"$took"
mkdir part
"$PERFREC" cut -o part/trace.pftrace --slowest stall data
expect_eq 'in a cut' "$("$PERFREC" find --json stall part |
	jq -r '.calls[] | .duration_ns')" "$took"
"$O/tests/tools/trace_check" data/trace.pftrace || fail 'a rule is broken'

# From the trace alone.
rm data/summary.json
"$PERFREC" report --json data >rebuilt.json 2>/dev/null
expect_eq 'max and total of a rebuilt summary' \
	"$(found max_ns rebuilt.json) $(found total_ns rebuilt.json)" "$took $took"
rm data/trace.index
"$PERFREC" index data
expect_eq 'by an index made again' "$("$PERFREC" find --json stall data |
	jq -r '.calls[] | .duration_ns')" "$took"
