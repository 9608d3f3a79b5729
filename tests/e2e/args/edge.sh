# SPDX-License-Identifier: Apache-2.0
#
# A signature may name more arguments on the stack than there is stack: the call is
# recorded with zeros, though its return address is the last word of a mapping.
. "$TOP/tests/e2e/lib.sh"
need jq gcc

cat >edge.c <<'C'
#include <sys/mman.h>
__attribute__((noipa)) long edge(long a, long b)
{
	__asm__ volatile("nop; nop; nop; nop; nop");
	return a + b;
}
int main(void)
{
	char *stack = mmap(0, 81920, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	long sum = 2;

	mprotect(stack, 65536, PROT_READ | PROT_WRITE);
	__asm__ volatile("mov %%rsp, %%rbx\n\tmov %1, %%rsp\n\t"
			 "mov $40, %%edi\n\tmov %0, %%rsi\n\tcall edge\n\t"
			 "mov %%rbx, %%rsp\n\tmov %%rax, %0"
			 : "+r"(sum)
			 : "r"(stack + 65536)
			 : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
			   "r10", "r11", "memory", "cc");
	return (int)sum;
}
C
gcc -O2 -mno-red-zone -o edge edge.c || fail 'cannot compile edge.c'
run "$PERFREC" record -q --patch --args \
	'edge(long, long, long, long, long, long, long, long)' \
	--alloc=off --cpu=off -o data -- ./edge
expect_status 42
"$PERFREC" dump data >dumped
expect_eq 'arguments in registers, and on the stack' "$(jq -r '
	select(.kind == "begin" and .name == "edge") | .arguments | [.[]] |
	"\(.[:2]) \(.[6:])"' dumped)" '[40,2] [0,0]'

# find reports why no call matches: no such argument, or other values.
run "$PERFREC" find 'edge(nosuch = 1)' data
expect_error 1 "no call of 'edge' has an argument 'nosuch'"
run "$PERFREC" find 'edge(arg1 = 1)' data
expect_error 1 "no call matches 'edge\(arg1 = 1\)': 1 call has other arguments\$"
# The results of calls with other times are not read.
run "$PERFREC" find 'edge(ret = 42) > 1h' data
expect_error 1 'no call matches .*: 1 call has other arguments or times$'
