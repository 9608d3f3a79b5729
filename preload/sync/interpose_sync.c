/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_sync - wraps the functions of mutexes. A wrapper looks at the word
 * of the lock. If nobody holds it, or nobody waits for it, the wrapper jumps to
 * the real function: no stack frame, no record. Otherwise it records what the
 * collector needs to name the holder of a lock and the thread that released it
 * (record_ext.h):
 *
 *	lock	SYNC_WAIT before the real call, SYNC_WAITED after it
 *	unlock	SYNC_RELEASE before the real call, which may end the object
 *
 * The look may be wrong by the time of the real call. So a wait may be very
 * short, and a release may be missing if the first waiter came after the look:
 * then it has waited for the rest of the unlock only.
 *
 * Results, errno, cancellation and the object belong to the real functions.
 * They are found without dlsym() at the first call, which may come before the
 * shim's constructor. The layouts of objects are those of glibc since 2.25.
 */
#include "preload/sync/interpose_sync.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#include "preload/core/find_next.h"
#include "preload/core/libc.h"
#include "preload/core/thread.h"
#include "preload/ring/put_run.h"
#include "preload/sync/interpose_sync_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

/* Members of pthread_mutex_t.__data.__kind. */
#define MUTEX_TYPE 3 /* mask; 0: normal */
#define MUTEX_RECURSIVE 1
#define MUTEX_ADAPTIVE 3
#define MUTEX_ROBUST_OR_PI 0x30
#define MUTEX_LOCK_BITS 0x7ffffu /* without the ceiling of a priority */

uint32_t g_sync_recording;

REAL_FUNCTION(pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
REAL_FUNCTION(pthread_mutex_timedlock,
	      (pthread_mutex_t * mutex, const struct timespec *until),
	      (mutex, until))
REAL_FUNCTION(pthread_mutex_clocklock,
	      (pthread_mutex_t * mutex, clockid_t clock,
	       const struct timespec *until),
	      (mutex, clock, until))
REAL_FUNCTION(pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex))
REAL_FUNCTION(sem_wait, (sem_t * semaphore), (semaphore))
REAL_FUNCTION(sem_timedwait, (sem_t * semaphore, const struct timespec *until),
	      (semaphore, until))
REAL_FUNCTION(sem_clockwait,
	      (sem_t * semaphore, clockid_t clock,
	       const struct timespec *until),
	      (semaphore, clock, until))
REAL_FUNCTION(sem_post, (sem_t * semaphore), (semaphore))

void interpose_sync_record(bool on)
{
	/* relaxed: a call in progress may still record, or not yet */
	atom_store_rlx(&g_sync_recording, on);
}

/* --- records -------------------------------------------------------------- */

bool sync_put(enum record_ext ext, uint32_t value, const void *object,
	      uint64_t more)
{
	struct record cells[2] = {
		{ record_ext_word(ext, 1, value, 0), 0 },
		{ (uintptr_t)object, more },
	};

	return put_run(cells, 2, 0,
		       ext == EXT_SYNC_WAITED ? PUT_NOTE_END : PUT_NOTE,
		       (uintptr_t)__builtin_frame_address(0));
}

uint32_t sync_result_of(int error)
{
	switch (error) {
	case 0:
	case EOWNERDEAD:
		return SYNC_GOT;
	case ETIMEDOUT:
		return SYNC_TIMED_OUT;
	default:
		return SYNC_FAILED;
	}
}

/* --- mutexes -------------------------------------------------------------- */

static int mutex_word(const pthread_mutex_t *mutex)
{
	/* relaxed: it only decides about a record */
	return atom_load_rlx(&mutex->__data.__lock);
}

/* Returns true if the mutex of @kind knows its owner by its type. */
static bool checks_owner(int kind)
{
	int type = kind & MUTEX_TYPE;

	return type && type != MUTEX_ADAPTIVE;
}

bool sync_mutex_waits(const pthread_mutex_t *mutex)
{
	/* relaxed: constant */
	int kind = atom_load_rlx(&mutex->__data.__kind);

	if (!(kind & MUTEX_ROBUST_OR_PI) &&
	    !((uint32_t)mutex_word(mutex) & MUTEX_LOCK_BITS))
		return false;
	return sync_is_recorded() &&
	       !(checks_owner(kind) &&
		 (int)sync_mutex_owner(mutex) == sync_own_tid());
}

bool sync_mutex_wakes(const pthread_mutex_t *mutex)
{
	/* relaxed: constant */
	int kind = atom_load_rlx(&mutex->__data.__kind);
	uint32_t word = (uint32_t)mutex_word(mutex);

	if (kind & MUTEX_ROBUST_OR_PI ? !(word & FUTEX_WAITERS)
				      : (word & MUTEX_LOCK_BITS) < 2)
		return false;
	if ((kind & MUTEX_TYPE) == MUTEX_RECURSIVE && mutex->__data.__count > 1)
		return false;
	return sync_is_recorded() &&
	       !(checks_owner(kind) &&
		 (int)sync_mutex_owner(mutex) != sync_own_tid());
}

ATTR_NOINLINE static int lock_held(pthread_mutex_t *mutex)
{
	if (!sync_mutex_waits(mutex))
		return g_real_pthread_mutex_lock(mutex);
	return RECORD_WAIT(SYNC_MUTEX, mutex, sync_mutex_owner(mutex),
			   g_real_pthread_mutex_lock(mutex));
}

ATTR_EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	if (likely(!mutex_word(mutex)))
		return g_real_pthread_mutex_lock(mutex);
	return lock_held(mutex);
}

ATTR_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex,
					const struct timespec *until)
{
	if (!mutex_word(mutex) || !sync_mutex_waits(mutex))
		return g_real_pthread_mutex_timedlock(mutex, until);
	return RECORD_WAIT(SYNC_MUTEX, mutex, sync_mutex_owner(mutex),
			   g_real_pthread_mutex_timedlock(mutex, until));
}

ATTR_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
					const struct timespec *until)
{
	if (!mutex_word(mutex) || !sync_mutex_waits(mutex))
		return g_real_pthread_mutex_clocklock(mutex, clock, until);
	return RECORD_WAIT(SYNC_MUTEX, mutex, sync_mutex_owner(mutex),
			   g_real_pthread_mutex_clocklock(mutex, clock, until));
}

ATTR_NOINLINE static int unlock_wanted(pthread_mutex_t *mutex)
{
	if (sync_mutex_wakes(mutex))
		sync_put(EXT_SYNC_RELEASE, SYNC_MUTEX, mutex, 0);
	return g_real_pthread_mutex_unlock(mutex);
}

ATTR_EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (likely(mutex_word(mutex) == 1))
		return g_real_pthread_mutex_unlock(mutex);
	return unlock_wanted(mutex);
}

/* --- semaphores ----------------------------------------------------------- */

/* The value, then the number of waiting threads: struct new_sem. */
static uint32_t sem_word(const sem_t *semaphore, size_t index)
{
	/* relaxed: it only decides about a record */
	return atom_load_rlx((const uint32_t *)(const void *)semaphore + index);
}

/* Calls @call, which returns 0, or -1 with errno, between the records of a wait,
 * which keep errno. */
#define RECORD_SEM_WAIT(semaphore, call)                     \
	(RECORD_WAIT(SYNC_SEMAPHORE, semaphore, 0,           \
		     (call) ? *libc()->errno_location() : 0) \
		 ? -1                                        \
		 : 0)

static bool sem_will_wait(const sem_t *semaphore)
{
	return !sem_word(semaphore, 0) && sync_is_recorded();
}

ATTR_NOINLINE static int wait_for_post(sem_t *semaphore)
{
	if (!sem_will_wait(semaphore))
		return g_real_sem_wait(semaphore);
	return RECORD_SEM_WAIT(semaphore, g_real_sem_wait(semaphore));
}

ATTR_EXPORT int sem_wait(sem_t *semaphore)
{
	if (likely(sem_word(semaphore, 0)))
		return g_real_sem_wait(semaphore);
	return wait_for_post(semaphore);
}

ATTR_EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
	if (!sem_will_wait(semaphore))
		return g_real_sem_timedwait(semaphore, until);
	return RECORD_SEM_WAIT(semaphore,
			       g_real_sem_timedwait(semaphore, until));
}

ATTR_EXPORT int sem_clockwait(sem_t *semaphore, clockid_t clock,
			      const struct timespec *until)
{
	if (!sem_will_wait(semaphore))
		return g_real_sem_clockwait(semaphore, clock, until);
	return RECORD_SEM_WAIT(semaphore,
			       g_real_sem_clockwait(semaphore, clock, until));
}

ATTR_NOINLINE static int post_wanted(sem_t *semaphore)
{
	if (sync_is_recorded())
		sync_put(EXT_SYNC_RELEASE, SYNC_SEMAPHORE, semaphore, 0);
	return g_real_sem_post(semaphore);
}

ATTR_EXPORT int sem_post(sem_t *semaphore)
{
	if (likely(!sem_word(semaphore, 1)))
		return g_real_sem_post(semaphore);
	return post_wanted(semaphore);
}
