#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A program that frees each block once is not said to free one twice, when an
# allocation was not recorded: a thread had no room, and never said anything
# again, while another one freed its block; the program had paused; a child of
# vfork() made the block.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need gcc

prog heap/lost

# expect_no_double WHAT SUMMARY
expect_no_double()
{
	expect_eq "$1: double frees" "$(json "$2" .totals.double_frees)" 0
	expect_eq "$1: foreign frees" "$(json "$2" .totals.foreign_frees)" 1
}

start_daemon --on-full drop --alloc=exact
PERFREC_RING_KB=64 preload ./lost full >out &
program=$!
wait_for 60 grep -q ready out
stop_process "$collector"
touch full
wait_for 60 grep -q freed out
kill -CONT "$collector"
touch drained
wait "$program" || fail "status $?"
stop_daemon
[ "$(json data/lost-*/summary.json .totals.dropped_allocs)" -gt 0 ] ||
	fail 'nothing was dropped: nothing is shown'
expect_no_double 'a full ring' "$(echo data/lost-*/summary.json)"

for how in pause vfork; do
	run_ok "$PERFREC" record -q --alloc=exact -o $how.data -- ./lost $how
	expect_no_double "$how" $how.data/summary.json
done
