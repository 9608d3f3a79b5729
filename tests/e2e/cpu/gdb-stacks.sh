#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of CPU samples are what gdb says at the same place: through recursion,
# a callback of the C library, a signal handler, a leaf without a frame
# pointer, and a library without unwind tables.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
need gdb protoc

cat >bare.c <<'SOURCE'
int bare(int (*call)(int), int n) { return call(n) + 1; }
SOURCE
gcc -O1 -g -fno-optimize-sibling-calls -fno-omit-frame-pointer \
	-fno-asynchronous-unwind-tables -fno-unwind-tables \
	-shared -fPIC -o libbare.so bare.c || fail "cannot compile bare.c"
gcc -O1 -g -fno-optimize-sibling-calls -fno-omit-frame-pointer -o places \
	"$TOP/tests/progs/cpu/places.c" -L. -lbare -Wl,-rpath,"$PWD" ||
	fail "cannot compile places.c"

# Functions of the program, outermost first; those of C libraries have other
# names in the files that some machines have for debuggers.
ours='main|recurse|compare|bare|in_bare|handler|spin'
timeout 200 gdb -nx -batch -ex 'set debuginfod enabled off' \
	-ex 'handle SIGUSR1 nostop noprint pass' -ex 'break spin' -ex run \
	-ex backtrace ./places >gdb.out 2>gdb.err ||
	skip "gdb cannot run a program here"
awk '/^#[0-9]/ { print ($3 == "in" ? $4 : $2) }' gdb.out |
	grep -Ex "$ours" | tac | paste -s -d ';' - >expected
[ -s expected ] || skip "gdb sees no stack here: $(tail -n 1 gdb.err)"
expect_eq "gdb's stack" "$(cat expected)" \
	"main;recurse;recurse;recurse;recurse;recurse;recurse;compare;bare;in_bare;handler;spin"

for engine in perf signal; do
	run_ok "$PERFREC" record -q --alloc=off --cpu=500,$engine -o data-$engine \
		-- ./places
	if [ ! -e data-$engine/cpu.pb.gz ] ||
	   grep -q 'no CPU samples' err; then
		echo "no samples by $engine here"
		continue
	fi
	profile_stacks data-$engine/cpu.pb.gz | grep ';spin$\|;spin;' |
		sed 's/^[0-9 ]*//' | while read -r stack; do
		echo "$stack" | tr ';' '\n' | grep -Ex "$ours" |
			paste -s -d ';' -
	done | sort -u >got-$engine
	[ -s got-$engine ] || fail "no $engine sample in spin()"
	cmp -s got-$engine expected ||
		fail "$engine: not gdb's stack: $(cat got-$engine)"
done
