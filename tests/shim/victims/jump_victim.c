/* SPDX-License-Identifier: Apache-2.0
 *
 * jump_victim - jumps in one of many ways and notes the records that the shim
 * has to make. Fails if any result differs from a run without the shim.
 *
 *   jump_victim RESULT CASE [PLUGIN...]
 */
#include "tests/shim/victims/jump_victim.h"

#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "shared/record.h"

_Static_assert(JUMP_CATCH == FLOW_CATCH, "record.h is C only");

#define MANY 100000
#define STACK_BYTES 65536

/* Declared by their symbol names, as the headers use macros. */
int plain_setjmp(jmp_buf env) __asm__("setjmp") __attribute__((returns_twice));
int bare_setjmp(jmp_buf env) __asm__("_setjmp") __attribute__((returns_twice));
int mask_setjmp(jmp_buf env, int mask) __asm__("__sigsetjmp")
	__attribute__((returns_twice));
void plain_longjmp(jmp_buf env, int value) __asm__("longjmp")
	__attribute__((noreturn));
void bare_longjmp(jmp_buf env, int value) __asm__("_longjmp")
	__attribute__((noreturn));
void mask_longjmp(jmp_buf env, int value) __asm__("siglongjmp")
	__attribute__((noreturn));
void checked_longjmp(jmp_buf env, int value) __asm__("__longjmp_chk")
	__attribute__((noreturn));

#define CHECK(what)                                     \
	do {                                            \
		if (!(what))                            \
			errx(1, "not true: %s", #what); \
	} while (0)

static FILE *g_result;
static jmp_buf g_env;
static ucontext_t g_main, g_contexts[2];
static volatile long g_steps;

static void expect(char kind, int flow, const void *address, uintptr_t span)
{
	fprintf(g_result, "%c %d %lx %lx\n", kind, flow,
		(unsigned long)(uintptr_t)address, (unsigned long)span);
}

static void expect_flow(enum record_flow flow, const void *address,
			uintptr_t span)
{
	expect('F', (int)flow, address, span);
}

/* --- setjmp and longjmp -------------------------------------------------- */

static __attribute__((noreturn, noinline)) void jump(int how, int value)
{
	char room[3000];

	__asm__ volatile("" : : "r"(room) : "memory");
	SPAN_BEGIN(expect, 0x200);
	expect_flow(FLOW_LONGJMP, g_env, 0x100);
	errno = 4711;
	switch (how) {
	case 0:
		plain_longjmp(g_env, value);
	case 1:
		bare_longjmp(g_env, value);
	case 2:
		mask_longjmp(g_env, value);
	default:
		checked_longjmp(g_env, value);
	}
}

/* Separate functions, so that no variable lives across a setjmp. */
#define SET_AND_JUMP(name, set)                            \
	static __attribute__((noinline)) int name(int how) \
	{                                                  \
		int value;                                 \
                                                           \
		SPAN_BEGIN(expect, 0x100);                 \
		expect_flow(FLOW_SETJMP, g_env, 0x100);    \
		value = set;                               \
		if (!value)                                \
			jump(how, 0);                      \
		if (value == 1)                            \
			jump(how, 2);                      \
		SPAN_END(expect, 0x100);                   \
		return value;                              \
	}
SET_AND_JUMP(jump_plain, plain_setjmp(g_env))
SET_AND_JUMP(jump_bare, bare_setjmp(g_env))
SET_AND_JUMP(jump_mask, mask_setjmp(g_env, 1))

static void run_jumps(void)
{
	int how;

	for (how = 0; how < 4; how++) {
		CHECK(jump_plain(how) == 2 && errno == 4711);
		CHECK(jump_bare(how) == 2 && errno == 4711);
		CHECK(jump_mask(how) == 2 && errno == 4711);
	}
}

static bool is_blocked(int signal)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	return sigismember(&mask, signal);
}

static void leave_handler(int signal)
{
	SPAN_BEGIN(expect, 0x300);
	CHECK(is_blocked(signal));
	expect_flow(FLOW_LONGJMP, g_env, 0x100);
	siglongjmp(g_env, 7);
}

/* On an alternate stack, repeatedly: setjmp must restore the mask. */
static void run_handler(void)
{
	stack_t stack = { .ss_sp = malloc(STACK_BYTES),
			  .ss_size = STACK_BYTES };
	struct sigaction action = { .sa_handler = leave_handler,
				    .sa_flags = SA_ONSTACK };
	static volatile int times;

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	SPAN_BEGIN(expect, 0x100);
	expect_flow(FLOW_SETJMP, g_env, 0x100);
	if (sigsetjmp(g_env, 1))
		times++;
	CHECK(!is_blocked(SIGUSR1));
	if (times < 3)
		raise(SIGUSR1);
	SPAN_END(expect, 0x100);
	CHECK(times == 3);
}

static void run_many(void)
{
	static volatile long i;
	volatile long jumped = 0;

	__cyg_profile_func_enter((void *)0x100, NULL);
	for (i = 0; i < MANY; i++) {
		if (!setjmp(g_env))
			longjmp(g_env, 1);
		jumped++;
	}
	__cyg_profile_func_exit((void *)0x100, NULL);
	CHECK(jumped == MANY);
}

/* --- ucontexts ----------------------------------------------------------- */

static void pass_eight(int a, int b, int c, int d, int e, int f, int g, int h)
{
	SPAN_BEGIN(expect, 0x400);
	CHECK(a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 &&
	      g == 7 && h == 8);
	SPAN_END(expect, 0x400);
}

static void pass_nine(int a, int b, int c, int d, int e, int f, int g, int h,
		      int i)
{
	pass_eight(a, b, c, d, e, f, g, h);
	CHECK(i == 9);
}

static void play(int self)
{
	int i;

	SPAN_BEGIN(expect, 0x500 + (uintptr_t)self);
	for (i = 0; i < 10; i++) {
		expect_flow(FLOW_CONTEXT_SAVE, &g_contexts[self],
			    0x500 + (uintptr_t)self);
		expect_flow(FLOW_CONTEXT_SWITCH, &g_contexts[!self], 0);
		CHECK(!swapcontext(&g_contexts[self], &g_contexts[!self]));
	}
	SPAN_END(expect, 0x500 + (uintptr_t)self);
}

static void make(ucontext_t *context, ucontext_t *link)
{
	expect_flow(FLOW_CONTEXT_SAVE, context, 0);
	CHECK(!getcontext(context));
	context->uc_stack.ss_sp = malloc(STACK_BYTES);
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = link;
	expect_flow(FLOW_CONTEXT_MAKE, context, 0);
}

/* @context returns here at its end. */
static void swap_from_main(ucontext_t *context)
{
	SPAN_BEGIN(expect, 0x600);
	expect_flow(FLOW_CONTEXT_SAVE, &g_main, 0x600);
	expect_flow(FLOW_CONTEXT_SWITCH, context, 0);
	CHECK(!swapcontext(&g_main, context));
	expect_flow(FLOW_CONTEXT_END, &g_main, 0);
	SPAN_END(expect, 0x600);
}

static void run_contexts(void)
{
	static volatile int rounds;
	int i;

	SPAN_BEGIN(expect, 0x100);
	make(&g_contexts[0], &g_main);
	makecontext(&g_contexts[0], (void (*)(void))pass_eight, 8, 1, 2, 3, 4,
		    5, 6, 7, 8);
	swap_from_main(&g_contexts[0]);
	make(&g_contexts[0], &g_main);
	makecontext(&g_contexts[0], (void (*)(void))pass_nine, 9, 1, 2, 3, 4, 5,
		    6, 7, 8, 9);
	swap_from_main(&g_contexts[0]);
	for (i = 0; i < 2; i++) {
		make(&g_contexts[i], i ? NULL : &g_main);
		makecontext(&g_contexts[i], (void (*)(void))play, 1, i);
	}
	swap_from_main(&g_contexts[0]);
	SPAN_BEGIN(expect, 0x700);
	expect_flow(FLOW_CONTEXT_SAVE, &g_main, 0x700);
	CHECK(!getcontext(&g_main));
	if (rounds++ < 3) {
		expect_flow(FLOW_CONTEXT_SWITCH, &g_main, 0);
		setcontext(&g_main);
	}
	CHECK(rounds == 4);
	SPAN_END(expect, 0x700);
	SPAN_END(expect, 0x100);
}

/* --- contexts that end --------------------------------------------------- */

static volatile int g_ended;

static void ends(void)
{
	g_ended++;
}

/* These two expect nothing, since they run unrecorded. */
static void make_silently(ucontext_t *context, ucontext_t *link, char *stack)
{
	CHECK(!getcontext(context));
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = link;
	makecontext(context, ends, 0);
}

static void run_silently(void)
{
	int before = g_ended;
	char stack[STACK_BYTES];
	ucontext_t context, here;

	make_silently(&context, &here, stack);
	CHECK(!swapcontext(&here, &context));
	CHECK(g_ended == before + 1);
}

/* A forked child records nothing and exits at the end of a context. */
static void run_child(void)
{
	int status;
	pid_t child;

	fflush(g_result);
	child = fork();
	if (!child) {
		run_silently();
		make_silently(&g_contexts[0], NULL, malloc(STACK_BYTES));
		setcontext(&g_contexts[0]);
		_exit(1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context,
				       void *count)
{
	*(int *)count += _Unwind_GetIP(context) != 0;
	return _URC_NO_REASON;
}

/* An unwinder finds the end of the stack: this frame and its caller. */
static void unwind(void)
{
	int count = 0;

	CHECK(_Unwind_Backtrace(count_frame, &count) == _URC_END_OF_STACK);
	CHECK(count == 2);
}

static void run_ends(void)
{
	errno = 4711;
	run_silently();
	make_silently(&g_contexts[0], &g_main, malloc(STACK_BYTES));
	SPAN_BEGIN(expect, 0x100);
	swap_from_main(&g_contexts[0]);
	make(&g_contexts[0], &g_contexts[1]);
	makecontext(&g_contexts[0], ends, 0);
	make(&g_contexts[1], &g_main);
	makecontext(&g_contexts[1], ends, 0);
	expect_flow(FLOW_CONTEXT_SAVE, &g_main, 0x100);
	expect_flow(FLOW_CONTEXT_SWITCH, &g_contexts[0], 0);
	CHECK(!swapcontext(&g_main, &g_contexts[0]));
	expect_flow(FLOW_CONTEXT_END, &g_contexts[1], 0);
	expect_flow(FLOW_CONTEXT_END, &g_main, 0);
	CHECK(errno == 4711);
	make(&g_contexts[0], &g_main);
	makecontext(&g_contexts[0], unwind, 0);
	swap_from_main(&g_contexts[0]);
	run_child();
	SPAN_END(expect, 0x100);
	CHECK(g_ended == 4);
}

/* --- unrecorded jumps ---------------------------------------------------- */

static void *jump_only(void *unused)
{
	jmp_buf env;
	ucontext_t context;
	volatile int jumps = 0;

	if (setjmp(env) < 3)
		longjmp(env, ++jumps);
	getcontext(&context);
	if (jumps++ < 5)
		setcontext(&context);
	run_silently();
	return unused;
}

/* A thread without a slot, and a vfork child with its parent's slot. */
static void run_silent(void)
{
	pthread_t thread;
	pid_t child;
	int status;

	SPAN_BEGIN(expect, 0x100);
	CHECK(!pthread_create(&thread, NULL, jump_only, NULL));
	CHECK(!pthread_join(thread, NULL));
	child = vfork();
	if (!child) {
		jump_only(NULL);
		_exit(3);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	SPAN_END(expect, 0x100);
}

/* --- a signal at every instruction --------------------------------------- */

#if defined(__x86_64__)
#define CALLS 5

static volatile long g_target; /* -1: every one */
static volatile int g_call;

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)signal;
	(void)info;
	if (g_target >= 0 && g_steps++ != g_target)
		return;
	__cyg_profile_func_enter((void *)0x900, NULL);
	__cyg_profile_func_exit((void *)0x900, NULL);
	if (g_target >= 0)
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

static void trap_if(bool wanted)
{
	if (wanted)
		__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::
					 : "cc", "memory");
	else
		__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::
					 : "cc", "memory");
}

/* Seven records that must come once each despite the signals. */
static void jump_in_steps(void)
{
	static char stack[STACK_BYTES];
	static ucontext_t here;

	trap_if(g_call == 0);
	if (!bare_setjmp(g_env)) {
		trap_if(g_call == 1);
		bare_longjmp(g_env, 1);
	}
	trap_if(g_call == 2);
	CHECK(!getcontext(&here));
	trap_if(false);
	here.uc_link = &g_main;
	here.uc_stack.ss_sp = stack;
	here.uc_stack.ss_size = sizeof(stack);
	trap_if(g_call == 3);
	makecontext(&here, ends, 0);
	trap_if(g_call == 4);
	CHECK(!swapcontext(&g_main, &here));
	trap_if(false);
}

static void run_steps(void)
{
	struct sigaction action = { .sa_sigaction = on_trap,
				    .sa_flags = SA_SIGINFO };
	long rounds = 0, signals = 0;

	__cyg_profile_func_enter((void *)0x100, NULL);
	sigaction(SIGTRAP, &action, NULL);
	for (g_call = 0; g_call < CALLS; g_call++) {
		bool fired = true;

		for (g_target = 0; fired; g_target++) {
			g_steps = 0;
			jump_in_steps();
			fired = g_steps > g_target;
			signals += fired;
			rounds++;
		}
		g_target = -1;
		jump_in_steps();
		rounds++;
	}
	__cyg_profile_func_exit((void *)0x100, NULL);
	fprintf(g_result, "%ld %ld\n", rounds, signals);
}
#else
static void run_steps(void)
{
}
#endif

/* --- plugins ------------------------------------------------------------- */

static void run_plugins(char **paths)
{
	void *handles[16], *first;
	int i, round;

	CHECK(!dlerror());
	for (i = 0; paths[i] && i < 16; i++) {
		handles[i] = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
		if (!handles[i])
			errx(1, "%s", dlerror());
	}
	first = handles[0];
	for (round = 0; round < 4; round++) {
		for (i = 0; paths[i]; i++) {
			plugin_run *run =
				(plugin_run *)dlsym(handles[i], "run_plugin");
			int failed = run(expect);

			if (failed)
				errx(1, "%s: check %d", paths[i], failed);
		}
		if (round == 1) {
			CHECK(!dlclose(first));
			handles[0] = dlopen(paths[0], RTLD_LAZY | RTLD_LOCAL);
			CHECK(handles[0]);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "jumps", run_jumps }, { "handler", run_handler },
		{ "many", run_many },	{ "contexts", run_contexts },
		{ "ends", run_ends },	{ "silent", run_silent },
		{ "steps", run_steps },
	};
	size_t i;

	if (argc < 3)
		errx(2, "usage: jump_victim RESULT CASE [PLUGIN...]");
	g_result = fopen(argv[1], "w");
	if (!g_result)
		err(1, "%s", argv[1]);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, argv[2]))
			cases[i].run();
	if (!strcmp(argv[2], "plugins"))
		run_plugins(argv + 3);
	return fclose(g_result) ? 1 : 0;
}
