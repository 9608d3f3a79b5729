/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_ring - the input is a hostile program's ring: records of 16 bytes. A
 * record of kind 15 is an order, not a record. The low three bits of its
 * payload (enum take_order) select: move the head by its clock, pause or resume
 * the recording at its clock, or change the state of the function in the rest
 * of the payload at its clock. An initial order 2 sets the minimum duration of
 * written calls to its clock. Ring and replay must stay within their memory,
 * the written trace must be well-formed, and each call must have a duration.
 */
#include <string.h>

#include "collector/base/budget.h"
#include "collector/replay/exact_calls.h"
#include "collector/replay/fibers.h"
#include "collector/replay/function_log.h"
#include "collector/replay/histograms.h"
#include "collector/replay/pause.h"
#include "collector/replay/replay_inner.h"
#include "collector/replay/ring_get.h"
#include "collector/trace/trace_file.h"
#include "proto/perfetto_trace.pb-c.h"
#include "shared/atomic.h"
#include "shared/record_ext.h"
#include "tests/fuzz/fuzz.h"
#include "tests/index_check.h"

#define CELLS RING_CELLS_MIN
#define BUDGET (8 << 20)
#define INPUT_RECORDS 65536
#define START_NS 1000000
#define NOW_NS (START_NS + (1ULL << 40))
/* The kind of orders in the input. */
#define KIND_ORDER 15
enum take_order {
	ORDER_MOVE = 0, /* and 2, except at the start */
	ORDER_MINIMUM = 2, /* at the start */
	ORDER_PAUSE = 1, /* and 3 */
	ORDER_CONNECT = 4,
	ORDER_CONNECT_ENTRY = 5,
	ORDER_OFF = 6, /* a function that is off: on */
	ORDER_UNLOAD = 7, /* unloads it and some neighbours */
	ORDERS = 8,
};
/* The thread's sequence; context N has SEQUENCE + N. */
#define SEQUENCE 2

/* --- the resulting trace ------------------------------------------------- */

struct checker { /* of one track */
	uint32_t names; /* iids from 1 are known */
	uint32_t open;
	uint64_t ns;
	struct index_check *index;
};

struct checkers {
	struct checker track[FIBERS_MAX + 1];
	uint32_t count;
	uint32_t blocks; /* taken and not returned */
	/* Data that the sink received from fibers_run(). */
	uint64_t position;
	uint64_t heap_records, extended_cells;
	uint64_t slices; /* begun calls */
};

static void check_event(struct checkers *checkers, struct checker *checker,
			const Perfetto__Protos__TracePacket *packet)
{
	const Perfetto__Protos__TrackEvent *event = packet->track_event;

	fuzz_must(event != NULL, "a packet without an event");
	fuzz_must(packet->timestamp <= NOW_NS - checker->ns, "time beyond now");
	checker->ns += packet->timestamp;
	switch (event->type) {
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN:
		fuzz_must(event->name || (event->name_iid &&
					  event->name_iid <= checker->names),
			  "a slice without a name");
		fuzz_must(++checker->open <= REPLAY_SLICES_MAX, "too deep");
		checkers->slices += !event->name;
		break;
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END:
		fuzz_must(checker->open-- > 0, "an end without a begin");
		break;
	default:
		fuzz_must(event->name && event->name[0], "a nameless instant");
	}
}

static struct trace_block *take(void *context)
{
	struct trace_block *block = malloc(sizeof(*block));
	struct checkers *checkers = context;

	fuzz_must(block, "out of memory");
	fuzz_must(++checkers->blocks == 1, "a thread holds two blocks");
	block->name_count = 0;
	return block;
}

static void give(void *context, struct trace_block *block)
{
	struct checkers *checkers = context;
	uint32_t number = block->sequence - SEQUENCE;
	struct checker *checker = &checkers->track[number];
	Perfetto__Protos__Trace *trace;
	int32_t open = (int32_t)checker->open;

	checkers->blocks--;
	fuzz_must(number < checkers->count, "a block of no track");
	fuzz_must(block->bytes <= TRACE_BLOCK_BYTES, "a block is too long");
	for (uint32_t i = 0; i < block->name_count; i++)
		fuzz_must(block->names[i].iid == ++checker->names,
			  "names are not numbered from 1");
	trace = perfetto__protos__trace__unpack(NULL, block->bytes,
						block->data);
	fuzz_must(trace, "no packets");
	index_check_begin(checker->index, block->index, block->index_bytes);
	for (size_t i = 0; i < trace->n_packet; i++) {
		check_event(checkers, checker, trace->packet[i]);
		index_check_event(checker->index, trace->packet[i]);
	}
	index_check_end(checker->index, block->index, block->index_bytes);
	fuzz_must((int32_t)checker->open - open == block->opened,
		  "a block reports wrong open slices");
	perfetto__protos__trace__free_unpacked(trace, NULL);
	free(block->index);
	free(block);
}

/* Pretends that the trace grows fast: each block gets a checkpoint, and every
 * fourth ends a chunk. */
static uint64_t position(void *context)
{
	struct checkers *checkers = context;

	return checkers->position += 5 << 20;
}

static uint32_t open_track(void *context, uint32_t number, uint64_t start_ns)
{
	struct checkers *checkers = context;

	fuzz_must(number == checkers->count && number <= FIBERS_MAX,
		  "contexts are not numbered from 1");
	checkers->track[number].ns = start_ns;
	checkers->track[number].index = index_check_new(start_ns);
	checkers->track[number].index->starved = true;
	checkers->count++;
	return SEQUENCE + number;
}

/* Returns some ranges, sometimes more than there is room for. */
static size_t unloaded(void *context, uint32_t after, uint32_t upto,
		       struct address_range *out, size_t room)
{
	size_t count = upto % 5, i;

	(void)context;
	fuzz_must(after < upto, "generations go backwards");
	for (i = 0; i < count; i++)
		out[i] = (struct address_range){ (upto + i) % 8 * 4,
						 (upto + i) % 8 * 4 + 7 };
	return upto % 11 ? count : room + 1;
}

static bool excludes(void *context, uint64_t function)
{
	(void)context;
	return function % 7 == 3;
}

static void block(void *context, struct replay *replay, uint64_t word,
		  uint64_t clock)
{
	struct checkers *checkers = context;

	(void)replay;
	(void)clock;
	fuzz_must(record_kind(word) == RECORD_ALLOC ||
			  record_kind(word) == RECORD_FREE,
		  "no block's record");
	checkers->heap_records++;
}

static int extended(void *context, struct replay *replay,
		    const struct record *cells, size_t count)
{
	struct checkers *checkers = context;

	(void)replay;
	fuzz_must(count == 1 + record_ext_cells(cells[0].word), "cells");
	checkers->extended_cells += count;
	return 0;
}

/* --- the ring ------------------------------------------------------------ */

/* The @count taken cells are whole records, and the sink received all of its
 * records. */
static void check_taken(const struct record *cells, size_t count,
			const struct checkers *checkers,
			const struct checkers *before)
{
	uint64_t heap_records = before->heap_records;
	uint64_t extended_cells = before->extended_cells;
	size_t at = 0, size;

	for (; at < count; at += size) {
		uint64_t word = cells[at].word;
		enum record_kind kind = record_kind(word);

		size = kind == RECORD_EXT ? 1 + record_ext_cells(word) : 1;
		if (kind == RECORD_EXT && record_ext(word) != EXT_PAD)
			extended_cells += size;
		heap_records += kind == RECORD_ALLOC || kind == RECORD_FREE;
	}
	fuzz_must(at == count, "part of a record was taken");
	fuzz_must(heap_records == checkers->heap_records,
		  "heap records differ");
	fuzz_must(extended_cells == checkers->extended_cells,
		  "cells of extended records differ");
}

/* Like thread_drain(). */
static int drain(struct ring_get *ring, struct fibers *fibers,
		 const struct checkers *checkers)
{
	const struct record *cells;
	size_t count;
	int err = 0;

	if (ring_get_look(ring) < 0)
		return -1;
	while (!err && (count = ring_get_run(ring, CELLS / 8, &cells))) {
		struct checkers before = *checkers;
		size_t most = count;

		err = fibers_run(fibers, cells, count, NOW_NS, &count);
		fuzz_must(count <= most, "fibers took too many cells");
		if (!err)
			check_taken(cells, count, checkers, &before);
		if (!err && !count)
			err = -1;
		ring_get_consume(ring, count);
		ring_get_publish(ring, NOW_NS);
	}
	fibers_flush(fibers);
	return err;
}

static void add_calls(void *context, struct replay *replay)
{
	uint64_t *calls = context;

	cct_sum(&replay->cct);
	for (struct cct_function *f = replay->cct.functions; f; f = f->next)
		*calls += f->calls;
}

static void check_end(struct fibers *fibers, const struct checkers *checkers)
{
	struct replay_counts counts = fibers_counts(fibers);
	struct exact_calls exact[8];
	uint64_t calls = 0;

	for (uint32_t i = 0; i < checkers->count; i++)
		fuzz_must(checkers->track[i].open == 0,
			  "a slice without an end");
	for (uint64_t i = 0; i < 8; i++)
		exact[i] = (struct exact_calls){
			.address = i / 2 * 3,
			.generation = (uint32_t)i % 2 * 4,
			.calls = fibers->now_ns >> 8 * i,
		};
	/* Memory may be used up. */
	(void)exact_calls_set(fibers, exact, 8);
	fibers_each(fibers, add_calls, &calls);
	fuzz_must(calls == counts.spans, "spans and calls differ");
	fuzz_must(checkers->slices + counts.folded_spans + counts.short_spans ==
			  counts.spans,
		  "spans and slices differ");
}

static void name_all(void *context, struct replay *replay)
{
	(void)context;
	for (struct cct_function *function = replay_tree(replay)->functions;
	     function; function = function->next)
		if (function->histogram)
			histograms_set_name(function->histogram, "f", "m");
}

static void add_durations(void *context, const char *name, const char *module,
			  struct histogram *histogram)
{
	uint64_t *total = context;

	(void)name;
	(void)module;
	*total += histogram_total(histogram) + histogram->missed;
}

/* Each call has a duration unless memory was used up. */
static void check_durations(struct fibers *fibers,
			    struct histograms *histograms,
			    const struct budget *budget)
{
	uint64_t total = 0, spans = fibers_counts(fibers).spans;

	if (!histograms)
		return;
	fibers_each(fibers, name_all, NULL);
	histograms_each(histograms, add_durations, &total);
	fuzz_must(budget->full_ns ? total <= spans : total == spans,
		  "durations and spans differ");
}

/* Never before the last change at *@last_ns. */
static void pause_or_go_on(struct pause_list *pauses, uint64_t ns,
			   uint64_t *last_ns)
{
	*last_ns = MAX(*last_ns, MIN(ns, NOW_NS));
	if (pause_changes(pauses) & 1)
		pause_end(pauses, *last_ns);
	else
		pause_begin(pauses, *last_ns);
}

static void change_function(struct function_log *log,
			    const struct record *order)
{
	uint64_t function = record_payload(order->word) / ORDERS;
	uint64_t ns = MIN(order->clock, NOW_NS);

	switch (record_payload(order->word) % ORDERS) {
	case ORDER_CONNECT:
		function_log_connect(log, function, false, ns);
		break;
	case ORDER_CONNECT_ENTRY:
		function_log_connect(log, function, true, ns);
		break;
	case ORDER_OFF:
		if (function_log_state(log, function, UINT64_MAX).off)
			function_log_on(log, function, ns);
		else
			function_log_off(log, function, ns);
		break;
	default:
		function_log_unload(log, function, function + 5, ns);
		break;
	}
}

/* Puts @record. Before an extended record, mostly pads the end of the ring like
 * the shim. Returns the number of cells that must follow. */
static uint32_t put(struct record *cells, struct slot_shm *slot,
		    const struct record *record)
{
	uint32_t more = record_kind(record->word) == RECORD_EXT
				? record_ext_cells(record->word)
				: 0;
	uint32_t left = CELLS - (uint32_t)(slot->head % CELLS);

	if (more >= left && record_ext_value(record->word) % 8 != 7) {
		cells[slot->head % CELLS].word =
			record_ext_word(EXT_PAD, left - 1, 0, 0);
		slot->head += left;
	}
	cells[slot->head++ % CELLS] = *record;
	return more;
}

/* Returns true if @first sets the minimum duration. */
static bool is_minimum(const struct record *first)
{
	return (int)record_kind(first->word) == KIND_ORDER &&
	       record_payload(first->word) % ORDERS == ORDER_MINIMUM;
}

static void try_input(const struct record *input, size_t count)
{
	struct checkers checkers = { .track[0].ns = START_NS, .count = 1 };
	struct replay_sink sink = {
		.take = take,
		.give = give,
		.excludes = excludes,
		.context = &checkers,
		.position = position,
	};
	struct fibers_sink fibers_sink = { open_track, unloaded,  block,
					   extended,   &checkers, NULL };
	struct pause_list pauses = { 0 };
	struct budget budget = { .left = BUDGET };
	struct record *cells = calloc(CELLS, sizeof(*cells));
	struct slot_shm slot = { 0 };
	struct ring_get ring;
	struct replay replay;
	struct fibers fibers;
	struct function_log *log = NULL;
	struct histograms *histograms = NULL;
	uint64_t pause_ns = 0;
	uint32_t more = 0; /* remaining cells of data */
	size_t undrained = 0;
	bool good = true, shortens = count && is_minimum(&input[0]);

	fuzz_must(cells &&
			  !replay_init(&replay, &sink, SEQUENCE, START_NS, NULL,
				       &pauses, &budget) &&
			  !fibers_init(&fibers, &fibers_sink, &replay) &&
			  !function_log_new(&log),
		  "cannot start");
	checkers.track[0].index = index_check_new(START_NS);
	checkers.track[0].index->starved = true;
	replay_set_function_log(&replay, log);
	fuzz_must(!histograms_new(unloaded, &checkers, &budget, &histograms),
		  "cannot start");
	replay_set_histograms(&replay, histograms);
	if (shortens)
		replay_set_min_duration(&replay, input[0].clock);
	ring_get_init(&ring, &slot, cells, CELLS, NULL);
	for (size_t i = shortens; i < count && good; i++) {
		bool order =
			!more && (int)record_kind(input[i].word) == KIND_ORDER;
		uint32_t data = 0;
		uint64_t what = record_payload(input[i].word) % ORDERS;
		bool moves = order && (what == 0 || what == 2);

		if (moves)
			slot.head += input[i].clock;
		else if (order && what >= ORDER_CONNECT)
			change_function(log, &input[i]);
		else if (order)
			pause_or_go_on(&pauses, input[i].clock, &pause_ns);
		else if (more)
			cells[slot.head++ % CELLS] = input[i];
		else
			data = put(cells, &slot, &input[i]);
		more = more ? more - 1 : data;
		/* A ring's head moves by whole records. */
		if ((++undrained >= 512 && !more) || i + 1 == count || moves) {
			good = drain(&ring, &fibers, &checkers) == 0;
			undrained = 0;
		}
	}
	fibers_finish(&fibers, 0);
	fibers_flush(&fibers);
	check_end(&fibers, &checkers);
	check_durations(&fibers, histograms, &budget);
	fuzz_must(budget.left <= BUDGET,
		  "more memory is free than at the start");
	fibers_release(&fibers);
	replay_release(&replay);
	function_log_free(&log);
	histograms_free(&histograms);
	fuzz_must(budget.left == BUDGET, "memory was not returned");
	for (uint32_t i = 0; i < checkers.count; i++)
		index_check_free(checkers.track[i].index);
	free(cells);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct record input[INPUT_RECORDS];
	size_t count = MIN(size / sizeof(*input), (size_t)INPUT_RECORDS);

	memcpy(input, data, count * sizeof(*input));
	try_input(input, count);
	return 0;
}
