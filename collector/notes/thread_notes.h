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
struct thread_notes;

/* EXT_ARGS and up (record_ext.h), a copy, while @replay runs. 0, or -EBADMSG:
 * of no known kind. Its drain worker. */
int thread_note(struct thread *thread, struct replay *replay,
		const struct record *cells, size_t count);

/* After every visit of the thread's ring. Its drain worker. */
void thread_notes_flush(struct thread *thread);
/* The thread has ended. Its drain worker. */
void thread_notes_finish(struct thread *thread);
/* Adds what was counted to the recording's totals, under its lock, and frees
 * thread->notes. */
void thread_notes_release(struct thread *thread);

/* All threads of @process are summed up: writes what is left. Jobs thread. */
void process_notes_finish(struct process *process);

#endif
