/* SPDX-License-Identifier: Apache-2.0
 *
 * lock - a mutex with a rank, so that no two threads can wait for each other: a
 * thread takes locks in the order of lock_ranks.def only. With LOCK_CHECK
 * (sanitizer builds, and `make DEBUG=1`) each thread remembers what it holds,
 * and the first lock that is taken out of order ends the process with a
 * message. Without it a lock is the mutex and nothing else.
 *
 * Not for signal handlers.
 */
#ifndef PERFREC_COLLECTOR_BASE_LOCK_H
#define PERFREC_COLLECTOR_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>

enum lock_rank {
	LOCK_NO_RANK = 0, /* it was never initialised */
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

/* For the functions below only. The thread is about to take @lock; if @chained,
 * it may hold locks of the same rank. Aborts if that is out of order. */
void lock_check_order(const struct lock *lock, bool chained);
void lock_check_taken(const struct lock *lock);
/* Aborts if the thread does not hold @lock. */
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

/* Makes @lock a lock of @rank that nobody holds. The caller ends it with
 * lock_destroy(). */
static inline void lock_init(struct lock *lock, enum lock_rank rank)
{
	pthread_mutex_init(&lock->mutex, NULL);
#ifdef LOCK_CHECK
	lock->rank = rank;
#else
	(void)rank;
#endif
}

/* Ends @lock, which nobody may hold. */
static inline void lock_destroy(struct lock *lock)
{
	pthread_mutex_destroy(&lock->mutex);
}

/* Waits until nobody else holds @lock, and takes it. */
static inline void lock_acquire(struct lock *lock)
{
	lock_check_order(lock, false);
	pthread_mutex_lock(&lock->mutex);
	lock_check_taken(lock);
}

/* The same, for a lock that follows another of its rank in a chain: the caller
 * sees to it that all threads take these in one order. */
static inline void lock_acquire_chained(struct lock *lock)
{
	lock_check_order(lock, true);
	pthread_mutex_lock(&lock->mutex);
	lock_check_taken(lock);
}

/* Takes @lock if nobody holds it. Never waits; false: somebody holds it. */
static inline bool lock_try(struct lock *lock)
{
	lock_check_order(lock, false);
	if (pthread_mutex_trylock(&lock->mutex) != 0)
		return false;
	lock_check_taken(lock);
	return true;
}

/* Gives up @lock, which the thread holds. */
static inline void lock_release(struct lock *lock)
{
	lock_check_released(lock);
	pthread_mutex_unlock(&lock->mutex);
}

/* Gives up @lock, waits for a signal of @condition, and takes @lock again. May
 * return without a signal. */
static inline void lock_wait(struct lock *lock, pthread_cond_t *condition)
{
	lock_check_released(lock);
	pthread_cond_wait(condition, &lock->mutex);
	lock_check_taken(lock);
}

#endif
