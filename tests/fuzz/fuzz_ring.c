/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_ring FILE... - takes each file for what a hostile program puts into a
 * ring: records of 16 bytes. One of kind 15 is not put in, but moves the
 * head by its clock; one of kind 14 pauses the recording at its clock, or lets
 * it go on. Ring and replay must stay within their memory, and what they write
 * must be a well-formed trace, whatever comes.
 *
 * fuzz_ring -r SEED COUNT does that for COUNT inputs made up from SEED, and
 * leaves the one that fails in fuzz_ring.crash.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/fibers.h"
#include "collector/pause.h"
#include "collector/ring_get.h"
#include "collector/trace_file.h"
#include "proto/perfetto_trace.pb-c.h"
#include "shared/atomic.h"

#define CELLS RING_CELLS_MIN
#define BUDGET (8 << 20)
#define INPUT_RECORDS 65536
#define START_NS 1000000
#define NOW_NS (START_NS + (1ULL << 40))
/* The kinds of an input that are no records. */
#define KIND_PAUSE 14
#define KIND_HEAD 15
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
	(void)context;
	(void)replay;
	(void)word;
	(void)clock;
}

static int extended(void *context, struct replay *replay,
		    const struct record *cells, size_t count)
{
	(void)context;
	(void)replay;
	must(count == 1 + record_ext_cells(cells[0].word), "cells");
	return 0;
}

/* --- the ring
 * ------------------------------------------------------------------- */

/* What thread_drain() does. */
static int drain(struct ring_get *ring, struct fibers *fibers)
{
	const struct record *cells;
	size_t count;
	int err = 0;

	if (ring_get_look(ring) < 0)
		return -1;
	while (!err && (count = ring_get_run(ring, CELLS / 8, &cells))) {
		err = fibers_run(fibers, cells, count, NOW_NS, &count);
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
	uint64_t calls = 0;

	for (uint32_t i = 0; i < checkers->count; i++)
		must(checkers->track[i].open == 0, "a slice without an end");
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
	uint64_t pause_ns = 0;
	bool good = true;

	must(cells &&
		     !replay_init(&replay, &sink, SEQUENCE, START_NS, NULL,
				  &pauses, &budget) &&
		     !fibers_init(&fibers, &fibers_sink, &replay),
	     "cannot start");
	ring_get_init(&ring, &slot, cells, CELLS);
	for (size_t i = 0; i < count && good; i++) {
		enum record_kind kind = record_kind(input[i].word);

		if ((int)kind == KIND_HEAD)
			slot.head += input[i].clock;
		else if ((int)kind == KIND_PAUSE)
			pause_or_go_on(&pauses, input[i].clock, &pause_ns);
		else
			cells[slot.head++ % CELLS] = input[i];
		if (i % 512 == 511 || i + 1 == count || (int)kind == KIND_HEAD)
			good = drain(&ring, &fibers) == 0;
	}
	fibers_finish(&fibers, 0);
	fibers_flush(&fibers);
	check_end(&fibers, &checkers);
	must(budget.left <= BUDGET, "more memory than there is");
	fibers_release(&fibers);
	replay_release(&replay);
	must(budget.left == BUDGET, "memory is not given back");
	free(cells);
}

/* --- inputs
 * --------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* How an input comes about. */
struct maker {
	uint64_t state, clock;
	uint32_t generation;
	unsigned int odd; /* of 256 records, those that are no begin or end */
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
		kind = RECORD_BEGIN + (int)((r >> 40) % RECORD_PAUSED);
		payload = make_up_payload(maker, (enum record_kind)kind, r);
	}
	if ((r >> 52 & 0x3ff) == 0)
		record.clock = next_random(&maker->state);
	if ((r >> 48) % 4096 == 0) {
		kind = KIND_HEAD;
		record.clock = next_random(&maker->state) % 3 ? 0 : CELLS + 1;
	} else if ((r >> 48) % 1024 == 1) {
		kind = KIND_PAUSE;
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
