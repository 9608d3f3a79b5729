/* SPDX-License-Identifier: Apache-2.0
 *
 * step_victim - runs both hooks under the trap flag, one instruction at a
 * time, and lets a SIGTRAP handler act at the k-th of them, for every k.
 *
 *   step_victim ACTION PAD RESULT [LIBRARY]
 *
 * ACTION: record, jump (siglongjmp out of the handler), fork, or every (record
 * at every single instruction). PAD: records to put first, so that a chunk
 * boundary can be stepped through. RESULT: a file that gets the number of
 * steps of the enter and of the exit hook. LIBRARY: unload it before each step,
 * so that the hook has to tell of a new load map.
 *
 * The records of step k have made-up addresses, so that test_step can tell
 * them apart: OUTER + k by the interrupted hook, INNER + k by the handler,
 * AFTER + k by a plain call once step k is over.
 */
#include "tests/shim/victims/step_victim.h"

#include <dlfcn.h>
#include <err.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

typedef void hook(void *function, void *call_site);

static enum { RECORD, JUMP, FORK, EVERY } g_action;
static volatile long g_step, g_target;
static volatile bool g_fired, g_is_child;
static sigjmp_buf g_out;
static const char *g_library;

static void record_pair(uintptr_t address)
{
	__cyg_profile_func_enter((void *)address, NULL);
	__cyg_profile_func_exit((void *)address, NULL);
}

static void act(void)
{
	pid_t child;

	g_fired = true;
	switch (g_action) {
	case RECORD:
	case EVERY:
		record_pair(STEP_INNER + (uintptr_t)g_target);
		break;
	case JUMP:
		siglongjmp(g_out, 1);
	case FORK:
		child = fork();
		if (!child)
			g_is_child = true;
		else if (child < 0 || waitpid(child, NULL, 0) != child)
			err(1, "fork");
		break;
	}
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)signal;
	(void)info;
	if (g_step++ == g_target || g_action == EVERY)
		act();
	/* A child only has to get home. */
	if (g_is_child)
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

static __attribute__((noinline)) void call_stepped(hook *function,
						   void *address)
{
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::
				 : "cc", "memory");
	function(address, NULL);
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::
				 : "cc", "memory");
}

/* Run @function under the trap flag; false once it has fewer steps than
 * @target: nothing was interrupted then. */
static bool step_through(hook *function, long target)
{
	g_step = 0;
	g_target = target;
	g_fired = false;
	if (!sigsetjmp(g_out, 1))
		call_stepped(function,
			     (void *)(STEP_OUTER + (uintptr_t)target));
	return g_fired;
}

static void step_at(bool enter, long k, bool *fired)
{
	uintptr_t outer = STEP_OUTER + (uintptr_t)k;

	if (enter) {
		*fired = step_through(__cyg_profile_func_enter, k);
		__cyg_profile_func_exit((void *)outer, NULL);
	} else {
		__cyg_profile_func_enter((void *)outer, NULL);
		*fired = step_through(__cyg_profile_func_exit, k);
	}
	if (g_is_child)
		_exit(0);
	record_pair(STEP_AFTER + (uintptr_t)k);
}

static void record_pad(long pairs)
{
	while (pairs--)
		record_pair(STEP_PAD);
}

static void reload(void)
{
	void *handle = dlopen(g_library, RTLD_NOW);

	if (!handle)
		errx(1, "%s", dlerror());
	/* Until the hooks no longer look for what is new. */
	record_pad(200);
	dlclose(handle);
}

static long step_hook(bool enter, long pad)
{
	bool fired = true;
	long k;

	for (k = 0; fired; k++) {
		record_pad(pad);
		if (g_library)
			reload();
		step_at(enter, k, &fired);
		/* One try tells all when every instruction is interrupted. */
		if (g_action == EVERY && k == 20)
			break;
	}
	return k;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_trap,
				    .sa_flags = SA_SIGINFO };
	static const char *const names[] = { "record", "jump", "fork",
					     "every" };
	long enters, exits, pad;
	FILE *result;
	unsigned int i;

	if (argc != 4 && argc != 5)
		errx(2, "usage: step_victim ACTION PAD RESULT [LIBRARY]");
	g_library = argv[4];
	for (i = 0; i < 4; i++)
		if (!strcmp(argv[1], names[i]))
			g_action = i;
	pad = strtol(argv[2], NULL, 10);
	sigaction(SIGTRAP, &action, NULL);
	record_pair(STEP_AFTER); /* attach: not what is stepped through */
	enters = step_hook(true, pad);
	record_pair(STEP_BETWEEN);
	exits = step_hook(false, pad);
	result = fopen(argv[3], "w");
	if (!result || fprintf(result, "%ld %ld\n", enters, exits) < 0 ||
	    fclose(result))
		err(1, "%s", argv[3]);
	return 0;
}
