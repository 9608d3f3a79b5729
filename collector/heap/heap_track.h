/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_track - the heap of a process in the trace: counters of bytes in use,
 * blocks in use and bytes allocated, written now and then and at the end; and
 * an instant for each double free.
 */
#ifndef PERFREC_COLLECTOR_HEAP_HEAP_TRACK_H
#define PERFREC_COLLECTOR_HEAP_HEAP_TRACK_H

#include <stdint.h>
#include <sys/types.h>

#include "collector/replay/clock_sync.h"

struct heap;
struct trace_file;
struct triggers;

enum heap_counter {
	HEAP_COUNTER_BYTES,
	HEAP_COUNTER_BLOCKS,
	HEAP_COUNTER_ALLOCATED,
	HEAP_COUNTERS,
};

struct heap_track {
	struct trace_file *trace;
	uint64_t process_uuid;
	uint32_t sequence;
	uint64_t uuid[HEAP_COUNTERS];
	struct clock_sync *sync; /* NULL: clocks are ns */
	struct clock_segment segment;
	uint64_t last_ns; /* of the last written values */
	uint64_t last_clock; /* of the last record; the consumer's */
	uint64_t next_clock; /* earliest time of the next write */
	uint64_t doubles;
	struct triggers *triggers;
	uint32_t set[HEAP_COUNTERS];
	pid_t pid;
};

/* Writes the descriptors of the counters. The tracks lie below process track
 * @process_uuid; @sequence must be unused. @trace and @sync (NULL: clocks are
 * ns) must outlive @track. All functions here may wait for the disk. One thread
 * at a time. */
void heap_track_init(struct heap_track *track, struct trace_file *trace,
		     struct clock_sync *sync, uint64_t process_uuid,
		     uint32_t sequence);
/* Compares the counters of process @pid with @triggers (NULL: none), which must
 * outlive @track. Call before the first step. */
void heap_track_set_triggers(struct heap_track *track,
			     struct triggers *triggers, pid_t pid);
/* Writes the counters. Call before @heap applies a record of @clock, if @clock
 * is at least track->next_clock. */
void heap_track_step(struct heap_track *track, struct heap *heap,
		     uint64_t clock);
void heap_track_end(struct heap_track *track, struct heap *heap);
void heap_track_double_free(struct heap_track *track, uint64_t clock,
			    uint64_t thread_uuid, uint64_t address);
/* Converts @clock to ns of BOOTTIME. */
uint64_t heap_track_ns(struct heap_track *track, uint64_t clock);

#endif
