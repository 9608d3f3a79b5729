/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_bands - the functions are chosen at the end, when all of the history is
 * known. The packets come late, so they use trace_file_append_late().
 */
#include "collector/heap/heap_bands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/random.h"
#include "collector/base/utf8.h"
#include "collector/heap/process_heap_inner.h"
#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/record/recording.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"

#define PACKET_BYTES 64
#define NAME_BYTES 1024

/* A function with bytes in use. */
struct band {
	const char *name; /* owned by the symbol cache, which has it once */
	uint64_t now; /* at the current point */
	uint64_t most;
	uint64_t uuid; /* of its track; 0: it counts among the others */
	int64_t written; /* the last value in the trace; -1: none */
};

struct bands {
	struct process_heap *heap;
	struct pool functions; /* of struct band */
	uint32_t *function_of; /* by place: number + 1; 0: unknown */
	struct band *chosen[HEAP_BANDS + 1]; /* the last one: all others */
	uint32_t count;
	struct band others;
};

/* Returns true if @name hands on memory that its caller asked for. */
static bool is_allocator(const char *name)
{
	static const char *const names[] = { "malloc", "calloc", "realloc",
					     "operator new" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static const char *name_of_place(const struct bands *bands,
				 const struct history_place *place)
{
	struct symbol symbol = { .name = "" };

	for (size_t i = 0; i < ARRAY_SIZE(place->frame); i++) {
		const struct stack_frame *frame = &place->frame[i];

		if (frame->address)
			modules_resolve(bands->heap->modules,
					frame->address -
						(frame->kind == FRAME_RETURN),
					frame->generation, &symbol);
		if (!is_allocator(symbol.name))
			break;
	}
	return symbol.name;
}

/* Finds the functions of the places of @point. Without memory a place has none,
 * and counts among the others. */
static void find_functions(struct bands *bands,
			   const struct history_point *point)
{
	const struct history_place *places = bands->heap->history.places.items;
	struct band band = { .written = -1 };
	uint32_t function;

	for (uint32_t i = 0; i < point->count; i++) {
		uint32_t number = point->place[i];

		if (bands->function_of[number])
			continue;
		band.name = name_of_place(bands, &places[number]);
		if (pool_intern(&bands->functions, &band, &function) >= 0)
			bands->function_of[number] = function + 1;
	}
}

/* Sets the bytes in use of each function at @point. */
static void sum_bands(struct bands *bands, const struct history_point *point)
{
	struct band *list = bands->functions.items;

	if (!list)
		return;
	for (uint32_t i = 0; i < bands->functions.count; i++)
		list[i].now = 0;
	for (uint32_t i = 0; i < point->count; i++) {
		uint32_t function = bands->function_of[point->place[i]];

		if (function)
			list[function - 1].now += point->bytes[i];
	}
	for (uint32_t i = 0; i < bands->functions.count; i++)
		list[i].most = MAX(list[i].most, list[i].now);
}

static int bands_by_most(const void *a, const void *b)
{
	const struct band *x = *(struct band *const *)a;
	const struct band *y = *(struct band *const *)b;

	if (x->most != y->most)
		return x->most > y->most ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Returns false without memory. */
static bool choose_bands(struct bands *bands)
{
	uint32_t count = bands->functions.count;
	struct band *list = bands->functions.items;
	struct band **sorted = calloc(count + 1, sizeof(*sorted));

	if (!sorted)
		return false;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = &list[i];
	qsort(sorted, count, sizeof(*sorted), bands_by_most);
	bands->count = MIN(count, HEAP_BANDS);
	memcpy(bands->chosen, sorted, bands->count * sizeof(*sorted));
	free(sorted);
	bands->others = (struct band){ .name = "[others]", .written = -1 };
	bands->chosen[bands->count++] = &bands->others;
	return true;
}

static void describe_bands(struct bands *bands)
{
	const struct heap_track *track = &bands->heap->track;
	static const char description[] =
		"a part of 'heap: bytes in use', by the function that "
		"allocated it";
	char name[NAME_BYTES];
	struct out_counter counter = {
		.parent = track->process_uuid,
		.name = name,
		.description = description,
		.unit = UNIT_BYTES,
		.multiplier = 1,
	};
	uint8_t packet[OUT_TRACK_BYTES];

	for (uint32_t i = 0; i < bands->count; i++) {
		snprintf(name, sizeof(name), "heap: in use by %s",
			 bands->chosen[i]->name);
		name[utf8_valid_bytes(name, strlen(name))] = '\0';
		bands->chosen[i]->uuid = counter.uuid = random_u64() | 1;
		trace_file_append_late(
			track->trace, OUT_SEQUENCE_GLOBAL, packet,
			out_track_counter(packet, sizeof(packet), &counter));
	}
}

/* Writes the values that have changed since the point before; with @all also
 * the others. */
static void write_point(struct bands *bands, const struct history_point *point,
			bool all)
{
	const struct heap *heap = &bands->heap->heap;
	const struct heap_track *track = &bands->heap->track;
	uint8_t packets[(HEAP_BANDS + 1) * PACKET_BYTES], *out = packets;
	uint64_t sum = 0;

	sum_bands(bands, point);
	bands->others.now = point->total;
	for (uint32_t i = 0; i + 1 < bands->count; i++)
		bands->others.now -= bands->chosen[i]->now;
	for (uint32_t i = 0; i < bands->count; i++) {
		struct band *band = bands->chosen[i];
		int64_t value = (int64_t)heap_round_next(heap, &sum, band->now);

		if (value != band->written || all)
			out += out_track_value(out, PACKET_BYTES,
					       track->sequence, band->uuid,
					       point->ns, value);
		band->written = value;
	}
	if (out != packets)
		trace_file_append_late(track->trace, track->sequence, packets,
				       (size_t)(out - packets));
}

void heap_bands_write(struct process_heap *heap)
{
	const struct recording_setup *setup = recording_setup(heap->recording);
	const struct heap_history *history = &heap->history;
	struct bands bands = { .heap = heap };

	if (history->count < 2 || setup->options->flight.on ||
	    setup->options->keep_last)
		return;
	pool_init(&bands.functions, setup->budget, sizeof(struct band),
		  sizeof(const char *));
	bands.function_of =
		calloc(history->places.count + 1, sizeof(*bands.function_of));
	for (uint32_t i = 0; bands.function_of && i < history->count; i++) {
		find_functions(&bands, &history->points[i]);
		sum_bands(&bands, &history->points[i]);
	}
	if (bands.function_of && choose_bands(&bands)) {
		describe_bands(&bands);
		for (uint32_t i = 0; i < history->count; i++)
			write_point(&bands, &history->points[i],
				    !i || i + 1 == history->count);
	}
	free(bands.function_of);
	pool_release(&bands.functions);
}
