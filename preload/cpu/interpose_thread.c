/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_thread - wraps pthread_create() and thrd_create(), so that a new
 * thread first makes its timer (cpu_timer.h). While that engine is off, they
 * only call the real functions.
 *
 * A table passes the program's function to the thread, because allocation is
 * not allowed here. With a full table the thread starts without a timer, and is
 * counted. The thread starts in a trampoline (interpose_thread_*.S), which
 * jumps to the function and leaves the stack empty. So exceptions, cancellation
 * and debuggers work as without the shim.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <threads.h>

#include "preload/core/find_next.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/thread.h"
#include "preload/cpu/cpu_timer.h"
#include "preload/cpu/interpose_thread.h"
#include "shared/atomic.h"

/* Greatest number of threads between creation and start. */
#define HANDOVERS_MAX 1024

static struct handover {
	uint32_t taken; /* order TIMER */
	struct thread_start start;
	size_t stack_bytes;
} g_handover[HANDOVERS_MAX];

static struct handover *take_handover(void *function, void *argument,
				      size_t stack_bytes)
{
	for (uint32_t i = 0; i < HANDOVERS_MAX; i++) {
		struct handover *to = &g_handover[i];

		/* relaxed: a first check; the swap decides */
		if (atom_load_rlx(&to->taken) ||
		    /* order: sc, TIMER: one thread claims it */
		    !atom_cas_sc(&to->taken, 0, 1))
			continue;
		to->start = (struct thread_start){ function, argument };
		to->stack_bytes = stack_bytes;
		return to;
	}
	return NULL;
}

static void give_back_handover(struct handover *handover)
{
	/* order: rel, TIMER: read before it is written again */
	atom_store_rel(&handover->taken, 0);
}

struct thread_start interpose_thread_begins(void *handover)
{
	struct handover *from = handover;
	struct thread_start start = from->start;
	size_t stack_bytes = from->stack_bytes;

	give_back_handover(from);
	cpu_timer_thread_begins(stack_bytes);
	return start;
}

/* Returns a handover for a new thread, or NULL if it gets no timer: for small
 * stacks, and for threads of a vfork() child. */
static struct handover *prepare_handover(const pthread_attr_t *attributes,
					 void *function, void *argument)
{
	struct handover *handover;
	pthread_attr_t usual;
	size_t bytes = 0;

	if (!attributes && libc()->attr_init(&usual) == 0)
		attributes = &usual;
	if (t_thread.in_vfork || !attributes ||
	    libc()->attr_getstacksize(attributes, &bytes) ||
	    bytes < CPU_STACK_MIN)
		return NULL;
	handover = take_handover(function, argument, bytes);
	if (!handover)
		/* relaxed: a count */
		atom_add_rlx(&g_shim.page->unsampled_threads, 1);
	return handover;
}

typedef int create(pthread_t *thread, const pthread_attr_t *attributes,
		   void *(*function)(void *), void *argument);

ATTR_EXPORT int pthread_create(pthread_t *thread,
			       const pthread_attr_t *attributes,
			       void *(*function)(void *), void *argument)
{
	static create *real;
	struct handover *handover;
	int result;

	if (!real)
		real = (create *)find_next("pthread_create");
	/* relaxed: a thread that misses a stop stops itself */
	if (!atom_load_rlx(&g_cpu.on))
		return real(thread, attributes, function, argument);
	handover = prepare_handover(attributes, (void *)function, argument);
	if (!handover)
		return real(thread, attributes, function, argument);
	result = real(thread, attributes, interpose_thread_start, handover);
	if (result)
		give_back_handover(handover);
	return result;
}

typedef int create_c11(thrd_t *thread, thrd_start_t function, void *argument);

ATTR_EXPORT int thrd_create(thrd_t *thread, thrd_start_t function,
			    void *argument)
{
	static create_c11 *real;
	struct handover *handover;
	int result;

	if (!real)
		real = (create_c11 *)find_next("thrd_create");
	/* relaxed: as above */
	if (!atom_load_rlx(&g_cpu.on))
		return real(thread, function, argument);
	handover = prepare_handover(NULL, (void *)function, argument);
	if (!handover)
		return real(thread, function, argument);
	result = real(thread, (thrd_start_t)(void *)interpose_thread_start,
		      handover);
	if (result != thrd_success)
		give_back_handover(handover);
	return result;
}
