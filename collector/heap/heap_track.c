/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_track - any worker may be the consumer that writes these packets, so
 * they have their own sequence. Each packet names its track and has an absolute
 * time.
 */
#include "collector/heap/heap_track.h"

#include <stdbool.h>
#include <stdio.h>

#include "collector/base/clock.h"
#include "collector/base/random.h"
#include "collector/heap/heap.h"
#include "collector/record/triggers.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"

#define STEP_NS 10000000
#define PACKET_BYTES 512
/* Most double frees in the trace. */
#define DOUBLES_TOLD_MAX 1000

static const struct {
	const char *name, *description;
	enum site_unit unit;
} rows[HEAP_COUNTERS] = {
	[HEAP_COUNTER_BYTES] = { "heap: bytes in use",
				 "as the program asked for them", UNIT_BYTES },
	[HEAP_COUNTER_BLOCKS] = { "heap: blocks", "allocated and live",
				  UNIT_COUNT },
	[HEAP_COUNTER_ALLOCATED] = { "heap: allocated",
				     "since the start, freed or not",
				     UNIT_BYTES },
};

static void describe_counters(const struct heap_track *track,
			      enum heap_counter which)
{
	const struct out_counter counter = {
		.uuid = track->uuid[which],
		.parent = track->process_uuid,
		.name = rows[which].name,
		.description = rows[which].description,
		.unit = rows[which].unit,
		.multiplier = 1,
	};
	static _Thread_local uint8_t packet[OUT_TRACK_BYTES];

	trace_file_append(track->trace, OUT_SEQUENCE_GLOBAL, packet,
			  out_track_counter(packet, sizeof(packet), &counter));
}

void heap_track_init(struct heap_track *track, struct trace_file *trace,
		     struct clock_sync *sync, uint64_t process_uuid,
		     uint32_t sequence)
{
	uint8_t packet[PACKET_BYTES];

	*track = (struct heap_track){
		.trace = trace,
		.sync = sync,
		.process_uuid = process_uuid,
		.sequence = sequence,
	};
	trace_file_append(trace, sequence, packet,
			  out_track_sequence(packet, sizeof(packet), sequence));
	for (int i = 0; i < HEAP_COUNTERS; i++) {
		track->uuid[i] = random_u64();
		describe_counters(track, (enum heap_counter)i);
	}
}

uint64_t heap_track_ns(struct heap_track *track, uint64_t clock)
{
	if (!track->sync)
		return MIN(clock, clock_boottime_ns());
	if (!clock_segment_has(&track->segment, clock))
		clock_sync_segment(track->sync, clock, &track->segment);
	return clock_segment_ns(&track->segment, clock);
}

void heap_track_set_triggers(struct heap_track *track,
			     struct triggers *triggers, pid_t pid)
{
	track->triggers = triggers;
	track->pid = pid;
	for (int i = 0; i < HEAP_COUNTERS; i++)
		track->set[i] = triggers_of_counter(triggers, rows[i].name);
}

static void write_values(struct heap_track *track, struct heap *heap)
{
	const struct heap_values *now = &heap->totals.now;
	const uint64_t value[HEAP_COUNTERS] = {
		[HEAP_COUNTER_BYTES] = heap_round(heap, now->inuse_bytes),
		[HEAP_COUNTER_BLOCKS] = heap_round(heap, now->inuse_objects),
		[HEAP_COUNTER_ALLOCATED] = heap_round(heap, now->alloc_bytes),
	};
	const struct trigger_place place = { .ns = track->last_ns,
					     .pid = track->pid };
	uint8_t packets[HEAP_COUNTERS * PACKET_BYTES], *out = packets;

	for (int i = 0; i < HEAP_COUNTERS; i++)
		out += out_track_value(out, PACKET_BYTES, track->sequence,
				       track->uuid[i], track->last_ns,
				       (int64_t)value[i]);
	trace_file_append(track->trace, track->sequence, packets,
			  (size_t)(out - packets));
	for (int i = 0; i < HEAP_COUNTERS; i++)
		if (track->set[i])
			triggers_counter(track->triggers, track->set[i],
					 track->uuid[i], &place, rows[i].name,
					 (double)value[i]);
}

static uint64_t ticks_of(const struct heap_track *track, uint64_t ns)
{
	unsigned __int128 ticks = (unsigned __int128)ns << 32;

	if (!track->sync || !track->segment.ns_per_tick)
		return ns;
	return (uint64_t)(ticks / track->segment.ns_per_tick) + 1;
}

void heap_track_step(struct heap_track *track, struct heap *heap,
		     uint64_t clock)
{
	uint64_t ns = heap_track_ns(track, clock), wait = STEP_NS;
	bool written = track->last_ns;

	if (written && ns < track->last_ns + STEP_NS) {
		/* A late record, or the clock has changed its rate. */
		wait = track->last_ns + STEP_NS - ns;
		wait = MIN(wait, STEP_NS);
	} else {
		track->last_ns = ns;
		write_values(track, heap);
	}
	track->next_clock = clock + ticks_of(track, wait);
	if (track->next_clock < clock)
		track->next_clock = UINT64_MAX;
}

void heap_track_end(struct heap_track *track, struct heap *heap)
{
	uint64_t ns = heap_track_ns(track, track->last_clock);

	track->last_ns = MAX(track->last_ns, ns);
	write_values(track, heap);
}

void heap_track_double_free(struct heap_track *track, uint64_t clock,
			    uint64_t thread_uuid, uint64_t address)
{
	uint8_t packet[PACKET_BYTES];
	char name[64];

	if (track->doubles++ >= DOUBLES_TOLD_MAX)
		return;
	snprintf(name, sizeof(name), "double free of %#llx",
		 (unsigned long long)address);
	trace_file_append(track->trace, track->sequence, packet,
			  out_track_instant(packet, sizeof(packet),
					    track->sequence, thread_uuid,
					    heap_track_ns(track, clock), name));
}
