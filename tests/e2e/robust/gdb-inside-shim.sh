#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Whoever unwinds a stack from inside the shim finds the callers, at each
# instruction: the shim had no unwind tables but for a few functions. gdb steps
# through the hooks and all that wraps a function of libc, in C and in
# assembly. As stepping aborts restartable sequences, it comes by their abort
# handlers and the ways without them, too.
. "$TOP/tests/e2e/lib.sh"
need gdb
[ "$(uname -m)" = x86_64 ] || skip 'knows the flags of x86-64 only'

# -z now: finish would take what ld.so resolves lazily for its function.
build steps -Wl,-z,now <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
static jmp_buf env;
static ucontext_t context, back;
static char stack[65536];
static volatile int sum;
static void *volatile block; /* so that nothing is optimised away */
__attribute__((noinline)) static void leaf(void) { sum++; }
static void on_context(void) { sum++; }
__attribute__((noinline)) static void work(void)
{
	leaf();
	leaf();
	block = malloc(10);
	free(block);
	block = calloc(3, 3);
	block = realloc(block, 100);
	free(block);
	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = &back;
	makecontext(&context, on_context, 0);
	prctl(PR_SET_NAME, "steps");
	syscall(SYS_getpid);
	dlclose(dlopen("libm.so.6", RTLD_NOW));
	if (!vfork())
		_exit(0);
	wait(NULL);
	if (!setjmp(env))
		longjmp(env, 1);
}
int main(void)
{
	work();
	printf("%d\n", sum);
	return 0;
}
SOURCE

# 8 slots, so that no time goes into stepping through many of them.
run env PERFREC_SLOTS=8 timeout 150 "$PERFREC" record -q -o data \
	gdb -nx -batch -x "$TOP/tests/e2e/lib/gdb_steps.py" ./steps
if ! grep -q '^functions:' out; then
	skip "gdb cannot step here: $(tail -n 1 err)"
fi
expect_no_match out '^wrong:'
for function in __cyg_profile_func_enter __cyg_profile_func_exit \
		put_cell put_cells trap_flag_clear malloc calloc realloc free \
		getcontext makecontext _setjmp longjmp vfork syscall prctl \
		dlopen dlclose
do
	expect_match out "^functions:.* $function( |\$)"
done
