#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# CPU time in a daemon (perfrec-collect(1)): it includes children that a program
# forks, and programs that it executes in recordings of their own, each once. It
# leaves out programs that cannot load the library.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

prog cpu/children
start_daemon --cpu=10,perf

# record COUNT ARGUMENT...: runs the program, and expects COUNT recordings; sets
# $sum to the CPU time in all of them, and $own and $others to the times of
# getrusage(), in us.
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

# expect_sum WHAT US [MORE]: the recorded time equals US, except for the time before
# the hello and the end of a process; up to MORE us may be added.
expect_sum()
{
	[ $((sum * 100)) -ge $(($2 * 75)) ] &&
		[ $((sum * 100)) -le $((($2 + ${3:-0}) * 125)) ] ||
		fail "$1: $sum us of $2"
}

record 1 fork
expect_sum 'forked children' $((own + others))
record 11 exec ./children
expect_sum 'executed programs' $((own + others))
if ${CC:-gcc} -O1 -static -o still "$TOP/tests/progs/cpu/children.c" \
	2>/dev/null; then
	record 1 exec ./still
	# Each child is a fork of the program until it executes another: a few ms
	# where processes are slow. The static programs use 400 ms.
	expect_sum 'the program, not what is static' "$own" 100000
fi
stop_daemon
