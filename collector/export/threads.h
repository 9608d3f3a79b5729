/* SPDX-License-Identifier: Apache-2.0
 *
 * threads - properties of tracks of calls for exports: a name for people, and
 * numbers of process and thread. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_THREADS_H
#define PERFREC_COLLECTOR_EXPORT_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/read/trace_read.h"

#define THREAD_NAME_BYTES 256

struct threads_process {
	int64_t pid; /* 0: unknown */
	uint32_t name; /* text; 0: unknown */
};
/* Returns the process of @track or of its parent track. */
struct threads_process threads_process(const struct trace_reader *trace,
				       const struct trace_track *track);
/* Returns the thread number of @track. A track without thread gets a number
 * that no thread has. */
int64_t threads_tid(const struct trace_track *track);
/* Returns "worker (1234)" or the name of the track in @text. Any bytes except
 * NUL, truncated. */
const char *threads_name(const struct trace_reader *trace,
			 const struct trace_track *track,
			 char text[THREAD_NAME_BYTES]);

#endif
