/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_notes - annotations of a thread (perfrec.h): what its extended
 * records say, on its tracks and on those of its process. See thread_notes.c.
 */
#ifndef PERFREC_COLLECTOR_NOTES_THREAD_NOTES_H
#define PERFREC_COLLECTOR_NOTES_THREAD_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "shared/record_ext.h"

struct process;
struct replay;
struct thread;
struct totals;
struct thread_notes;

/* Take in an extended record of the kind EXT_ARGS or above (record_ext.h),
 * whose @count cells are a copy, while @replay runs. 0, or -EBADMSG: it is of
 * no known kind. The drain worker of @thread. */
int thread_note(struct thread *thread, struct replay *replay,
		const struct record *cells, size_t count);

/* To be called after each visit of the thread's ring. Its drain worker. */
void thread_notes_flush(struct thread *thread);
/* The thread has ended at @ns (BOOTTIME), and leaves all asynchronous slices,
 * as long as thread->on_cpu() says how long it was on a CPU. Before
 * thread_notes_finish(); its drain worker. */
void thread_notes_leave(struct thread *thread, uint64_t ns);
/* The thread has ended. Its drain worker. */
void thread_notes_finish(struct thread *thread);
/* Add what was counted to @totals, as recording_lock() has returned them, and
 * free thread->notes. Under the recording's lock; the jobs thread. */
void thread_notes_release(struct thread *thread, struct totals *totals);

/* All threads of @process have been summed up: write what is left, and free
 * process->slices. The jobs thread. */
void process_notes_finish(struct process *process);

#endif
