/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc_step_victim - allocates under the trap flag. For every k a SIGTRAP
 * handler allocates, jumps away or forks at the k-th instruction. Needs
 * bump_allocator behind the shim.
 *
 *   alloc_step_victim record|jump|fork PAD STRIDE LOG
 *
 * PAD: blocks allocated first each time, to step across a chunk boundary.
 * STRIDE: beyond FIRST_STEPS, only every STRIDE-th instruction is tried,
 * because signals are slow and restartable sequences often start over.
 */
#include <err.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "tests/shim/victims/alloc_log.h"

#define INNER_BYTES 777
#define FIRST_STEPS 64

/* Defined in bump_allocator.c and called through the shim; weak, because they
 * are missing at link time. */
__attribute__((weak)) void *operator_new(size_t size) __asm__("_Znwm");
__attribute__((weak)) void operator_delete(void *block) __asm__("_ZdlPv");

enum call { MALLOC, FREE, REALLOC, NEW, DELETE, CALLS };

static struct log_thread *g_thread;
static enum { RECORD, JUMP, FORK } g_action;
static volatile long g_step, g_target;
static volatile bool g_fired, g_is_child;
static sigjmp_buf g_out;

static void act(void)
{
	void *volatile block;
	pid_t child;

	g_fired = true;
	switch (g_action) {
	case RECORD:
		block = malloc(INNER_BYTES);
		log_add(g_thread, LOG_ALLOC, block, INNER_BYTES, NULL);
		log_add(g_thread, LOG_FREE, block, 0, NULL);
		free(block);
		break;
	case JUMP:
		siglongjmp(g_out, 1);
	case FORK:
		child = fork();
		if (!child)
			g_is_child = true;
		else if (child < 0 || waitpid(child, NULL, 0) != child)
			_exit(4);
		break;
	}
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)signal;
	(void)info;
	if (g_step++ == g_target)
		act();
	/* The rest runs without steps, so a child returns quickly. */
	if (g_fired)
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

static void *call(enum call which, void *block)
{
	switch (which) {
	case MALLOC:
		return malloc(100);
	case REALLOC:
		return realloc(block, 300);
	case NEW:
		return operator_new(200);
	case FREE:
		free(block);
		return NULL;
	default:
		operator_delete(block);
		return NULL;
	}
}

static __attribute__((noinline)) void *call_stepped(enum call which,
						    void *block)
{
	void *result;

	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::
				 : "cc", "memory");
	result = call(which, block);
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::
				 : "cc", "memory");
	return result;
}

static void log_call(enum call which, void *block, void *result)
{
	switch (which) {
	case MALLOC:
		log_add(g_thread, LOG_ALLOC, result, 100, NULL);
		break;
	case NEW:
		log_add(g_thread, LOG_ALLOC, result, 200, NULL);
		break;
	case REALLOC:
		log_add(g_thread, LOG_REALLOC, result, 300, block);
		break;
	default:
		log_add(g_thread, LOG_FREE, block, 0, NULL);
		break;
	}
}

static void step(enum call which, void *block)
{
	void *result;

	if (sigsetjmp(g_out, 1))
		return;
	result = call_stepped(which, block);
	if (g_is_child)
		_exit(0);
	log_call(which, block, result);
}

/* False: the call has no k-th instruction. */
static bool step_at(enum call which, long k)
{
	void *block = NULL;

	if (which != MALLOC && which != NEW) {
		block = malloc(50);
		log_add(g_thread, LOG_ALLOC, block, 50, NULL);
	}
	g_step = 0;
	g_target = k;
	g_fired = false;
	step(which, block);
	return g_fired;
}

static void pad(long blocks)
{
	void *volatile block;

	while (blocks--) {
		block = malloc(1);
		log_add(g_thread, LOG_ALLOC, block, 1, NULL);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_trap,
				    .sa_flags = SA_SIGINFO };
	struct alloc_log *log;
	long blocks, stride, k;
	int which;

	if (argc != 5 || !operator_new)
		return 2;
	log = log_map(argv[4]);
	g_thread = &log->thread[0];
	g_action = !strcmp(argv[1], "record") ? RECORD
		   : !strcmp(argv[1], "jump") ? JUMP
					      : FORK;
	blocks = strtol(argv[2], NULL, 10);
	stride = strtol(argv[3], NULL, 10);
	sigaction(SIGTRAP, &action, NULL);
	g_thread->tid = (uint64_t)syscall(SYS_gettid);
	/* The first calls resolve the real functions and lock ld.so. */
	operator_delete(operator_new(1));
	log_mark();
	for (which = 0; which < CALLS; which++) {
		for (k = 0; step_at((enum call)which, k);
		     k += k < FIRST_STEPS ? 1 : stride) {
			pad(blocks);
			log->steps++;
		}
	}
	log_mark();
	return 0;
}
