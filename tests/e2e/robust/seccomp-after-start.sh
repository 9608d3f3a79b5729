#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A seccomp filter that forbids mprotect(), with threads that have not recorded
# yet. Set by libc, it finds all slots with access: nothing is lost. Set by raw
# system calls nobody sees it: slots that had no access cannot be used, their
# threads' spans are counted, and the program runs as always.
#
# Four threads have recorded when the filter comes, which gives access to slots 0
# to 3. None of them ends before all have recorded: no slot is free again.
. "$TOP/tests/e2e/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip 'raw system calls of x86-64'

prog robust/filtered
./filtered >plain
grep -qx filter plain || skip 'no seccomp filter can be set here'

# Spans of main(), of each early thread, and of each late one: 2, 3 and 2.
for mode in '' raw; do
	run_ok timeout 200 "$PERFREC" record -q --alloc=off --cpu=off -o data \
		./filtered $mode
	expect_match out '^filter$'
	if [ "$mode" ]; then
		expected='4 threads, 11 spans, 6 without a slot'
	else
		expected='7 threads, 17 spans, 0 without a slot'
	fi
	expect_eq "what is recorded, $mode" "$(json data/summary.json '.totals |
		"\(.threads) threads, \(.spans) spans, " +
		"\(.unslotted_spans) without a slot"')" "$expected"
done
# The report names the threads that lost calls.
"$PERFREC" report data >report || fail 'no report'
expect_match report 'calls of threads that have no slot: the kernel refused'
