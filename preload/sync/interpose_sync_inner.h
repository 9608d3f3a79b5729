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

#include "preload/core/gate.h"
#include "preload/core/thread.h"
#include "shared/atomic.h"
#include "shared/record_ext.h"

extern uint32_t g_sync_recording;

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

/* Returns the enum sync_result for @error, the result of a function of
 * pthreads. */
uint32_t sync_result_of(int error);

/* Returns true if unlocking @mutex, which this thread holds, will wake a thread
 * that shall be recorded. */
bool sync_mutex_wakes(const pthread_mutex_t *mutex);

/* Calls @call, which returns 0 or an error, between records of a wait for
 * @object. @owner is evaluated before the call, and again if it failed. */
#define RECORD_WAIT(kind, object, owner, call)                            \
	({                                                                \
		bool put_ = sync_put(EXT_SYNC_WAIT, kind, object, owner); \
		int result_ = (call);                                     \
		uint32_t got_ = sync_result_of(result_);                  \
                                                                          \
		if (put_)                                                 \
			sync_put(EXT_SYNC_WAITED, got_, object,           \
				 got_ == SYNC_GOT ? 0 : (owner));         \
		result_;                                                  \
	})

#endif
