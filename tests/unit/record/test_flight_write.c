/* SPDX-License-Identifier: Apache-2.0
 *
 * test_flight_write - a snapshot of the flight recorder equals a cut of the
 * whole trace. Random threads produce everything with lasting effects: slices
 * with notes, counters, slices on tracks of their own. `SEED=n` runs one seed
 * alone.
 */
#include <pthread.h>

#include "collector/base/budget.h"
#include "collector/base/bytes.h"
#include "collector/base/protobuf.h"
#include "collector/cut/packet_window.h"
#include "collector/cut/trace_cut.h"
#include "collector/record/flight_write.h"
#include "collector/replay/replay_inner.h"
#include "collector/trace/fields.h"
#include "collector/trace/flight_memory.h"
#include "collector/trace/flight_share.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "tests/suite.h"

#define START_NS 1000000ULL
#define SEQUENCE 2
#define TRACKS 3
#define COUNTER_UUID 700
#define LANE_UUID 800
#define STEPS 3000

struct way {
	struct replay replay;
	bool flight;
};

static struct {
	struct way whole, flight;
	struct bytes trace;
	struct flight_share *share;
	struct flight_memory *memory;
	struct budget budget;
	uint64_t ns;
	uint32_t lane_open, random;
	struct {
		uint64_t word;
	} stack[64];
	uint32_t depth;
} * g;

static uint32_t any(uint32_t below)
{
	g->random = g->random * 1664525u + 1013904223u;
	return (g->random >> 8) % below;
}

/* --- paths of packets ---------------------------------------------------- */

static struct trace_block *take(void *context)
{
	struct trace_block *block = calloc(1, sizeof(*block));

	(void)context;
	ck_assert_ptr_nonnull(block);
	return block;
}

/* Packets that no replay makes. */
static void append(const uint8_t *packets, size_t bytes)
{
	ck_assert_uint_gt(bytes, 0);
	bytes_put(&g->trace, packets, bytes);
	flight_memory_take(g->memory,
			   &(struct flight_block){ .sequence = 1,
						   .data = packets,
						   .bytes = (uint32_t)bytes });
}

static void give(void *context, struct trace_block *block)
{
	const struct way *way = context;
	static uint8_t names[64 * 1024];
	size_t bytes = 0;

	for (uint32_t i = 0; i < block->name_count; i++) {
		char name[32];
		const struct out_name one = { block->names[i].iid, name };

		snprintf(name, sizeof(name), "function_%llu",
			 (unsigned long long)block->names[i].function);
		bytes +=
			out_perfetto_names(names + bytes, sizeof(names) - bytes,
					   block->sequence, &one, 1);
	}
	if (way->flight) {
		flight_memory_describe(g->memory, names, bytes);
		flight_memory_take(
			g->memory,
			&(struct flight_block){ .sequence = block->sequence,
						.compact = block->compact,
						.packets = block->packets,
						.ended = block->ended,
						.data = block->data,
						.bytes = block->bytes,
						.own_bytes = block->own_bytes,
						.last_ns = block->last_ns });
	} else {
		bytes_put(&g->trace, names, bytes);
		bytes_put(&g->trace, block->data, block->bytes);
	}
	free(block->index);
	free(block);
}

static bool excludes(void *context, uint64_t function)
{
	(void)context;
	(void)function;
	return false;
}

/* --- a thread ------------------------------------------------------------ */

/* Gives some begins a name of their own or an argument. */
static uint8_t describe(struct replay_note *note, struct replay *replay,
			uint64_t function, struct encode_event *event)
{
	static const uint8_t name[] = { 0xba, 1, 4, 'n', 'o', 't', 'e' };
	static const uint8_t argument[] = {
		0x22, 6, 0x32, 4, 'n', 'o', 't', 'e'
	};
	bool own = function % 3 == 0 && event->name_iid;

	(void)note;
	(void)replay;
	event->fields = own ? name : argument;
	event->field_bytes = own ? sizeof(name) : sizeof(argument);
	if (own)
		event->name_iid = 0;
	return 0;
}

static struct replay_note g_note = { describe };

static void both(void (*what)(struct replay *replay, const struct record *cell),
		 const struct record *cell)
{
	what(&g->whole.replay, cell);
	what(&g->flight.replay, cell);
}

static void run(struct replay *replay, const struct record *cell)
{
	size_t taken;

	ck_assert_int_eq(replay_run(replay, cell, 1, UINT64_MAX, &taken), 0);
	ck_assert_uint_eq(taken, 1);
}

static void run_noted(struct replay *replay, const struct record *cell)
{
	replay_set_note(replay, &g_note);
	run(replay, cell);
	replay_set_note(replay, NULL);
}

static void flush(struct replay *replay, const struct record *cell)
{
	(void)cell;
	replay_flush(replay);
}

static void mark(struct replay *replay, const struct record *cell)
{
	replay_instant(replay, cell->clock, "mark", 0, false);
}

static void step_call(void)
{
	bool begins = !g->depth || (g->depth < 60 && any(100) < 50);
	uint64_t word =
		begins ? record_word(RECORD_BEGIN, 1 + any(9),
				     0x9000 - 64 * (g->depth + 1))
		       : g->stack[g->depth].word ^ (RECORD_BEGIN ^ RECORD_END);
	const struct record cell = { word, g->ns };

	if (begins)
		g->stack[++g->depth].word = word;
	else
		g->depth--;
	both(any(12) ? run : run_noted, &cell);
}

/* A counter or a slice on its own track, in packets of sequence 3. */
static void step_track(void)
{
	uint8_t packet[512];
	uint32_t lane = any(TRACKS), open = g->lane_open >> lane & 1;
	struct encoder encoder;
	uint8_t uuid[16] = { TAG_TRACK_EVENT_TRACK_UUID };
	uint64_t track = LANE_UUID + lane;
	/* The uuid is a varint of two bytes. */
	const struct encode_event event = { .type = open ? OUT_END : OUT_BEGIN,
					    .absolute = true,
					    .fields = uuid,
					    .field_bytes = 3 };

	if (any(2)) {
		append(packet,
		       out_track_value(packet, sizeof(packet), 3,
				       COUNTER_UUID + lane, g->ns, any(100)));
		return;
	}
	uuid[1] = (uint8_t)(track | 0x80);
	uuid[2] = (uint8_t)(track >> 7);
	encoder_init(&encoder, 4, 0);
	encoder.out = packet;
	encode_event(&encoder, g->ns, &event);
	append(packet, (size_t)(encoder.out - packet));
	g->lane_open ^= 1u << lane;
}

static void step(void)
{
	const struct record now = { 0, g->ns };

	switch (any(40)) {
	case 0:
		both(flush, NULL);
		break;
	case 1:
		both(mark, &now);
		break;
	case 2:
		step_track();
		break;
	default:
		step_call();
	}
	g->ns += any(20) ? any(300) : any(20000);
}

static void describe_tracks(void)
{
	static uint8_t packet[OUT_TRACK_BYTES];
	const struct out_process process = { .uuid = 100,
					     .pid = 10,
					     .name = "program" };
	const struct out_thread thread = { .uuid = 101,
					   .sequence = SEQUENCE,
					   .pid = 10,
					   .tid = 10,
					   .name = "thread",
					   .start_ns = START_NS };

	append(packet, out_perfetto_preamble(
			       packet, sizeof(packet),
			       &(struct out_clocks){ .boottime = START_NS },
			       (const uint8_t[16]){ 1 }, NULL, 0));
	append(packet, out_perfetto_process(packet, sizeof(packet), &process));
	append(packet, out_perfetto_thread(packet, sizeof(packet), &thread));
	append(packet, out_track_sequence(packet, sizeof(packet), 3));
	append(packet, out_track_sequence(packet, sizeof(packet), 4));
	for (uint32_t i = 0; i < TRACKS; i++) {
		const struct out_counter counter = { .uuid = COUNTER_UUID + i,
						     .parent = 100,
						     .name = "counter" };
		const struct out_track lane = { .uuid = LANE_UUID + i,
						.parent = 100,
						.name = "lane" };

		append(packet,
		       out_track_counter(packet, sizeof(packet), &counter));
		append(packet, out_track_track(packet, sizeof(packet), &lane));
	}
}

static void start_way(struct way *way, bool flight, uint32_t sequence)
{
	const struct replay_sink sink = { .take = take,
					  .give = give,
					  .excludes = excludes,
					  .context = way,
					  .restart_ns = flight ? 20000 : 0 };

	way->flight = flight;
	ck_assert_int_eq(replay_init(&way->replay, &sink, sequence, START_NS,
				     NULL, NULL, &g->budget),
			 0);
}

static void start(uint32_t seed, uint64_t bytes, uint64_t keep_ns)
{
	g = calloc(1, sizeof(*g));
	g->random = seed;
	g->ns = START_NS;
	g->budget.left = 64 << 20;
	ck_assert_int_eq(flight_share_new(bytes, &g->share), 0);
	ck_assert_int_eq(flight_memory_new(g->share, keep_ns, &g->memory), 0);
	start_way(&g->whole, false, SEQUENCE);
	start_way(&g->flight, true, SEQUENCE);
	describe_tracks();
}

static void stop(void)
{
	replay_release(&g->whole.replay);
	replay_release(&g->flight.replay);
	flight_memory_free(&g->memory);
	flight_share_free(&g->share);
	bytes_release(&g->trace);
	free(g);
}

/* --- comparing ----------------------------------------------------------- */

static struct packet_window_totals cut(uint64_t from, uint64_t to, FILE *out)
{
	struct packet_window_totals totals;
	struct cut_range range = { from, to };
	const struct cut_ranges ranges = { &range, 1, 1 };
	struct trace_cut_wish about = { .of = "test", .ranges = &ranges };
	struct wire left = { .at = g->trace.at,
			     .end = g->trace.at + g->trace.count };
	struct packet_window *window;
	struct wire_field field;
	struct cut_file file;

	ck_assert_int_eq(cut_file_begin(&file, out, false), 0);
	ck_assert_int_eq(packet_window_new(&ranges, &file, NULL, &window), 0);
	while (wire_next(&left, &field))
		packet_window_take(window, &(struct trace_packet_bytes){
						   field.bytes, field.value });
	packet_window_end(window);
	totals = packet_window_totals(window);
	/* Times of a snapshot count from its first call. */
	about.origin_ns = totals.begin_ns ?: from;
	trace_cut_put_about(&about, &file);
	packet_window_free(&window);
	ck_assert_int_eq(cut_file_end(&file), 0);
	return totals;
}

struct line {
	const uint8_t *at;
	size_t bytes;
};

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	int order =
		memcmp(a->at, b->at, a->bytes < b->bytes ? a->bytes : b->bytes);

	return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* Sorts the packets. Equal lines imply an equal order in each sequence, because
 * a packet's time is a step from the one before. */
static size_t lines_of(const char *text, size_t bytes, struct line *lines)
{
	struct wire left = { .at = (const uint8_t *)text,
			     .end = (const uint8_t *)text + bytes };
	struct wire_field field;
	size_t count = 0;

	while (wire_next(&left, &field))
		lines[count++] = (struct line){ field.bytes, field.value };
	qsort(lines, count, sizeof(*lines), compare_lines);
	return count;
}

static void check_asked(uint64_t asked, uint64_t from, uint64_t to)
{
	static struct line ours[1 << 16], theirs[1 << 16];
	char *cut_text, *flight_text;
	size_t cut_bytes, flight_bytes, count;
	FILE *cut_file = open_memstream(&cut_text, &cut_bytes);
	FILE *flight_file = open_memstream(&flight_text, &flight_bytes);
	const struct flight_wish wish = {
		.memory = g->memory, .from_ns = asked, .to_ns = to, .of = "test"
	};
	struct packet_window_totals totals;
	struct flight_result result;

	totals = cut(from, to, cut_file);
	ck_assert_int_eq(flight_write(&wish, flight_file, &result), 0);
	fclose(cut_file);
	fclose(flight_file);
	ck_assert_uint_le(result.kept_from_ns, from);
	ck_assert_int_eq(totals.begin_ns != 0, totals.slices != 0);
	if (totals.slices)
		ck_assert(totals.begin_ns >= from && totals.begin_ns < to);
	ck_assert_uint_eq(result.totals.slices, totals.slices);
	ck_assert_uint_eq(result.totals.clipped, totals.clipped);
	ck_assert_uint_eq(result.totals.threads, totals.threads);
	ck_assert_uint_eq(result.totals.lost, totals.lost);
	ck_assert_uint_eq(result.totals.bad_events, totals.bad_events);
	count = lines_of(cut_text, cut_bytes, ours);
	ck_assert_uint_eq(lines_of(flight_text, flight_bytes, theirs), count);
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(!compare_lines(&ours[i], &theirs[i]),
			      "range %llu to %llu, packet %zu of %zu differs",
			      (unsigned long long)(from - START_NS),
			      (unsigned long long)(to - START_NS), i, count);
	free(cut_text);
	free(flight_text);
}

static void check_range(uint64_t from, uint64_t to)
{
	check_asked(from, from, to);
}

static uint64_t first_ns(void)
{
	struct flight_reach reach;

	flight_memory_reach(g->memory, &reach);
	return reach.first_ns > START_NS ? reach.first_ns : START_NS;
}

static void try_seed(uint32_t seed)
{
	/* No limit, a limit of time, or a limit of memory. */
	uint64_t keep = seed % 3 == 1 ? 100000 : 1ULL << 40;

	start(seed, seed % 3 == 2 ? 20000 : 1 << 30, keep);
	for (int i = 0; i < STEPS; i++) {
		uint64_t from, to;

		step();
		if (any(300))
			continue;
		both(flush, NULL);
		from = first_ns() + any((uint32_t)(g->ns - START_NS) + 1);
		to = from + 1 + any(3) * any(100000);
		check_range(from, to);
	}
	replay_finish(&g->whole.replay, g->ns);
	replay_finish(&g->flight.replay, g->ns);
	both(flush, NULL);
	check_range(first_ns(), g->ns + 1);
	/* Data lost by one thread is shown for no thread. */
	check_asked(START_NS, first_ns(), g->ns + 1);
	stop();
}

TEST(flight_writes_what_a_cut_of_the_whole_trace_has, SLOW)
{
	const char *seed = getenv("SEED");

	if (seed)
		try_seed((uint32_t)atoi(seed));
	for (uint32_t i = 0; !seed && i < 30; i++)
		try_seed(i);
}

static void *look_on(void *end)
{
	uint64_t slices = 0;

	do {
		struct flight_reach reach;
		struct flight_wish wish = { .memory = g->memory, .of = "test" };
		struct flight_result result;
		char *text;
		size_t bytes;
		FILE *file = open_memstream(&text, &bytes);

		flight_memory_reach(g->memory, &reach);
		wish.from_ns = reach.first_ns;
		wish.to_ns = MAX(reach.last_ns, reach.first_ns) + 1;
		ck_assert_int_eq(flight_write(&wish, file, &result), 0);
		fclose(file);
		free(text);
		ck_assert_uint_eq(result.totals.bad_events, 0);
		slices += result.totals.slices;
		/* order: acq, END: a test's own */
	} while (!atom_load_acq((int *)end));
	ck_assert_uint_gt(slices, 0);
	return NULL;
}

TEST(flight_memory_is_written_while_it_is_looked_at, SLOW)
{
	pthread_t thread;
	int end = 0;

	start(2, 60000, 1ULL << 40);
	for (int i = 0; i < 2000; i++)
		step();
	both(flush, NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, look_on, &end), 0);
	for (int i = 0; i < 30000; i++) {
		step();
		if (any(50))
			continue;
		both(flush, NULL);
		bytes_clear(&g->trace);
	}
	/* order: rel, END */
	atom_store_rel(&end, 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	stop();
}

TEST(flight_memory_stays_near_its_limit, SLOW)
{
	struct flight_reach reach;
	uint64_t most = 0;

	start(1, 300000, 1ULL << 40);
	for (int i = 0; i < 200000; i++) {
		step();
		if (any(100))
			continue;
		both(flush, NULL);
		bytes_clear(&g->trace);
		flight_memory_reach(g->memory, &reach);
		most = reach.bytes > most ? reach.bytes : most;
	}
	/* The last segment of each sequence is always kept. */
	ck_assert_uint_lt(most, 300000 + 5 * 40000);
	ck_assert_uint_gt(most, 250000);
	ck_assert_uint_eq(reach.lost, 0);
	ck_assert_uint_gt(reach.first_ns, START_NS);
	stop();
}

/* Flushes before the end, as the end of a thread is often known late. */
static void run_short_thread(uint32_t sequence)
{
	const struct record begin = { record_word(RECORD_BEGIN, 1, 0x8000),
				      g->ns };
	const struct record end = { record_word(RECORD_END, 1, 0x8000),
				    g->ns + 10 };
	struct way way;

	start_way(&way, true, sequence);
	run(&way.replay, &begin);
	run(&way.replay, &end);
	replay_flush(&way.replay);
	replay_finish(&way.replay, g->ns + 20);
	replay_flush(&way.replay);
	replay_release(&way.replay);
	g->ns += 100;
}

TEST(threads_that_have_ended_are_forgotten, SLOW)
{
	struct flight_reach reach;

	start(1, 100000, 1ULL << 40);
	for (uint32_t i = 0; i < 5000; i++)
		run_short_thread(SEQUENCE + 3 + i);
	flight_memory_reach(g->memory, &reach);
	ck_assert_uint_le(reach.bytes, 100000);
	ck_assert_uint_gt(reach.bytes, 50000);
	ck_assert_uint_eq(reach.lost, 0);
	stop();
}

static void check_idle(uint64_t from, uint32_t threads)
{
	const struct flight_wish wish = { .memory = g->memory,
					  .from_ns = from,
					  .to_ns = g->ns,
					  .of = "test" };
	struct flight_result result;
	char *text;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	ck_assert_int_eq(flight_write(&wish, file, &result), 0);
	fclose(file);
	free(text);
	ck_assert_uint_ge(result.totals.clipped, threads);
	ck_assert_uint_eq(result.totals.bad_events, 0);
}

static void run_idle_thread(uint32_t sequence, struct way *way)
{
	uint8_t packet[512];
	const struct out_thread thread = { .uuid = 1000 + sequence,
					   .sequence = sequence,
					   .pid = 10,
					   .tid = 10 + (pid_t)sequence,
					   .start_ns = START_NS };

	append(packet, out_perfetto_thread(packet, sizeof(packet), &thread));
	start_way(way, true, sequence);
	for (uint32_t i = 0; i < 1500; i++) {
		const struct record cell = {
			record_word(!i || i % 2 ? RECORD_BEGIN : RECORD_END,
				    i ? 2 : 1, i ? 0x7000 : 0x8000),
			g->ns + i
		};

		run(&way->replay, &cell);
	}
	replay_flush(&way->replay);
}

TEST(threads_that_do_nothing_leave_the_memory_to_others, SLOW)
{
	enum { THREADS = 200 };
	static struct way idle[THREADS];
	struct flight_reach reach;
	uint64_t from_ns;

	start(1, 600000, 1000000);
	for (uint32_t i = 0; i < THREADS; i++)
		run_idle_thread(SEQUENCE + 3 + i, &idle[i]);
	g->ns += 2000;
	from_ns = g->ns + 500000;
	while (g->ns < from_ns + 500000) {
		step_call();
		g->ns += 100;
		if (!any(100))
			both(flush, NULL);
	}
	both(flush, NULL);
	flight_memory_reach(g->memory, &reach);
	ck_assert_uint_le(reach.bytes, 600000);
	ck_assert_uint_eq(reach.lost, 0);
	ck_assert_uint_le(reach.first_ns, from_ns);
	check_idle(from_ns, THREADS);
	for (uint32_t i = 0; i < THREADS; i++)
		replay_release(&idle[i].replay);
	stop();
}
