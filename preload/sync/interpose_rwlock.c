/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_rwlock - wraps the functions of locks for readers and writers, as
 * interpose_sync.c does those of mutexes. The lock knows its writer. Readers are
 * only counted, so the unlock of the last one is recorded, if somebody waits.
 */
#include <pthread.h>
#include <stdint.h>

#include "preload/core/find_next.h"
#include "preload/sync/interpose_sync_inner.h"
#include "shared/compiler.h"

REAL_FUNCTION(pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
REAL_FUNCTION(pthread_rwlock_timedrdlock,
	      (pthread_rwlock_t * lock, const struct timespec *until),
	      (lock, until))
REAL_FUNCTION(pthread_rwlock_clockrdlock,
	      (pthread_rwlock_t * lock, clockid_t clock,
	       const struct timespec *until),
	      (lock, clock, until))
REAL_FUNCTION(pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
REAL_FUNCTION(pthread_rwlock_timedwrlock,
	      (pthread_rwlock_t * lock, const struct timespec *until),
	      (lock, until))
REAL_FUNCTION(pthread_rwlock_clockwrlock,
	      (pthread_rwlock_t * lock, clockid_t clock,
	       const struct timespec *until),
	      (lock, clock, until))
REAL_FUNCTION(pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))

/* __readers has these bits and the number of readers. Readers that wait for a
 * writer count as well. */
#define RW_WRITER_PHASE 1u
#define RW_WRITER_LOCKED 2u /* or a writer waits for the readers */
#define RW_READERS_WAIT 4u
#define RW_READERS_SHIFT 3

#define RW_FUTEX_USED 2u /* of __writers_futex: perhaps a writer waits */

static uint32_t rwlock_word(const pthread_rwlock_t *lock)
{
	/* relaxed: it only decides about a record */
	return atom_load_rlx(&lock->__data.__readers);
}

static uint32_t rwlock_writer(const pthread_rwlock_t *lock)
{
	/* relaxed: a claim, which the collector compares with releases */
	return (uint32_t)atom_load_rlx(&lock->__data.__cur_writer);
}

/* Returns true if a writer has @lock, or if waiting writers go before new
 * readers. */
static bool waits_to_read(const pthread_rwlock_t *lock)
{
	uint32_t word = rwlock_word(lock);

	/* relaxed: constant */
	if (!(word & RW_WRITER_LOCKED) ||
	    (!(word & RW_WRITER_PHASE) &&
	     (!(word >> RW_READERS_SHIFT) ||
	      atom_load_rlx(&lock->__data.__flags) !=
		      PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)))
		return false;
	return sync_is_recorded() && (int)rwlock_writer(lock) != sync_own_tid();
}

/* Returns true if a writer has to wait for a lock with this @word. */
static bool is_taken(uint32_t word)
{
	return word & RW_WRITER_LOCKED ||
	       (word >> RW_READERS_SHIFT && !(word & RW_WRITER_PHASE));
}

static bool waits_to_write(const pthread_rwlock_t *lock)
{
	return is_taken(rwlock_word(lock)) && sync_is_recorded() &&
	       (int)rwlock_writer(lock) != sync_own_tid();
}

#define READ_WAIT(lock, call) \
	RECORD_WAIT(SYNC_READ, lock, rwlock_writer(lock), call)
#define WRITE_WAIT(lock, call) \
	RECORD_WAIT(SYNC_WRITE, lock, rwlock_writer(lock), call)

ATTR_NOINLINE static int read_written(pthread_rwlock_t *lock)
{
	return waits_to_read(lock)
		       ? READ_WAIT(lock, g_real_pthread_rwlock_rdlock(lock))
		       : g_real_pthread_rwlock_rdlock(lock);
}

ATTR_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	if (likely(!(rwlock_word(lock) & RW_WRITER_LOCKED)))
		return g_real_pthread_rwlock_rdlock(lock);
	return read_written(lock);
}

ATTR_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock,
					   const struct timespec *until)
{
	return waits_to_read(lock)
		       ? READ_WAIT(lock, g_real_pthread_rwlock_timedrdlock(
						 lock, until))
		       : g_real_pthread_rwlock_timedrdlock(lock, until);
}

ATTR_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock,
					   clockid_t clock,
					   const struct timespec *until)
{
	return waits_to_read(lock)
		       ? READ_WAIT(lock, g_real_pthread_rwlock_clockrdlock(
						 lock, clock, until))
		       : g_real_pthread_rwlock_clockrdlock(lock, clock, until);
}

ATTR_NOINLINE static int write_taken(pthread_rwlock_t *lock)
{
	return waits_to_write(lock)
		       ? WRITE_WAIT(lock, g_real_pthread_rwlock_wrlock(lock))
		       : g_real_pthread_rwlock_wrlock(lock);
}

ATTR_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	/* No bit but this one, and no reader. */
	if (likely(rwlock_word(lock) <= RW_WRITER_PHASE))
		return g_real_pthread_rwlock_wrlock(lock);
	return write_taken(lock);
}

ATTR_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock,
					   const struct timespec *until)
{
	return waits_to_write(lock)
		       ? WRITE_WAIT(lock, g_real_pthread_rwlock_timedwrlock(
						  lock, until))
		       : g_real_pthread_rwlock_timedwrlock(lock, until);
}

ATTR_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock,
					   clockid_t clock,
					   const struct timespec *until)
{
	return waits_to_write(lock)
		       ? WRITE_WAIT(lock, g_real_pthread_rwlock_clockwrlock(
						  lock, clock, until))
		       : g_real_pthread_rwlock_clockwrlock(lock, clock, until);
}

static bool is_writer_awaited(const pthread_rwlock_t *lock)
{
	/* relaxed: it only decides about a record */
	return atom_load_rlx(&lock->__data.__writers_futex) & RW_FUTEX_USED;
}

ATTR_NOINLINE static int unlock_awaited(pthread_rwlock_t *lock)
{
	uint32_t readers = rwlock_word(lock) >> RW_READERS_SHIFT;
	bool recorded = sync_is_recorded();
	bool writes = recorded && (int)rwlock_writer(lock) == sync_own_tid();

	if (writes && (readers || is_writer_awaited(lock)))
		sync_put(EXT_SYNC_RELEASE, SYNC_WRITE, lock, 0);
	else if (recorded && !writes && readers == 1)
		sync_put(EXT_SYNC_RELEASE, SYNC_READ, lock, 0);
	return g_real_pthread_rwlock_unlock(lock);
}

ATTR_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	uint32_t word = rwlock_word(lock);

	if (likely(word == (RW_WRITER_PHASE | RW_WRITER_LOCKED)
			   ? !is_writer_awaited(lock)
			   : !(word & (RW_WRITER_LOCKED | RW_READERS_WAIT))))
		return g_real_pthread_rwlock_unlock(lock);
	return unlock_awaited(lock);
}
