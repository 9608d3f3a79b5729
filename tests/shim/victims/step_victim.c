/* SPDX-License-Identifier: Apache-2.0
 *
 * step_victim - runs both hooks under the trap flag. For every k a SIGTRAP
 * handler acts at the k-th instruction.
 *
 *   step_victim ACTION PAD RESULT [LIBRARY]
 *
 * ACTION: record, jump (siglongjmp out of the handler), fork, or every (record
 * at every single instruction). PAD: records to put first, to step across a
 * chunk boundary. RESULT: a file that receives the k of each call that missed
 * (steps.h), -1, and the number of steps of the enter and the exit hook.
 * LIBRARY: unloaded before each step, so the hook must report a new load map.
 *
 * test_step distinguishes the records of step k by made-up addresses: OUTER + k
 * by the interrupted hook, INNER + k by the handler, AFTER + k by a plain call
 * after step k.
 */
#include "tests/shim/victims/step_victim.h"

#include <dlfcn.h>
#include <err.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/shim/victims/steps.h"

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

typedef void hook(void *function, void *call_site);

static enum { RECORD, JUMP, FORK, EVERY } g_action;
static volatile bool g_is_child;
static FILE *g_result;
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

	switch (g_action) {
	case RECORD:
	case EVERY:
		record_pair(STEP_INNER + (uintptr_t)g_steps.target);
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

static __attribute__((noinline)) void call_stepped(hook *function,
						   void *address)
{
	STEPS_ON;
	function(address, NULL);
	STEPS_OFF;
}

static void step_through(hook *function, void *address)
{
	if (!sigsetjmp(g_out, 1))
		call_stepped(function, address);
}

static void step_at(bool enter)
{
	/* A call that only notes instructions is not counted. */
	bool look = steps_target() == STEPS_LOOK;
	uintptr_t k = look ? 0 : (uintptr_t)steps_target();
	void *outer = (void *)(look ? STEP_PAD : STEP_OUTER + k);

	if (enter) {
		step_through(__cyg_profile_func_enter, outer);
		__cyg_profile_func_exit(outer, NULL);
	} else {
		__cyg_profile_func_enter(outer, NULL);
		step_through(__cyg_profile_func_exit, outer);
	}
	if (g_is_child)
		_exit(0);
	record_pair(look ? STEP_PAD : STEP_AFTER + k);
	if (steps_missed())
		fprintf(g_result, "%ld ", (long)k);
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
	/* Until the hooks stop checking for news. */
	record_pad(200);
	dlclose(handle);
}

/* Returns one more than the number of steps. */
static long step_hook(bool enter, long pad)
{
	long k;

	g_steps.every = g_action == EVERY;
	g_steps.by_step = g_action == FORK;
	steps_begin(act);
	do {
		k = steps_target();
		record_pad(pad);
		if (g_library)
			reload();
		step_at(enter);
		/* Interrupting every instruction needs a single round. */
	} while (steps_go_on() && !(g_action == EVERY && k == 20));
	return k + 1;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "record", "jump", "fork",
					     "every" };
	long enters, exits, pad;
	unsigned int i;

	if (argc != 4 && argc != 5)
		errx(2, "usage: step_victim ACTION PAD RESULT [LIBRARY]");
	g_library = argv[4];
	for (i = 0; i < 4; i++)
		if (!strcmp(argv[1], names[i]))
			g_action = i;
	pad = strtol(argv[2], NULL, 10);
	g_result = fopen(argv[3], "w");
	if (!g_result)
		err(1, "%s", argv[3]);
	/* attaches, so that the stepped call need not */
	record_pair(STEP_AFTER);
	enters = step_hook(true, pad);
	record_pair(STEP_BETWEEN);
	exits = step_hook(false, pad);
	if (fprintf(g_result, "-1 %ld %ld\n", enters, exits) < 0 ||
	    fclose(g_result))
		err(1, "%s", argv[3]);
	return 0;
}
