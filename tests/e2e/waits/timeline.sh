#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The waits that perfrec read are on the timeline, each with its object: those of
# offcpu.pb.gz, one by one. By the clock each lies inside the call that waited.
# trace_check compares them with the switches of the trace. Waits are no calls: no
# figure, list or file of calls contains them.
. "$TOP/tests/e2e/lib.sh"

check=$O/tests/tools/trace_check
build waiter -finstrument-functions -O1 -pthread <<'SOURCE'
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 10

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static int g_pipe[2];

__attribute__((noinline)) void nap(long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	nanosleep(&time, NULL);
}

__attribute__((noinline)) void convoy(void)
{
	pthread_mutex_lock(&g_lock);
	nap(8);
	pthread_mutex_unlock(&g_lock);
	nap(2);
}

__attribute__((noinline)) void take(void)
{
	char byte;

	if (read(g_pipe[0], &byte, 1) != 1)
		_exit(3);
}

static void *stand_in_line(void *context)
{
	for (int i = 0; i < ROUNDS; i++)
		convoy();
	return context;
}

static void *give(void *context)
{
	stand_in_line(context);
	for (int i = 0; i < ROUNDS; i++) {
		nap(8);
		if (write(g_pipe[1], "x", 1) != 1)
			_exit(4);
	}
	return context;
}

int main(void)
{
	pthread_t one, other;

	if (pipe(g_pipe))
		return 1;
	pthread_create(&one, NULL, give, NULL);
	pthread_create(&other, NULL, stand_in_line, NULL);
	for (int i = 0; i < ROUNDS; i++)
		take();
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	return 0;
}
SOURCE

# The waits by object: number, ns, object. In a trace, and in offcpu.pb.gz.
by_object()
{
	awk -F '\t' '{ n[$4]++; ns[$4] += $3 } END { for (object in n)
		printf "%.0f\t%.0f\t%s\n", n[object], ns[object], object }' "$1" |
		sort
}

profiled_by_object()
{
	"$PERFREC" report --view wait --json "$1" | jq -r '.functions[] |
		select(.name | startswith("[") and . != "[unknown]") |
		[.self.waits, .self.blocked, .name] | @tsv' | sort
}

# same_waits DIR: ./waits of the trace equal ./expected, except for waits that were
# not read and got the object of other waits. These are counted.
same_waits()
{
	by_object waits >found
	profiled_by_object "$1" >expected
	awk -F '\t' 'NR == FNR { n[$3] = $1; ns[$3] = $2; next }
		$1 < n[$3] || $2 < ns[$3] { print "less in offcpu.pb.gz: " $3 }
		{ more += $1 - n[$3]; more_ns += $2 - ns[$3]; delete n[$3] }
		END { for (object in n) print "not in offcpu.pb.gz: " object
		printf "%.0f %.0f\n", more, more_ns }' found expected >more
	expect_eq "$1: waits in offcpu.pb.gz alone" "$(cat more)" \
		"$(json "$1/summary.json" '.totals |
			"\(.waits_inferred) \(.waits_inferred_ns)"')"
}

# With --locks a wait for a lock is a whole call, which may be several waits here.
run_ok "$PERFREC" record -q --locks off -o data -- ./waiter
"$check" --json data/trace.pftrace >totals || fail "trace_check: $(cat totals)"
[ "$(jq .switches totals)" -gt 0 ] ||
	skip 'the kernel does not tell of switches here'
[ "$(jq .sched_losses totals)" -eq 0 ] ||
	skip 'the kernel lost records, as the machine is too busy'
"$check" --waits data/trace.pftrace >waits
[ "$(jq .waits totals)" -ge 10 ] || fail 'there are no waits in the trace'
same_waits data
expect_match found '	\[mutex waiter\+0x[0-9a-f]+\]$' '	\[pipe [0-9]+\]$' \
	'	\[sleep\]$'

# A thread that waits for a mutex does so in convoy, and so on. A record of a call
# has the time of another clock, which may differ by some us. At its end,
# outside of its calls, a thread may wait in madvise(), which returns its stack.
"$PERFREC" dump data >dump || fail 'perfrec dump'
expect_eq 'waits' "$(jq -s 'map(select(.kind == "wait")) | length' dump)" \
	"$(jq .waits totals)"
jq -s '(map(select(.kind == "end")) | group_by(.track) |
		map({key: (.[0].track | tostring), value: .}) | from_entries)
	as $calls | .[] | select(.kind == "wait") | . as $wait |
	{object: .name, call: .arguments."perfrec.call",
	 in: ($calls[.track | tostring] | map(select(
		.ns - .took_ns <= $wait.ns + 50000 and
		.ns >= $wait.ns + $wait.took_ns - 50000)) |
		max_by(.depth) | .name)}' dump >inside
jq -r '[.object | split(" ")[0] | ltrimstr("[") | rtrimstr("]")] +
	[.call, .in] | @tsv' inside | sort -u >kinds
grep -v -e '^mutex	futex	convoy$' -e '^pipe	read	take$' \
	-e '^sleep	clock_nanosleep	nap$' -e '^join	futex	main$' \
	-e '^thread	futex	main$' -e '^system	madvise	$' kinds &&
	fail 'waits are not in the calls that waited'
expect_eq 'kinds of waits' "$(grep -c -e ^mutex -e ^pipe -e ^sleep kinds)" 3

# A track for each thread, and a line in the text.
"$PERFREC" replay data >text || fail 'perfrec replay'
expect_match text ' [0-9]+  /\* waited on \[pipe [0-9]+\] \*/$'
expect_eq 'lines' "$(grep -c 'waited on' text)" "$(jq .waits totals)"
"$PERFREC" export --to chrome data | jq -r '.traceEvents[] |
	select(.name == "thread_name") | .args.name' >rows
expect_eq 'rows' "$(grep -c '^waiter ([0-9]*), waits$' rows)" 3
main=$(jq -s 'map(select(.kind == "track" and .type == "process"))[0].pid' \
	dump)
"$PERFREC" replay --thread "$main" data >text || fail 'perfrec replay --thread'
grep -q 'waited on \[pipe' text || fail 'the waits of a thread are not with it'
grep 'waited on \[mutex' text && fail 'waits of other threads are'

# They are no calls.
"$PERFREC" replay --function nap data >text || fail 'perfrec replay --function'
grep 'waited on' text && fail 'replay takes waits for functions'
"$PERFREC" report --json data >report.json || fail 'perfrec report'
calls=$(jq .totals.spans report.json)
expect_eq 'begins' "$(jq .begins totals)" "$calls"
expect_eq 'lines of begins' \
	"$(jq -s 'map(select(.kind == "begin")) | length' dump)" "$calls"
expect_eq 'calls in csv' \
	"$("$PERFREC" export --to csv --calls data | tail -n +2 | wc -l)" \
	"$calls"
for format in 'csv --calls' speedscope callgrind; do
	# shellcheck disable=SC2086
	"$PERFREC" export --to $format data >exported || fail "export: $format"
	grep -e '\[pipe' -e '\[mutex' exported && fail "$format has waits"
done
rm data/summary.json
"$PERFREC" report --json data >rebuilt.json || fail 'report of a trace alone'
expect_eq 'calls of the trace' "$(jq .totals.spans rebuilt.json)" "$calls"
expect_eq 'functions of the trace' \
	"$(jq '[.functions[].name | select(startswith("["))] | length' \
		rebuilt.json)" 0

# The same in bundles of compressed packets; without switches there are none.
run_ok "$PERFREC" record -q --locks off --compress -o packed -- ./waiter
"$check" --waits packed/trace.pftrace >waits || fail 'trace_check'
same_waits packed
run_ok "$PERFREC" record -q --sched off -o without -- ./waiter
expect_eq 'waits without switches' \
	"$("$check" --waits without/trace.pftrace | wc -l)" 0
