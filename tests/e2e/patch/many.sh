# SPDX-License-Identifier: Apache-2.0
# long: 33,000 functions take their time to be planned, moved and named
#
# perfrec record --patch records the calls of all functions of a program that has
# more than 32,767 of them.
. "$TOP/tests/e2e/lib.sh"
need jq gcc
functions=33000

awk -v n=$functions 'BEGIN {
	print ".text"
	for (i = 0; i < n; i++) {
		printf ".globl f%d\n.type f%d, @function\nf%d:\n", i, i, i
		print ".cfi_startproc\nlea 1(%rdi), %rax\nnopl 0(%rax)\nret"
		printf ".cfi_endproc\n.size f%d, . - f%d\n", i, i
	}
	print ".globl all\n.type all, @function\nall:\n.cfi_startproc"
	print "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset 3, -16"
	print "xor %ebx, %ebx"
	for (i = 0; i < n; i++)
		printf "mov %%rbx, %%rdi\ncall f%d\nmov %%rax, %%rbx\n", i
	print "mov %rbx, %rax\npop %rbx\n.cfi_def_cfa_offset 8\nret"
	print ".cfi_endproc\n.size all, . - all"
	print ".section .note.GNU-stack, \"\", @progbits"
}' >many.s
cat >main.c <<'C'
#include <stdio.h>
extern long all(void);
int main(void)
{
	printf("%ld\n", all());
	return all() != all();
}
C
gcc -O1 -o many main.c many.s

run "$PERFREC" record --patch --alloc=off --cpu=off -o data -- ./many
expect_status 0
expect_eq output "$(cat out)" $functions
expect_eq 'functions that were patched' \
	"$(json data/summary.json '.totals.functions_patched >= 33001')" true
expect_eq 'functions with three calls' "$(json data/summary.json \
	'[.functions[] | select(.calls == 3 and (.name | test("^f[0-9]+$")))] | length')" \
	$functions

# Each of them can change its state.
run "$PERFREC" record --patch --count '*' --alloc=off --cpu=off -o data -- ./many
expect_status 0
expect_eq 'spans and counted calls of functions' "$(json data/summary.json \
	'"\(.totals.spans) \([.functions[] | select(.name | test("^f[0-9]+$")) | .calls] | add)"')" \
	"0 $((3 * functions))"
