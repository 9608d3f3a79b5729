/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_files - adds heaps of processes to the files of a recording: heap.pb.gz,
 * heap-peak.pb.gz, span.pb.gz, and the functions and sums of summary.json.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_FILES_H
#define PERFREC_COLLECTOR_HEAP_HEAP_FILES_H

#include <stdint.h>

struct process_heap;
struct recording;
struct stack_profile;

/* Add @heap, which process_heap_end() has returned, to its recording. The jobs
 * thread. */
void heap_files_finish(struct process_heap *heap);

/* What is in a profile file of the heap. */
enum heap_moment {
	HEAP_NOW,
	HEAP_AT_PEAK,
	HEAP_OF_SPANS, /* now, and the peak of each stack; where
			* stack_profile_span has them */
};

/* Add the values of @heap to @profile, of stack_profile_heap or _span. Holds
 * its consumer up for the time of a copy. The jobs thread. */
int heap_files_add(struct process_heap *heap, enum heap_moment moment,
		   struct stack_profile *profile);
struct heap_sums;

/* Write @profile as @name to the folder of @recording, with comments about
 * @sum. *@bytes is its length. 0 or -errno. */
int heap_files_write(struct recording *recording, struct stack_profile *profile,
		     const struct heap_sums *sum, uint64_t duration_ns,
		     const char *name, uint64_t *bytes);

/* Write what is in use now, of processes that have ended and of those that go
 * on, as @name to the folder of @recording. 0, -ENOENT: no block was told of;
 * or -errno, which the log has. The jobs thread. */
int heap_files_snapshot(struct recording *recording, const char *name);

#endif
