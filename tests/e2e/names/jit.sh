#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Code that a program makes while it runs has the names that the program tells
# in /tmp/perf-PID.map or in a jitdump; without them, it is one row, [JIT]. Code
# in a file that is not ELF (the image of a Lisp) is one row of the file's name.
. "$TOP/tests/e2e/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip 'the code that it makes is for x86-64'

# Spins for 0.2 s of CPU time in code that it has made.
prog names/jit

# top KIND [MODULE]: the function of [JIT], or of what MODULE ends with, with
# most samples; [JIT] has one row only. Nothing is said about it. On a busy
# machine the collector may look at the map of the process only when it has
# ended; then no sample is of known memory, and it is recorded again.
top()
{
	for _ in 1 2 3 4 5; do
		record_jit "$1"
		jq -e '[.functions[] | select(.name | test("^0x"))] == []' \
			out >known && break
	done
	jq -r --arg file "${2:-[JIT]}" '.functions[] |
		select(.module // "" | endswith($file)) | .name' out
}
record_jit()
{
	rm -rf data
	run_ok "$PERFREC" record -q --cpu=999 --alloc=off -o data -- ./jit "$1"
	expect_eq "stderr of $1" "$(cat err)" ''
	[ ! -s out ] || rm -f "$(cat out)"
	run_ok "$PERFREC" report --view cpu --json data
}

expect_eq 'without a file' "$(top none)" '[JIT]'
expect_eq 'with a perf map' "$(top map)" 'JS:*spin /a b.js:1'
run "$PERFREC" report --view cpu data
expect_match out 'JS:[*]spin /a b[.]js:1  \[JIT\]$'
expect_eq 'with a jitdump' "$(top dump)" dumped
expect_eq 'in memory that has a name' "$(top memfd)" '[JIT]'
expect_eq 'in a file that is not ELF' "$(top image /an.image)" an.image
