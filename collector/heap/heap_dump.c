/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_dump - two ProfilePacket dumps on the sequence with the stacks of the
 * process. Values are cumulative (allocated and freed so far), so no value may
 * be lower in the second dump than in the first. The importer reads their times
 * as CLOCK_MONOTONIC_COARSE, whatever the clock of the packet is; the preamble
 * of the trace has a snapshot of that clock. Packets are numbered without gaps,
 * and only the last of a dump is not marked "continued".
 */
#include "collector/heap/heap_dump.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/base/clock.h"
#include "collector/heap/process_heap_inner.h"
#include "collector/record/recording.h"
#include "collector/samples/trace_stacks.h"
#include "collector/trace/packet.h"
#include "shared/compiler.h"

/* At most 60 bytes each, so a packet stays below TRACE_STACKS_BYTES. */
#define SAMPLES_MAX 400

typedef Perfetto__Protos__ProfilePacket__HeapSample heap_sample;

struct dump {
	struct process_heap *heap;
	struct trace_stacks *stacks;
	uint64_t index;
	heap_sample sample[SAMPLES_MAX];
	heap_sample *pointer[SAMPLES_MAX];
	size_t count;
	uint64_t ns;
};

struct sum {
	uint32_t stack;
	struct heap_values peak, end;
};

static int sums_by_stack(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void add_heap_values(struct heap_values *to,
			    const struct heap_values *from)
{
	to->alloc_objects += from->alloc_objects;
	to->alloc_bytes += from->alloc_bytes;
	to->inuse_objects += from->inuse_objects;
	to->inuse_bytes += from->inuse_bytes;
}

/* Makes one row for each stack, with the sums of all threads. Returns their
 * number, 0 without memory. */
static size_t sum_by_stack(struct process_heap *heap, struct sum **out)
{
	uint32_t sites = heap_site_count(&heap->heap);
	struct sum *sum = calloc(sites, sizeof(*sum));
	size_t count = 0;

	*out = sum;
	if (!sum)
		return 0;
	for (uint32_t i = 0; i < sites; i++) {
		const struct heap_site *site = heap_get_site(&heap->heap, i);

		sum[i] = (struct sum){ site->stack,
				       heap_at_peak(&heap->heap, site),
				       site->now };
	}
	qsort(sum, sites, sizeof(*sum), sums_by_stack);
	for (uint32_t i = 1; i < sites; i++) {
		if (sum[i].stack != sum[count].stack) {
			sum[++count] = sum[i];
			continue;
		}
		add_heap_values(&sum[count].peak, &sum[i].peak);
		add_heap_values(&sum[count].end, &sum[i].end);
	}
	return sites ? count + 1 : 0;
}

static void write_packet(struct dump *dump, bool last)
{
	pb_packet packet = PACKET_INIT;
	Perfetto__Protos__ProfilePacket profile =
		PERFETTO__PROTOS__PROFILE_PACKET__INIT;
	Perfetto__Protos__ProfilePacket__ProcessHeapSamples process =
		PERFETTO__PROTOS__PROFILE_PACKET__PROCESS_HEAP_SAMPLES__INIT;
	Perfetto__Protos__ProfilePacket__ProcessHeapSamples *processes[] = {
		&process
	};
	uint8_t bytes[TRACE_STACKS_BYTES];
	uint64_t period = dump->heap->heap.period;
	uint64_t boottime = clock_boottime_ns();
	size_t size;

	SET(&process, pid, (uint64_t)dump->heap->pid);
	SET(&process, timestamp,
	    dump->ns + clock_read_ns(CLOCK_MONOTONIC_COARSE) - boottime);
	SET(&process, sampling_interval_bytes, period ? period : 1);
	process.heap_name = (char *)"malloc";
	process.samples = dump->pointer;
	process.n_samples = dump->count;
	profile.process_dumps = processes;
	profile.n_process_dumps = ARRAY_SIZE(processes);
	SET(&profile, index, dump->index++);
	if (!last)
		SET(&profile, continued, 1);
	packet.profile_packet = &profile;
	SET(&packet, timestamp, dump->ns);
	SET(&packet, trusted_packet_sequence_id,
	    trace_stacks_sequence(dump->stacks));
	size = packet_pack(bytes, sizeof(bytes), &packet);
	dump->count = 0;
	if (size)
		trace_stacks_append(dump->stacks, bytes, size);
}

static void put_dump_stack(struct dump *dump, uint32_t stack,
			   const struct heap_values *values)
{
	const struct heap *heap = &dump->heap->heap;
	uint64_t iid = values->alloc_objects || values->alloc_bytes
			       ? trace_stacks_iid(dump->stacks, stack)
			       : 0;
	heap_sample *sample = &dump->sample[dump->count];
	uint64_t objects, bytes;

	if (!iid)
		return;
	objects = values->alloc_objects - values->inuse_objects;
	bytes = values->alloc_bytes - values->inuse_bytes;
	perfetto__protos__profile_packet__heap_sample__init(sample);
	SET(sample, callstack_id, iid);
	SET(sample, self_allocated, heap_round(heap, values->alloc_bytes));
	SET(sample, self_freed, heap_round(heap, bytes));
	SET(sample, alloc_count, heap_round(heap, values->alloc_objects));
	SET(sample, free_count, heap_round(heap, objects));
	dump->pointer[dump->count++] = sample;
	if (dump->count == SAMPLES_MAX)
		write_packet(dump, false);
}

void heap_dump_write(struct process_heap *heap)
{
	struct dump *dump = calloc(1, sizeof(*dump));
	struct heap_track *track = &heap->track;
	struct sum *sum = NULL;
	size_t count = dump ? sum_by_stack(heap, &sum) : 0;

	if (count && heap->heap.totals.peak.inuse_bytes &&
	    trace_stacks_new(heap->recording, heap->modules, heap->stacks,
			     heap->pid, &dump->stacks) == 0) {
		dump->heap = heap;
		dump->ns = heap_track_ns(track, heap->heap.totals.peak_clock);
		for (size_t i = 0; i < count; i++)
			put_dump_stack(dump, sum[i].stack, &sum[i].peak);
		write_packet(dump, true);
		dump->ns = MAX(track->last_ns, dump->ns + 1);
		for (size_t i = 0; i < count; i++)
			put_dump_stack(dump, sum[i].stack, &sum[i].end);
		write_packet(dump, true);
		trace_stacks_free(&dump->stacks);
	}
	free(sum);
	free(dump);
}
