#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A forked child that returns from the functions which its parent called: those
# spans are the parent's, and their ends in the child no orphans. And functions
# that are inlined around a call of themselves, as leveldb's iterators are, with
# exit hooks that are tail-called: nothing is repaired.
. "$TOP/tests/e2e/lib.sh"

prog families/fork_returns program

run_ok "$PERFREC" record --alloc=off --cpu=off -q -o data -- ./program
expect_eq 'spans, orphan ends, repaired slices' \
	"$(json data/summary.json '.totals |
	"\(.spans) \(.orphan_ends) \(.repaired_slices)"')" \
	"$((1 + 5 + 5 * 4)) 0 0"
