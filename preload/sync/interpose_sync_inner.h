/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_sync_inner - shared by the wrappers of locks. Callable from any
 * context, unless stated otherwise; errno is kept.
 */
#ifndef PERFREC_PRELOAD_SYNC_INTERPOSE_SYNC_INNER_H
#define PERFREC_PRELOAD_SYNC_INTERPOSE_SYNC_INNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/core/find_next.h"
#include "preload/core/gate.h"
#include "preload/core/thread.h"
#include "shared/atomic.h"
#include "shared/record_ext.h"

extern uint32_t g_sync_recording;

/* Declares g_real_NAME(), the program's own @name without the shim. The pointer
 * first leads to a function that finds it, so a call of it is only a jump. */
#define REAL_FUNCTION_OF(result, name, parameters, arguments)           \
	static result find_##name parameters;                           \
	static result(*g_real_##name) parameters = find_##name;         \
	static result find_##name parameters                            \
	{                                                               \
		g_real_##name = (result(*) parameters)find_next(#name); \
		return g_real_##name arguments;                         \
	}
#define REAL_FUNCTION(name, parameters, arguments) \
	REAL_FUNCTION_OF(int, name, parameters, arguments)

/* Returns true if this thread records contended calls: it has a slot, because a
 * contended call attaches no thread. */
static inline bool sync_is_recorded(void)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	/* relaxed: see interpose_sync_record() */
	return atom_load_rlx(&g_sync_recording) && gate >= GATE_EPOCH_STEP &&
	       thread_has_slot(gate);
}

/* Puts the record @ext with @value (record_ext.h) for @object; @more is its
 * number. Returns false if it was not recorded. */
bool sync_put(enum record_ext ext, uint32_t value, const void *object,
	      uint64_t more);

/* Returns the id of this thread, which has a slot. */
static inline int sync_own_tid(void)
{
	/* relaxed: only this thread changes it */
	return (int)atom_load_rlx(&t_thread.slot->tid);
}

/* Returns the enum sync_result for @error, the result of a function of
 * pthreads. */
uint32_t sync_result_of(int error);

/* Returns the id of the thread that @mutex names as its owner; 0: none. */
static inline uint32_t sync_mutex_owner(const pthread_mutex_t *mutex)
{
	/* relaxed: a claim, which the collector compares with releases */
	return (uint32_t)atom_load_rlx(&mutex->__data.__owner);
}

/* Returns true if locking @mutex, whose word is not 0, will wait for another
 * thread, and shall be recorded. */
bool sync_mutex_waits(const pthread_mutex_t *mutex);

/* Returns true if unlocking @mutex, which this thread holds, will wake a thread
 * that shall be recorded. */
bool sync_mutex_wakes(const pthread_mutex_t *mutex);

/* Returns the id of the running @thread, if a wait for its end shall be
 * recorded; else 0. */
uint32_t sync_awaited_thread(pthread_t thread);

/* Puts a RELEASE for the waiters of @mutex, if it has any: this thread is about
 * to wait for a condition, which releases it. */
void sync_release_mutex(const pthread_mutex_t *mutex);
/* Puts a RELEASE for the waiters of @condition, if it has any. */
void sync_signal(const pthread_cond_t *condition);

/* Calls @call between records of a wait for @object. @result_of turns the result
 * of the call into an enum sync_result. The macro evaluates @owner before the
 * call, and again if the call failed. */
#define RECORD_CALL(kind, object, owner, call, result_of)                 \
	({                                                                \
		bool put_ = sync_put(EXT_SYNC_WAIT, kind, object, owner); \
		__auto_type result_ = (call);                             \
		uint32_t got_ = result_of(result_);                       \
                                                                          \
		if (put_)                                                 \
			sync_put(EXT_SYNC_WAITED, got_, object,           \
				 got_ == SYNC_GOT ? 0 : (owner));         \
		result_;                                                  \
	})
/* The same for a function of pthreads. */
#define RECORD_WAIT(kind, object, owner, call) \
	RECORD_CALL(kind, object, owner, call, sync_result_of)

#endif
