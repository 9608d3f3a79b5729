/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_c11 - wraps the functions of <threads.h>: the C library does not call
 * those of pthreads by their names. Its objects are the same.
 */
#include <pthread.h>
#include <stdint.h>
#include <threads.h>

#include "preload/core/find_next.h"
#include "preload/sync/interpose_sync_inner.h"
#include "shared/compiler.h"

REAL_FUNCTION(mtx_lock, (mtx_t * mutex), (mutex))
REAL_FUNCTION(mtx_timedlock, (mtx_t * mutex, const struct timespec *until),
	      (mutex, until))
REAL_FUNCTION(mtx_unlock, (mtx_t * mutex), (mutex))
REAL_FUNCTION(cnd_wait, (cnd_t * condition, mtx_t *mutex), (condition, mutex))
REAL_FUNCTION(cnd_timedwait,
	      (cnd_t * condition, mtx_t *mutex, const struct timespec *until),
	      (condition, mutex, until))
REAL_FUNCTION(cnd_signal, (cnd_t * condition), (condition))
REAL_FUNCTION(cnd_broadcast, (cnd_t * condition), (condition))
REAL_FUNCTION(thrd_join, (thrd_t thread, int *result), (thread, result))

static uint32_t result_of_c11(int result)
{
	switch (result) {
	case thrd_success:
		return SYNC_GOT;
	case thrd_timedout:
		return SYNC_TIMED_OUT;
	default:
		return SYNC_FAILED;
	}
}

static const pthread_mutex_t *mutex_of(const mtx_t *mutex)
{
	return (const void *)mutex;
}

static int c11_word(const mtx_t *mutex)
{
	/* relaxed: it only decides about a record */
	return atom_load_rlx(&mutex_of(mutex)->__data.__lock);
}

#define C11_LOCK_WAIT(mutex, call)                                        \
	RECORD_CALL(SYNC_MUTEX, mutex, sync_mutex_owner(mutex_of(mutex)), \
		    call, result_of_c11)

ATTR_NOINLINE static int lock_c11(mtx_t *mutex)
{
	return sync_mutex_waits(mutex_of(mutex))
		       ? C11_LOCK_WAIT(mutex, g_real_mtx_lock(mutex))
		       : g_real_mtx_lock(mutex);
}

ATTR_EXPORT int mtx_lock(mtx_t *mutex)
{
	if (likely(!c11_word(mutex)))
		return g_real_mtx_lock(mutex);
	return lock_c11(mutex);
}

ATTR_EXPORT int mtx_timedlock(mtx_t *mutex, const struct timespec *until)
{
	if (!c11_word(mutex) || !sync_mutex_waits(mutex_of(mutex)))
		return g_real_mtx_timedlock(mutex, until);
	return C11_LOCK_WAIT(mutex, g_real_mtx_timedlock(mutex, until));
}

ATTR_NOINLINE static int unlock_c11(mtx_t *mutex)
{
	sync_release_mutex(mutex_of(mutex));
	return g_real_mtx_unlock(mutex);
}

ATTR_EXPORT int mtx_unlock(mtx_t *mutex)
{
	if (likely(c11_word(mutex) == 1))
		return g_real_mtx_unlock(mutex);
	return unlock_c11(mutex);
}

ATTR_EXPORT int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
	if (!sync_is_recorded())
		return g_real_cnd_wait(condition, mutex);
	sync_release_mutex(mutex_of(mutex));
	return RECORD_CALL(SYNC_CONDITION, condition, 0,
			   g_real_cnd_wait(condition, mutex), result_of_c11);
}

ATTR_EXPORT int cnd_timedwait(cnd_t *condition, mtx_t *mutex,
			      const struct timespec *until)
{
	if (!sync_is_recorded())
		return g_real_cnd_timedwait(condition, mutex, until);
	sync_release_mutex(mutex_of(mutex));
	return RECORD_CALL(SYNC_CONDITION, condition, 0,
			   g_real_cnd_timedwait(condition, mutex, until),
			   result_of_c11);
}

ATTR_EXPORT int cnd_signal(cnd_t *condition)
{
	sync_signal((const void *)condition);
	return g_real_cnd_signal(condition);
}

ATTR_EXPORT int cnd_broadcast(cnd_t *condition)
{
	sync_signal((const void *)condition);
	return g_real_cnd_broadcast(condition);
}

ATTR_EXPORT int thrd_join(thrd_t thread, int *result)
{
	uint32_t tid = sync_awaited_thread(thread);

	return tid ? RECORD_CALL(SYNC_THREAD, (void *)thread, tid,
				 g_real_thrd_join(thread, result),
				 result_of_c11)
		   : g_real_thrd_join(thread, result);
}
