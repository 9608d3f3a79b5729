# SPDX-License-Identifier: Apache-2.0
# long: fills traces up to several limits
#
# A trace that stops at --max-size is as well formed as any: all slices that
# were open there end there, losses up to there are in it, and it is not a
# byte larger. The counts go on.
. "$TOP/tests/e2e/lib.sh"

build nest -pthread <<'SOURCE'
#include <pthread.h>
#define THREADS 5
#define ROUNDS 400
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
__attribute__((noinline)) static void nest(int depth)
{
	leaf();
	if (depth)
		nest(depth - 1);
	leaf();
}
static void *run(void *context)
{
	for (int i = 0; i < ROUNDS; i++)
		nest(300);
	return context;
}
int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
SOURCE
# main, and of each thread: run, and per round 301 times nest with two leaves.
calls=$((1 + 5 * (1 + 400 * 301 * 3)))

# cut SIZE [OPTION...]: record with this limit; leaves trace.json.
cut()
{
	run_ok timeout 100 "$PERFREC" record -q -o data --max-size "$@" ./nest
	bytes=$(stat -c %s data/trace.pftrace)
	[ "$bytes" -le "$1" ] || fail "$*: the trace has $bytes bytes"
	expect_eq "$*: trace_stopped" \
		"$(json data/summary.json .totals.trace_stopped)" \
		'--max-size reached'
	expect_eq "$*: calls" "$(json data/summary.json \
		'.totals | .spans + .dropped_spans')" $calls
	"$O/tests/tools/trace_check" --json data/trace.pftrace >trace.json ||
		fail "$*: a rule is broken"
	"$O/tests/tools/trace_check" --dump --importer data/trace.pftrace >lines
	# It waits for the other threads, and its last event is old.
	awk '$1 == "B" && $6 == "main" { from = $4; n++ }
		$1 == "E" && $6 == "main" { to = $4 }
		$1 ~ /^[BE]$/ && $4 > last { last = $4 }
		END { exit n && to < last }' lines ||
		fail "$*: main ends before the trace does"
	[ "$(json data/summary.json '[.processes[].threads[].sched] |
		any(. == "measured")')" \
		!= true ] || [ "$(json data/summary.json \
		.totals.lost_switches)" -gt 0 ] || check_switches "$@"
}
# check_switches LIMIT...: all switches up to the last call are there. So each
# thread is on a CPU when its last one begins.
check_switches()
{
	awk '
		$1 == "B" && $6 !~ /^(main|perfrec:)/ { last[$3] = $4 }
		$1 == "state" && $5 == "Running" { n[$2]++
			if (!($2 in from) || $3 < from[$2]) from[$2] = $3
			if ($3 + $4 > to[$2]) to[$2] = $3 + $4 }
		END { for (tid in last) if (to[tid] + 50000 < last[tid]) {
			printf "thread %s: on a CPU up to %.0f, its last call %.0f\n",
				tid, to[tid], last[tid]
			bad = 1 }
			exit bad }' lines || fail "$*: switches are missing"
}

cuts_open=0
for limit in '262144 --compress=off' '300000 --compress=off' \
	'400000 --compress=off' '1000000 --compress=off' \
	'5000001 --compress=off' \
	'262144 --compress' '300000 --compress' '350001 --compress' \
	'262144 --compress=off --min-duration 20ns' \
	'262145 --min-duration 1us'; do
	cut $limit
	expect_eq "$limit: calls of leaf" "$(json data/summary.json \
		'.functions[] | select(.name == "leaf").calls')" \
		$((5 * 400 * 301 * 2))
	marks=$("$O/tests/tools/trace_check" --dump data/trace.pftrace |
		grep -c 'trace stopped: size limit')
	echo "$limit: $bytes bytes, $marks threads with open slices"
	[ "$marks" -le 6 ] || fail "$limit: too many marks"
	cuts_open=$((cuts_open + marks))
done
[ $cuts_open -gt 0 ] || fail 'nothing was open at any cut: nothing is shown'

# Losses before the cut: the statistics that explain them are in the file.
# However slow the collector is, each thread records a ring full: five rings
# of 16384 cells are some 800 kB of trace, which no limit here may exceed.
export PERFREC_RING_KB=256
lost=0
for size in 262144 400000 600000; do
	cut $size --compress=off --on-full drop
	lost=$((lost + $(json trace.json .losses)))
done
[ $lost -gt 0 ] || echo 'nothing was lost before a cut: not shown'
