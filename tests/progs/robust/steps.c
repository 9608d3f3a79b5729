/* SPDX-License-Identifier: Apache-2.0
 *
 * steps - calls once what the shim wraps, for a debugger that steps through it.
 */
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
__attribute__((noinline)) static void leaf(void)
{
	sum++;
}
static void on_context(void)
{
	sum++;
}
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
