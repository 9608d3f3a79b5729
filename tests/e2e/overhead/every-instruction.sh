# SPDX-License-Identifier: Apache-2.0
#
# A function that calls itself, and jumps to its exit hook, gets another state at
# each instruction of a call, in each way from one state to another. Its callers
# and the calls after it keep their places. (Each seventh instruction; STRIDE=1
# tries all.)
# timeout: 600
# long: steps through calls one instruction at a time
. "$TOP/tests/e2e/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "not an x86-64"
build stepped -O2 <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
volatile int g_sum;
__attribute__((noinline)) void recurse(int n)
{
	g_sum += n;
	if (n)
		recurse(n - 1);
}
__attribute__((noinline)) void mark(void)
{
	g_sum++;
}
__attribute__((noinline)) void one_call(void)
{
	recurse(2);
}
static inline __attribute__((always_inline, no_instrument_function)) long stop(void)
{
	long go_on = 0;
	__asm__ volatile("int3" : "+a"(go_on) : : "memory");
	return go_on;
}
int main(void)
{
	char byte;
	long rounds = 0;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (read(0, &byte, 1) < 1)
		return 1;
	while (stop()) {
		one_call();
		stop();
		mark();
		rounds++;
	}
	printf("%ld\n", rounds);
	return 0;
}
SOURCE
objdump -d stepped --disassemble=recurse | grep -q 'jmp.*exit' ||
	skip "the compiler makes no tail jump to the exit hook"
mkfifo input
# A restartable sequence would start again at each step.
PERFREC_RSEQ=off "$PERFREC" record -q --count recurse --alloc=off --cpu=off \
	-o data -- ./stepped <input >out.stepped 2>err.stepped &
recorder=$!
exec 9>input
wait_for 60 test -s out.stepped
wait_for 60 test -L data/control
"$O/tests/tools/step_states" "$(readlink data/control)" "$(head -n 1 out.stepped)" \
	recurse 1 "${STRIDE:-7}" >changes 2>err.steps &
stepper=$!
traced()
{
	! grep -q 'TracerPid:.0$' "/proc/$(head -n 1 out.stepped)/status"
}
wait_for 60 traced
echo >&9
wait $stepper || {
	grep -q 'PTRACE_ATTACH' err.steps && {
		kill "$(head -n 1 out.stepped)"
		skip "no ptrace here"
	}
	fail "$(cat err.steps)"
}
cat changes
wait $recorder || fail "exit status $?: $(cat err.stepped)"
rounds=$(tail -n 1 out.stepped)
[ "$rounds" -gt 50 ] || fail "only $rounds rounds"
"$O/tests/tools/trace_check" --dump data/trace.pftrace >dump || {
	tail -n 20 dump
	fail "the trace is not well formed"
}
# B|E pid tid ns depth name
for name in one_call mark; do
	expect_eq "begins of $name at its depth" \
		"$(awk -v name=$name '$1 == "B" && $6 == name { print $5 }' dump |
			sort | uniq -c | awk '{ print $1 }')" "$rounds"
	depths=$(awk -v name=$name '$6 == name && $1 == "B" { print $5 }' dump |
		sort -u | wc -l)
	expect_eq "depths of $name" "$depths" 1
done
# Each call is below its caller.
awk '
$1 == "B" && $6 == "one_call" { base = $5; open = 1 }
$1 == "E" && $6 == "one_call" { open = 0 }
$1 == "B" && $6 == "recurse" {
	if (!open || $5 <= base || $5 > base + 3)
		bad++
	seen++
}
END {
	if (bad || !seen)
		print bad + 0 " of " seen + 0 " calls of recurse are elsewhere"
}' dump >wrong
[ ! -s wrong ] || fail "$(cat wrong)"
