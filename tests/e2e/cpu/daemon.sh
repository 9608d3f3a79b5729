#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# CPU time in a daemon (perfrec-collect(1)): of what a program forks, too, and
# of what it executes in recordings of their own, each once; not of what cannot
# load the library.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need jq

prog cpu/children
start_daemon --cpu=10,perf

# record COUNT ARGUMENT...: the program, of which there are COUNT recordings
# then; $sum is the CPU time in all of them, and $own, $others what getrusage()
# says, in us.
record()
{
	count=$1
	shift
	rm -rf data/*
	LD_PRELOAD=$SHIM ./children "$@" >used 2>err || fail "$(cat err)"
	read -r own others <used
	wait_for 60 has_summaries
	cat data/*/summary.json >all.json
	if jq -e '.notes | any(test("^no CPU samples"))' all.json >/dev/null; then
		skip 'perf_event is denied here'
	fi
	sum=$(jq -s '[.[].totals.cpu_ns] | add / 1000 | floor' all.json)
}
has_summaries()
{
	[ "$(find data -name summary.json | wc -l)" -eq "$count" ]
}

# expect_sum WHAT US: what is recorded is that, but for what comes before the
# hello, and the end of a process.
expect_sum()
{
	[ $((sum * 100)) -ge $(($2 * 75)) ] && [ $((sum * 100)) -le $(($2 * 125)) ] ||
		fail "$1: $sum us of $2"
}

record 1 fork
expect_sum 'forked children' $((own + others))
record 11 exec ./children
expect_sum 'executed programs' $((own + others))
if ${CC:-gcc} -O1 -static -o still "$TOP/tests/progs/cpu/children.c" \
	2>/dev/null; then
	record 1 exec ./still
	expect_sum 'the program, not what is static' "$own"
fi
stop_daemon
