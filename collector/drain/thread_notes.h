/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_notes - writes the annotations of a thread (perfrec.h), from its
 * extended records, on its tracks and on those of its process. See
 * thread_notes.c.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_THREAD_NOTES_H
#define PERFREC_COLLECTOR_DRAIN_THREAD_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "shared/record_ext.h"

struct process;
struct replay;
struct thread;
struct totals;
struct thread_notes;

/* Processes an extended record of the kind EXT_ARGS or above (record_ext.h),
 * whose @count cells are a copy, while @replay runs. Returns 0, or -EBADMSG: an
 * unknown kind. Called by the drain worker of @thread. */
int thread_note(struct thread *thread, struct replay *replay,
		const struct record *cells, size_t count);

/* Called by the drain worker after each visit of the thread's ring. */
void thread_notes_flush(struct thread *thread);
/* Called by the drain worker when the thread has ended at @ns (BOOTTIME),
 * before thread_notes_finish(): the thread leaves all asynchronous slices.
 * thread->on_cpu() must still work. */
void thread_notes_leave(struct thread *thread, uint64_t ns);
/* Called by the drain worker when the thread has ended. */
void thread_notes_finish(struct thread *thread);
/* Adds the counts to @totals of recording_lock(), and frees thread->notes.
 * Called by the jobs thread, under the recording's lock. */
void thread_notes_release(struct thread *thread, struct totals *totals);

/* Called by the jobs thread after thread_notes_release() of all threads of
 * @process: writes the rest, and frees the asynchronous slices of the
 * process. */
void process_notes_finish(struct process *process);

#endif
