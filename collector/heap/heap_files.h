/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_files - adds heaps of processes to the files of a recording: heap.pb.gz,
 * heap-peak.pb.gz, span.pb.gz, and the functions and sums of summary.json.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_FILES_H
#define PERFREC_COLLECTOR_HEAP_HEAP_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct process_heap;
struct recording;
struct stack_profile;

/* Adds @heap, returned by process_heap_end(), to its recording. Jobs thread. */
void heap_files_finish(struct process_heap *heap);

enum heap_moment {
	HEAP_NOW,
	HEAP_AT_PEAK,
	HEAP_OF_SPANS, /* now, and the peak of each stack, at the positions of
			* stack_profile_span */
};

/* Adds the values of @heap to @profile, of type stack_profile_heap or _span.
 * Blocks the consumer for the time of a copy. Jobs thread. */
int heap_files_add(struct process_heap *heap, enum heap_moment moment,
		   struct stack_profile *profile);
struct heap_sums;

/* Writes @profile as @name to the folder of @recording, with comments about
 * @sum. Sets *@bytes to its length. Returns 0 or -errno. */
int heap_files_write(struct recording *recording, struct stack_profile *profile,
		     const struct heap_sums *sum, uint64_t duration_ns,
		     const char *name, uint64_t *bytes);

/* Sets *@out, which the caller frees, to the heap profile of all processes of
 * @recording, ended or running, and @sum to its sums. Returns 0, -ENOENT
 * without any block, or -ENOMEM. Jobs thread. */
int heap_files_so_far(struct recording *recording, struct heap_sums *sum,
		      struct stack_profile **out);
/* Sets @window (window_profile.h) to the sums of the same processes, which have
 * a heap profile. False: no memory, so some are missing. Jobs thread. */
bool heap_files_sum(struct recording *recording, struct stack_profile *window);
/* Writes the memory in use now, of ended and running processes, as @name to the
 * folder of @recording. Returns 0, -ENOENT without any block, or -errno after
 * logging. Jobs thread. */
int heap_files_snapshot(struct recording *recording, const char *name);

#endif
