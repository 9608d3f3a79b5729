#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A uretprobe replaces the return address of its function by one of the kernel's, and only
# the kernel knows the true one. The stack says so in its place: it ends there, or goes on
# by the frame pointers of the callers.
. "$TOP/tests/e2e/lib.sh"

[ "$(uname -m)" = x86_64 ] || skip 'knows where x86-64 puts [uprobes]'
tracing=/sys/kernel/tracing
[ -w "$tracing/uprobe_events" ] || skip 'no uprobes can be placed here'
group=perfrec_test_$$
unprobe()
{
	echo 0 >"$tracing/events/$group/enable"
	echo "-:$group/plain" >>"$tracing/uprobe_events"
	echo "-:$group/pointers" >>"$tracing/uprobe_events"
} 2>/dev/null
trap unprobe EXIT

# probed NAME OPTION...: a program whose traced() has a uretprobe.
probed()
{
	name=$1
	shift
	build "$name" -O1 "$@" <<'SOURCE'
#include <time.h>

__attribute__((noinline)) void leaf(void)
{
	while (clock() < CLOCKS_PER_SEC / 2)
		;
}
__attribute__((noinline)) void traced(void)
{
	leaf();
	__asm__ volatile("");
}
__attribute__((noinline)) void caller(void)
{
	traced();
	__asm__ volatile("");
}
int main(void)
{
	caller();
	return 0;
}
SOURCE
	echo "r:$group/$name $PWD/$name:0x$(nm "$name" | sed -n 's/^0*\(.*\) T traced$/\1/p')" \
		>>"$tracing/uprobe_events" || skip 'the kernel refuses uprobes'
	echo 1 >"$tracing/events/$group/$name/enable" ||
		skip 'the kernel refuses uprobes'
	run_ok "$PERFREC" record -q --alloc=off --cpu=499 -o data "./$name"
	"$PERFREC" export --to folded --value cpu data >"$name.stacks" || fail 'export'
}
probed plain -fomit-frame-pointer
[ -s plain.stacks ] || skip 'the kernel permits no samples here'
grep -q '^\[uretprobe\];traced;leaf' plain.stacks ||
	fail "the stack does not say why it ends: $(cat plain.stacks)"
probed pointers -fno-omit-frame-pointer
grep -q ';main;\[uretprobe\];traced;leaf' pointers.stacks ||
	fail "not by frame pointers: $(cat pointers.stacks)"
if grep truncated ./*.stacks; then
	fail 'truncated is what no copy of the stack would mend'
fi
