/* SPDX-License-Identifier: Apache-2.0
 *
 * lock - a mutex with a rank, which prevents deadlocks: threads take locks only
 * in the order of lock_ranks.def. With LOCK_CHECK (sanitizer builds, and `make
 * DEBUG=1`) each thread remembers its locks, and the first lock out of order
 * aborts the process with a message. Without LOCK_CHECK a lock is only the
 * mutex.
 *
 * Not for signal handlers.
 */
#ifndef PERFREC_COLLECTOR_BASE_LOCK_H
#define PERFREC_COLLECTOR_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

enum lock_rank {
	LOCK_NO_RANK = 0,
#define LOCK_RANK(name, what) LOCK_##name,
#include "collector/base/lock_ranks.def"
#undef LOCK_RANK
};

struct lock {
	pthread_mutex_t mutex;
#ifdef LOCK_CHECK
	enum lock_rank rank;
#endif
};

#ifdef LOCK_CHECK
#define LOCK_INITIALIZER(name)                         \
	{                                              \
		PTHREAD_MUTEX_INITIALIZER, LOCK_##name \
	}

/* For the functions below only. Aborts if the thread may not take @lock now.
 * @chained: it may hold locks of the same rank. */
void lock_check_order(const struct lock *lock, bool chained);
void lock_check_taken(const struct lock *lock);
void lock_check_released(const struct lock *lock);
#else
#define LOCK_INITIALIZER(name)            \
	{                                 \
		PTHREAD_MUTEX_INITIALIZER \
	}

static inline void lock_check_order(const struct lock *lock, bool chained)
{
	(void)lock;
	(void)chained;
}

static inline void lock_check_taken(const struct lock *lock)
{
	(void)lock;
}

static inline void lock_check_released(const struct lock *lock)
{
	(void)lock;
}
#endif

/* The caller ends @lock with lock_destroy(). */
static inline void lock_init(struct lock *lock, enum lock_rank rank)
{
	pthread_mutex_init(&lock->mutex, NULL);
#ifdef LOCK_CHECK
	lock->rank = rank;
#else
	(void)rank;
#endif
}

static inline void lock_destroy(struct lock *lock)
{
	pthread_mutex_destroy(&lock->mutex);
}

static inline void lock_acquire(struct lock *lock)
{
	lock_check_order(lock, false);
	pthread_mutex_lock(&lock->mutex);
	lock_check_taken(lock);
}

/* As lock_acquire(), for a chain of locks of one rank. The caller must ensure
 * that all threads take these in one order. */
static inline void lock_acquire_chained(struct lock *lock)
{
	lock_check_order(lock, true);
	pthread_mutex_lock(&lock->mutex);
	lock_check_taken(lock);
}

/* Takes @lock without waiting. Returns false if another thread holds it. */
static inline bool lock_try(struct lock *lock)
{
	lock_check_order(lock, false);
	if (pthread_mutex_trylock(&lock->mutex) != 0)
		return false;
	lock_check_taken(lock);
	return true;
}

static inline void lock_release(struct lock *lock)
{
	lock_check_released(lock);
	pthread_mutex_unlock(&lock->mutex);
}

/* The value that the expression @value has while the thread holds @lock. */
#define LOCKED(lock, value)                    \
	({                                     \
		lock_acquire(lock);            \
		__auto_type locked_ = (value); \
		lock_release(lock);            \
		locked_;                       \
	})

/* Releases @lock, waits for @condition, and takes @lock again. May return
 * without a signal. */
static inline void lock_wait(struct lock *lock, pthread_cond_t *condition)
{
	lock_check_released(lock);
	pthread_cond_wait(condition, &lock->mutex);
	lock_check_taken(lock);
}

/* As lock_wait(), until @at at the latest, by the clock of @condition. */
static inline void lock_wait_until(struct lock *lock, pthread_cond_t *condition,
				   const struct timespec *at)
{
	lock_check_released(lock);
	pthread_cond_timedwait(condition, &lock->mutex, at);
	lock_check_taken(lock);
}

#endif
