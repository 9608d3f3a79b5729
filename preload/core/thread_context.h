/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_context - the request that a thread works on (OTEP 4947). The
 * thread-local variable otel_thread_ctx_v1 of some module points to the
 * thread's record. Each thread reads only its own.
 */
#ifndef PERFREC_PRELOAD_CORE_THREAD_CONTEXT_H
#define PERFREC_PRELOAD_CORE_THREAD_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

/* The place of the variable; 0: no module has it. */
extern uint64_t g_thread_context __attribute__((visibility("hidden")));

/* Searches the loaded modules. The caller holds a lock of the dynamic linker,
 * so that the list of modules does not change. */
void thread_context_find(void);
/* Forgets the variable before an unload. Returns true if there was one. */
bool thread_context_forget(void);

/* thread_context_read() after the check that the variable exists. */
bool thread_context_look(struct trace_ids *out);

/* Sets *@out to the request of this thread. Returns false, and keeps *@out, if
 * the thread has no request. Callable from any context; takes no lock. */
static inline bool thread_context_read(struct trace_ids *out)
{
	/* relaxed: the word says all */
	return unlikely(atom_load_rlx(&g_thread_context)) &&
	       thread_context_look(out);
}

#endif
