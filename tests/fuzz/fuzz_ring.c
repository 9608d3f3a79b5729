/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_ring FILE... - takes each file for what a hostile program puts into a
 * ring: records of 16 bytes. One of kind 15 is not put in, but done. By the low
 * three bits of its payload (enum order) it moves the head by its clock, pauses
 * the recording at its clock or lets it go on, or changes the state of the
 * function that is the rest of its payload, at its clock. Ring and replay must
 * stay within their memory, and what they write must be a well-formed trace,
 * whatever comes.
 *
 * fuzz_ring -r SEED COUNT does that for COUNT inputs made up from SEED, and
 * leaves the one that fails in fuzz_ring.crash.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/replay/replay_inner.h"
#include "collector/replay/exact_calls.h"
#include "collector/replay/fibers.h"
#include "collector/replay/function_log.h"
#include "collector/replay/pause.h"
#include "collector/replay/ring_get.h"
#include "collector/trace/trace_file.h"
#include "proto/perfetto_trace.pb-c.h"
#include "shared/atomic.h"
#include "shared/record_ext.h"
#include "tests/random.h"

#define CELLS RING_CELLS_MIN
#define BUDGET (8 << 20)
#define INPUT_RECORDS 65536
#define START_NS 1000000
#define NOW_NS (START_NS + (1ULL << 40))
/* The kind of an input that is no record: what to do instead. */
#define KIND_ORDER 15
enum order {
	ORDER_MOVE = 0, /* and 2 */
	ORDER_PAUSE = 1, /* and 3 */
	ORDER_CONNECT = 4,
	ORDER_CONNECT_ENTRY = 5,
	ORDER_OFF = 6, /* a function that is off: on */
	ORDER_UNLOAD = 7, /* it and a few behind it */
	ORDERS = 8,
};
/* The thread's sequence; that of context N is N more. */
#define SEQUENCE 2

static const char *g_input; /* what is being tried */

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_ring: %s: %s\n", g_input, what);
	abort();
}

/* --- the trace that comes out
 * --------------------------------------------------- */

struct checker { /* of one track */
	uint32_t names; /* iids 1 to this are known */
	uint32_t open;
	uint64_t ns;
};

struct checkers {
	struct checker track[FIBERS_MAX + 1];
	uint32_t count;
	uint32_t blocks; /* taken and not given back */
	/* What fibers_run() gave to the sink. */
	uint64_t heap_records, extended_cells;
};

static void check_event(struct checker *checker,
			const Perfetto__Protos__TracePacket *packet)
{
	const Perfetto__Protos__TrackEvent *event = packet->track_event;

	must(event != NULL, "a packet without an event");
	must(packet->timestamp <= NOW_NS - checker->ns, "time beyond now");
	checker->ns += packet->timestamp;
	switch (event->type) {
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN:
		must(event->name || (event->name_iid &&
				     event->name_iid <= checker->names),
		     "a slice without a name");
		must(++checker->open <= REPLAY_SLICES_MAX, "too deep");
		break;
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END:
		must(checker->open-- > 0, "an end without a begin");
		break;
	default:
		must(event->name && event->name[0], "a nameless instant");
	}
}

static struct trace_block *take(void *context)
{
	struct trace_block *block = malloc(sizeof(*block));
	struct checkers *checkers = context;

	must(block, "out of memory");
	must(++checkers->blocks == 1, "a thread holds two blocks");
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
	must(number < checkers->count, "a block of no track");
	must(block->bytes <= TRACE_BLOCK_BYTES, "a block is too long");
	for (uint32_t i = 0; i < block->name_count; i++)
		must(block->names[i].iid == ++checker->names,
		     "names are not numbered from 1");
	trace = perfetto__protos__trace__unpack(NULL, block->bytes,
						block->data);
	must(trace, "no packets");
	for (size_t i = 0; i < trace->n_packet; i++)
		check_event(checker, trace->packet[i]);
	must((int32_t)checker->open - open == block->opened,
	     "a block has other slices than it says");
	perfetto__protos__trace__free_unpacked(trace, NULL);
	free(block);
}

static uint32_t open_track(void *context, uint32_t number, uint64_t start_ns)
{
	struct checkers *checkers = context;

	must(number == checkers->count && number <= FIBERS_MAX,
	     "contexts are not numbered from 1");
	checkers->track[number].ns = start_ns;
	checkers->count++;
	return SEQUENCE + number;
}

/* Something or other; sometimes too much to tell. */
static size_t unloaded(void *context, uint32_t after, uint32_t upto,
		       struct address_range *out, size_t room)
{
	size_t count = upto % 5, i;

	(void)context;
	must(after < upto, "generations go backwards");
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
	must(record_kind(word) == RECORD_ALLOC ||
		     record_kind(word) == RECORD_FREE,
	     "no block's record");
	checkers->heap_records++;
}

static int extended(void *context, struct replay *replay,
		    const struct record *cells, size_t count)
{
	struct checkers *checkers = context;

	(void)replay;
	must(count == 1 + record_ext_cells(cells[0].word), "cells");
	checkers->extended_cells += count;
	return 0;
}

/* --- the ring
 * ------------------------------------------------------------------- */

/*
 * The @count cells that were taken are whole records, and the sink got those
 * that are its.
 */
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
	must(at == count, "part of a record was taken");
	must(heap_records == checkers->heap_records, "heap records differ");
	must(extended_cells == checkers->extended_cells,
	     "cells of extended records differ");
}

/* What thread_drain() does. */
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
		must(count <= most, "more cells were taken than there are");
		if (!err)
			check_taken(cells, count, checkers, &before);
		if (!err && !count)
			err = -1;
		ring_get_consume(ring, count);
		ring_get_publish(ring);
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
	struct exact_calls exact[8];
	uint64_t calls = 0;

	for (uint32_t i = 0; i < checkers->count; i++)
		must(checkers->track[i].open == 0, "a slice without an end");
	for (uint64_t i = 0; i < 8; i++)
		exact[i] = (struct exact_calls){
			.address = i / 2 * 3,
			.generation = (uint32_t)i % 2 * 4,
			.calls = fibers->now_ns >> 8 * i,
		};
	/* Memory may be used up. */
	(void)exact_calls_set(fibers, exact, 8);
	fibers_each(fibers, add_calls, &calls);
	must(calls == fibers_counts(fibers).spans, "spans and calls differ");
}

/* Not before the time of the last change, *@last_ns. */
static void pause_or_go_on(struct pause_list *pauses, uint64_t ns,
			   uint64_t *last_ns)
{
	*last_ns = MAX(*last_ns, MIN(ns, NOW_NS));
	if (pause_changes(pauses) & 1)
		pause_end(pauses, *last_ns);
	else
		pause_begin(pauses, *last_ns);
}

/* An order that is about a function. */
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

/*
 * Puts @record in; before an extended one, mostly, what the shim pads the end
 * of the ring with. Returns how many cells are to follow.
 */
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

static void try_input(const struct record *input, size_t count)
{
	struct checkers checkers = { .track[0].ns = START_NS, .count = 1 };
	struct replay_sink sink = { take, give, excludes, &checkers };
	struct fibers_sink fibers_sink = { open_track, unloaded, block,
					   extended, &checkers };
	struct pause_list pauses = { 0 };
	struct budget budget = { BUDGET };
	struct record *cells = calloc(CELLS, sizeof(*cells));
	struct slot_shm slot = { 0 };
	struct ring_get ring;
	struct replay replay;
	struct fibers fibers;
	struct function_log *log = NULL;
	uint64_t pause_ns = 0;
	uint32_t more = 0; /* cells of data */
	size_t undrained = 0;
	bool good = true;

	must(cells &&
		     !replay_init(&replay, &sink, SEQUENCE, START_NS, NULL,
				  &pauses, &budget) &&
		     !fibers_init(&fibers, &fibers_sink, &replay) &&
		     !function_log_new(&log),
	     "cannot start");
	replay_set_function_log(&replay, log);
	ring_get_init(&ring, &slot, cells, CELLS);
	for (size_t i = 0; i < count && good; i++) {
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
		/* The head of a ring moves by whole records. */
		if ((++undrained >= 512 && !more) || i + 1 == count || moves) {
			good = drain(&ring, &fibers, &checkers) == 0;
			undrained = 0;
		}
	}
	fibers_finish(&fibers, 0);
	fibers_flush(&fibers);
	check_end(&fibers, &checkers);
	must(budget.left <= BUDGET, "more memory than there is");
	fibers_release(&fibers);
	replay_release(&replay);
	function_log_free(&log);
	must(budget.left == BUDGET, "memory is not given back");
	free(cells);
}

/* --- inputs
 * --------------------------------------------------------------------- */

/* How an input comes about. */
struct maker {
	uint64_t state, clock;
	uint32_t generation;
	unsigned int odd; /* of 256 records, those that are no begin or end */
	unsigned int steady; /* of so many records one changes a function */
};

/* The payload of a record that is no begin or end. */
static uint64_t make_up_payload(struct maker *maker, enum record_kind kind,
				uint64_t r)
{
	switch (kind) {
	case RECORD_TRUNC:
	case RECORD_WAIT:
	case RECORD_PAUSED:
		return r >> 56;
	case RECORD_FLOW:
		return record_flow_payload(
			(enum record_flow)((r >> 24) % 10),
			(r >> 28 & (r & 0x10000 ? 0x7 : 0x1ff)) * 8);
	case RECORD_MAP:
		maker->generation += r >> 24 & 1;
		return r >> 58 ? maker->generation : r >> 16;
	case RECORD_ALLOC:
	case RECORD_FREE:
		return r >> 16;
	case RECORD_EXT: /* of any sort; seldom longer than may be */
		return record_payload(record_ext_word(
			(enum record_ext)(r >> 24 & 63),
			(uint32_t)(r >> 30 & (r & 0x700	   ? 3
					      : r & 0xf800 ? 0xff
							   : EXT_CELLS_MAX)),
			(uint32_t)(r >> 58), 0));
	default:
		return r >> 8 & 0xfff;
	}
}

/* Like a program's, with a mistake now and then. */
static struct record make_up(struct maker *maker)
{
	uint64_t r = next_random(&maker->state);
	uint64_t payload = r >> 8 & (r & 0x10000 ? 0x7 : 0xfff);
	int kind = r & 1 ? RECORD_BEGIN : RECORD_END;
	struct record record;

	maker->clock += r >> 20 & 0xff;
	record.clock = START_NS + maker->clock;
	if ((r >> 32 & 0xff) < maker->odd) {
		kind = RECORD_BEGIN + (int)((r >> 40) % RECORD_FREE);
		payload = make_up_payload(maker, (enum record_kind)kind, r);
	}
	if ((r >> 52 & 0x3ff) == 0)
		record.clock = next_random(&maker->state);
	if ((r >> 48) % 4096 == 0) {
		kind = KIND_ORDER;
		payload = 0;
		record.clock = next_random(&maker->state) % 3 ? 0 : CELLS + 1;
	} else if ((r >> 48) % 1024 == 1) {
		kind = KIND_ORDER;
		payload = 1;
	} else if ((r >> 48) % maker->steady == 2) {
		/* Mostly a bit ahead, as it ought to be. */
		kind = KIND_ORDER;
		payload = payload * ORDERS +
			  (r & 0x20000 ? ORDER_OFF : 4 + (r >> 18) % 4);
		record.clock += (r >> 36) % 2048 - 256;
	}
	record.word =
		record_word((enum record_kind)kind, payload, r >> 44 & 0x3f0);
	return record;
}

static void save(const char *path, const struct record *input, size_t count)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	(void)!write(fd, input, count * sizeof(*input));
	close(fd);
}

static void try_random(uint64_t seed, uint64_t rounds)
{
	static struct record input[INPUT_RECORDS];

	g_input = "fuzz_ring.crash";
	for (uint64_t round = 0; round < rounds; round++) {
		struct maker maker = {
			.state = (seed + round) * 0x9e3779b97f4a7c15ULL | 1,
			.odd = round % 2 ? 6 : 64,
			.steady = round % 3 ? 40 : 2000,
		};
		size_t count = next_random(&maker.state) % INPUT_RECORDS + 1;

		for (size_t i = 0; i < count; i++)
			input[i] = make_up(&maker);
		save(g_input, input, count);
		try_input(input, count);
	}
	unlink(g_input);
	printf("fuzz_ring: %llu inputs from seed %llu\n",
	       (unsigned long long)rounds, (unsigned long long)seed);
}

static void try_file(const char *path)
{
	static struct record input[INPUT_RECORDS];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes;

	g_input = path;
	must(fd >= 0, "cannot open");
	bytes = read(fd, input, sizeof(input));
	close(fd);
	must(bytes >= 0, "cannot read");
	try_input(input, (size_t)bytes / sizeof(input[0]));
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "-r")) {
		try_random(strtoull(argv[2], NULL, 0),
			   strtoull(argv[3], NULL, 0));
		return 0;
	}
	for (int i = 1; i < argc; i++)
		try_file(argv[i]);
	return 0;
}
