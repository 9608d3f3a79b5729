/* SPDX-License-Identifier: Apache-2.0
 *
 * threads - the tracks of calls that a trace has, with what exports need of
 * each: a name for people, and numbers of process and thread. One thread at a
 * time.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_THREADS_H
#define PERFREC_COLLECTOR_EXPORT_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/read/trace_read.h"

#define THREAD_NAME_BYTES 256

struct threads_process {
	int64_t pid; /* 0: not known */
	uint32_t name; /* text; 0: not known */
};
/* The process that @track belongs to, or the track that it lies below. */
struct threads_process threads_process(const struct trace_reader *trace,
				       const struct trace_track *track);
/* The number of its thread; of a track that is none a number that no thread
 * has. */
int64_t threads_tid(const struct trace_track *track);
/* "worker (1234)", or what the track is called. Any bytes but a NUL, cut.
 * Returns @text. */
const char *threads_name(const struct trace_reader *trace,
			 const struct trace_track *track,
			 char text[THREAD_NAME_BYTES]);

#endif
