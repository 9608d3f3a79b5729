/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_notes - annotations of a thread: perfrec.h.
 */
#ifndef PERFREC_COLLECTOR_THREAD_NOTES_H
#define PERFREC_COLLECTOR_THREAD_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "shared/record_ext.h"

struct replay;
struct thread;

/* EXT_ARGS and up (record_ext.h), a copy, while @replay runs. 0, or -EBADMSG:
 * nonsense. Its drain worker. */
int thread_note(struct thread *thread, struct replay *replay,
		const struct record *cells, size_t count);

#endif
