/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_phase - wraps the functions that wait until other threads have come
 * to a point: the end of a thread, a barrier, a routine that runs once, and any
 * point behind syscall(SYS_futex).
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "preload/core/elf_tables.h"
#include "preload/core/find_next.h"
#include "preload/core/libc.h"
#include "preload/core/linker.h"
#include "preload/sync/interpose_sync.h"
#include "preload/sync/interpose_sync_inner.h"
#include "shared/compiler.h"

REAL_FUNCTION(pthread_join, (pthread_t thread, void **result), (thread, result))
REAL_FUNCTION(pthread_timedjoin_np,
	      (pthread_t thread, void **result, const struct timespec *until),
	      (thread, result, until))
REAL_FUNCTION(pthread_clockjoin_np,
	      (pthread_t thread, void **result, clockid_t clock,
	       const struct timespec *until),
	      (thread, result, clock, until))
REAL_FUNCTION(pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier))
REAL_FUNCTION(pthread_once, (pthread_once_t * once, void (*routine)(void)),
	      (once, routine))

/* --- ends of threads ------------------------------------------------------ */

uint32_t sync_awaited_thread(pthread_t thread)
{
	/* A table for libthread_db. */
	const struct {
		uint32_t bits, count, at;
	} * field;
	const struct link_map *libc = linker_libc();
	struct elf_tables tables;

	if (!sync_is_recorded() || !libc)
		return 0;
	elf_tables_of(&tables, libc);
	field = elf_tables_find(&tables, "_thread_db_pthread_tid");
	if (!field || field->bits != 32)
		return 0;
	/* relaxed: the kernel clears it when the thread ends */
	return atom_load_rlx((const uint32_t *)(thread + field->at));
}

#define JOIN_WAIT(thread, tid, call) \
	RECORD_WAIT(SYNC_THREAD, (void *)(thread), tid, call)

ATTR_EXPORT int pthread_join(pthread_t thread, void **result)
{
	uint32_t tid = sync_awaited_thread(thread);

	return tid ? JOIN_WAIT(thread, tid, g_real_pthread_join(thread, result))
		   : g_real_pthread_join(thread, result);
}

ATTR_EXPORT int pthread_timedjoin_np(pthread_t thread, void **result,
				     const struct timespec *until)
{
	uint32_t tid = sync_awaited_thread(thread);

	return tid ? JOIN_WAIT(
			     thread, tid,
			     g_real_pthread_timedjoin_np(thread, result, until))
		   : g_real_pthread_timedjoin_np(thread, result, until);
}

ATTR_EXPORT int pthread_clockjoin_np(pthread_t thread, void **result,
				     clockid_t clock,
				     const struct timespec *until)
{
	uint32_t tid = sync_awaited_thread(thread);

	return tid ? JOIN_WAIT(thread, tid,
			       g_real_pthread_clockjoin_np(thread, result,
							   clock, until))
		   : g_real_pthread_clockjoin_np(thread, result, clock, until);
}

void interpose_sync_thread_ends(void)
{
	if (sync_is_recorded())
		sync_put(EXT_SYNC_RELEASE, SYNC_THREAD, (void *)libc()->self(),
			 0);
}

/* --- barriers and routines that run once ---------------------------------- */

static uint32_t always_got(int result)
{
	(void)result;
	return SYNC_GOT;
}

/* The first words of struct pthread_barrier: threads that have come, ever; those
 * of finished rounds; threads of a round. */
static bool completes_round(const pthread_barrier_t *barrier)
{
	const uint32_t *word = (const void *)barrier;

	/* relaxed: it only decides about a record */
	return atom_load_rlx(&word[0]) + 1 - atom_load_rlx(&word[1]) >=
	       atom_load_rlx(&word[2]);
}

ATTR_EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	if (!sync_is_recorded())
		return g_real_pthread_barrier_wait(barrier);
	if (!completes_round(barrier))
		return RECORD_CALL(SYNC_BARRIER, barrier, 0,
				   g_real_pthread_barrier_wait(barrier),
				   always_got);
	sync_put(EXT_SYNC_RELEASE, SYNC_BARRIER, barrier, 0);
	return g_real_pthread_barrier_wait(barrier);
}

#define ONCE_RUNS 1 /* a thread runs the routine now */
#define ONCE_DONE 2

/* A thread waits while another one runs the routine. */
struct once_wait {
	pthread_once_t *once;
	void (*routine)(void);
	struct once_wait *outer; /* of this thread: a handler waits as well */
	bool put, over;
};

static __thread struct once_wait *t_once_wait;

static void end_once_wait(struct once_wait *wait, uint32_t result)
{
	t_once_wait = wait->outer;
	wait->over = true;
	if (wait->put)
		sync_put(EXT_SYNC_WAITED, result, wait->once, 0);
}

/* The other thread has left its routine by an exception or a cancellation, or is
 * not in this process since a fork. So this thread waits no longer: it runs its
 * own one. */
static void run_after_wait(void)
{
	struct once_wait *wait = t_once_wait;

	end_once_wait(wait, SYNC_GOT);
	wait->routine();
}

ATTR_NOINLINE static int run_once(pthread_once_t *once, void (*routine)(void))
{
	struct once_wait wait = { once, routine, t_once_wait, false, false };
	int result;

	if (!sync_is_recorded())
		return g_real_pthread_once(once, routine);
	/* relaxed: it only decides about a record */
	if (atom_load_rlx(once) & ONCE_RUNS) {
		wait.put = sync_put(EXT_SYNC_WAIT, SYNC_ONCE, once, 0);
		t_once_wait = &wait;
		result = g_real_pthread_once(once, run_after_wait);
		if (!wait.over) {
			end_once_wait(&wait, sync_result_of(result));
			return result;
		}
	} else {
		result = g_real_pthread_once(once, routine);
	}
	sync_put(EXT_SYNC_RELEASE, SYNC_ONCE, once, 0);
	return result;
}

ATTR_EXPORT int pthread_once(pthread_once_t *once, void (*routine)(void))
{
	/* relaxed: the real function reads it again */
	if (likely(atom_load_rlx(once) == ONCE_DONE))
		return g_real_pthread_once(once, routine);
	return run_once(once, routine);
}

/* --- syscall(SYS_futex) --------------------------------------------------- */

#define CALL_FUTEX \
	real(number, word, operation, value, timeout, other, last_value)

static uint32_t result_of_futex(long result)
{
	return result < 0 ? sync_result_of(*libc()->errno_location())
			  : SYNC_GOT;
}

long interpose_futex(long number, uint32_t *word, int operation, uint32_t value,
		     uintptr_t timeout, uintptr_t other, uint32_t last_value)
{
	__typeof__(syscall) *real = NEXT(syscall);
	uint64_t before;
	long result;

	if (!sync_is_recorded())
		return CALL_FUTEX;
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		return RECORD_CALL(SYNC_FUTEX, word, 0, CALL_FUTEX,
				   result_of_futex);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
		/* Whether a thread waits shows the result only. */
		before = g_shim.clock();
		result = CALL_FUTEX;
		if (result > 0)
			sync_put(EXT_SYNC_RELEASE, SYNC_FUTEX, word, before);
		return result;
	default:
		return CALL_FUTEX;
	}
}
