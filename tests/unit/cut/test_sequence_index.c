/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_index: tests/index_check.h compares the items with the packets that
 * they describe. tests/e2e/trace/reindex.sh has real recordings.
 */
#include "collector/cut/sequence_index.h"

#include "collector/base/budget.h"
#include "collector/read/time_gaps.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "tests/index_check.h"
#include "tests/suite.h"

#define START_NS 1000000000ULL
#define SEQUENCE 5
#define TRACK 22
#define NAMES 6
#define DEPTH_MAX 40
#define BLOCK_EVENTS 300
/* Lets a chunk end after some blocks. */
#define BLOCK_BYTES (5u << 20)

static uint8_t g_packets[BLOCK_EVENTS * 256];
static size_t g_bytes;
static struct encoder g_encoder;
static uint32_t g_depth;
static uint64_t g_ns;
static uint64_t g_begin_ns[2048];

static void put_event(const struct out_event *event)
{
	struct out_event out = *event;

	out.sequence = SEQUENCE;
	out.delta_ns = g_ns - g_encoder.last_ns;
	g_encoder.out += out_perfetto_event(g_encoder.out, 256, &out);
	g_encoder.last_ns = g_ns;
}

static void put_begin(uint32_t iid)
{
	struct encode_template begin = encode_template(&g_encoder, iid);

	encode_begin(&g_encoder, g_ns, &begin);
	g_begin_ns[g_depth++] = g_ns;
}

/* Some ends report waits of the program. */
static void put_end(void)
{
	uint64_t ns = g_ns - g_begin_ns[--g_depth];
	const struct encode_event waited = {
		.type = TYPE_SLICE_END,
		.waited_ns = (uint64_t)random() % (ns + 1),
	};

	if (random() % 20)
		encode_end(&g_encoder, g_ns);
	else
		encode_event(&g_encoder, g_ns, &waited);
}

static void put_noted(void)
{
	static const uint8_t argument[] = { 0x22, 0x04, 0x52, 0x02, 'a', 'b' };
	const struct encode_event event = {
		.type = TYPE_SLICE_BEGIN,
		.name_iid = (uint32_t)(1 + random() % NAMES) | ENCODE_LOCATION,
		.fields = argument,
		.field_bytes = sizeof(argument),
	};

	encode_event(&g_encoder, g_ns, &event);
	g_begin_ns[g_depth++] = g_ns;
}

static void put_counter(void)
{
	static const uint8_t fields[] = { 0x58, 0x63, 0xf0, 0x01, 0x07 };
	const struct encode_event event = { .type = 4,
					    .absolute = true,
					    .fields = fields,
					    .field_bytes = sizeof(fields) };

	encode_event(&g_encoder, START_NS + (uint64_t)random() % 1000, &event);
}

static void put_wait(void)
{
	const struct out_event begin = { .type = OUT_BEGIN,
					 .name = INDEX_WAIT_NAME };

	put_event(&begin);
	g_ns += (uint64_t)random() % 50;
	encode_end(&g_encoder, g_ns);
}

static void put_mark(const char *key)
{
	const struct out_attribute count = { .key = key,
					     .number = random() % 9 };
	const struct out_event mark = { .type = OUT_INSTANT,
					.name = "some",
					.arguments = &count,
					.argument_count = 1 };

	put_event(&mark);
}

static void put_any(void)
{
	int what = (int)(random() % 100);

	g_ns += (uint64_t)random() % 300;
	if (what == 0)
		put_wait();
	else if (what == 1)
		put_mark(TIME_GAP_LOST_NAME);
	else if (what == 2)
		put_mark(TIME_GAP_PAUSED_NAME);
	else if (what == 3)
		put_counter();
	else if (what == 4 && g_depth < DEPTH_MAX)
		put_noted();
	else if (what < 52 && g_depth < DEPTH_MAX)
		put_begin((uint32_t)(1 + random() % NAMES));
	else if (g_depth)
		put_end();
}

static struct wire next_packet(struct wire *from)
{
	struct wire_field field;

	ck_assert(wire_next(from, &field));
	return wire_of(&field);
}

static void take(struct sequence_index *sequence, struct wire packet)
{
	if (!sequence_index_usual(sequence, packet))
		sequence_index_event(sequence, packet);
}

static void check_packets(struct index_check *check)
{
	struct wire all = { g_packets, g_packets + g_bytes };

	while (all.at < all.end) {
		struct wire fields = next_packet(&all);
		Perfetto__Protos__TracePacket *packet =
			perfetto__protos__trace_packet__unpack(
				NULL, (size_t)(fields.end - fields.at),
				fields.at);

		ck_assert_ptr_nonnull(packet);
		index_check_event(check, packet);
		perfetto__protos__trace_packet__free_unpacked(packet, NULL);
	}
}

static void begin_packets(void)
{
	g_encoder.out = g_packets;
}

static void take_packets(struct sequence_index *sequence)
{
	struct wire all;

	g_bytes = (size_t)(g_encoder.out - g_packets);
	ck_assert_uint_le(g_bytes, sizeof(g_packets));
	all = (struct wire){ g_packets, g_packets + g_bytes };
	while (all.at < all.end)
		take(sequence, next_packet(&all));
}

static struct sequence_index *start(struct budget *budget)
{
	struct sequence_index *sequence;

	encoder_init(&g_encoder, SEQUENCE, START_NS);
	g_ns = START_NS;
	g_depth = 0;
	ck_assert_int_eq(sequence_index_new(SEQUENCE, TRACK, START_NS, budget,
					    &sequence),
			 0);
	return sequence;
}

static size_t block(struct sequence_index *sequence, uint64_t at, bool last,
		    const void **items)
{
	sequence_index_begin_block(sequence, at);
	take_packets(sequence);
	ck_assert(sequence_index_may_end(sequence));
	return sequence_index_end_block(sequence, at + g_bytes, last, items);
}

static void check_block(struct sequence_index *sequence,
			struct index_check *check, uint64_t at, bool last)
{
	const void *items = NULL;
	size_t bytes = block(sequence, at, last, &items);

	index_check_begin(check, items, bytes);
	check_packets(check);
	index_check_end(check, items, bytes);
}

static void follow(unsigned int seed)
{
	struct budget budget = { .left = 64u << 20 };
	struct sequence_index *sequence = start(&budget);
	struct index_check *check = index_check_new(START_NS);
	uint64_t at = 0;

	srandom(seed);
	for (int i = 0; i < 100; i++, at += BLOCK_BYTES) {
		begin_packets();
		for (long j = random() % (BLOCK_EVENTS / 2); j >= 0; j--)
			put_any();
		check_block(sequence, check, at, false);
	}
	begin_packets();
	while (g_depth)
		put_end();
	check_block(sequence, check, at, true);
	ck_assert(!sequence_index_is_open(sequence));
	ck_assert(!sequence->given_up);
	ck_assert_uint_gt(check->chunks, 5);
	ck_assert_uint_gt(check->checkpoints, 20);
	ck_assert_uint_eq(check->rough, 0);
	ck_assert_uint_eq(check->ends, 1);
	index_check_free(check);
	sequence_index_free(&sequence);
	ck_assert_uint_eq(budget.left, 64u << 20);
}

TEST(items_say_what_packets_say)
{
	for (unsigned int seed = 1; seed <= 20; seed++)
		follow(seed);
}

static int count_items(const void *items, size_t bytes, enum index_kind kind)
{
	struct index_get get = index_check_items(items, bytes), payload;
	uint32_t found;
	int count = 0;

	while ((found = index_get_item(&get, &payload)))
		count += found == kind;
	return count;
}

/* Readers have a checkpoint, although later items are omitted. */
static void check_given_up(struct sequence_index *sequence, const void *items,
			   size_t bytes)
{
	ck_assert(sequence->given_up);
	ck_assert_int_eq(count_items(items, bytes, INDEX_CHECKPOINT), 1);
	ck_assert_int_eq(count_items(items, bytes, INDEX_CHUNK), 0);
	begin_packets();
	put_begin(1);
	put_end();
	ck_assert_uint_eq(block(sequence, 1u << 30, true, &items), 0);
	ck_assert_uint_eq(sequence->last_ns, g_ns);
	sequence_index_free(&sequence);
}

TEST(what_perfrec_does_not_write_ends_the_items)
{
	/* TrackEvent fields of a packet that ends with a time. */
	static const struct encode_event strange[] = {
		/* An end with an absolute time. */
		{ .type = TYPE_SLICE_END, .absolute = true },
		/* A slice without a name. */
		{ .type = TYPE_SLICE_BEGIN },
		/* A slice that names its own track. */
		{ .type = TYPE_SLICE_BEGIN,
		  .name_iid = 1,
		  .fields = (const uint8_t *)"\x58\x16",
		  .field_bytes = 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(strange); i++) {
		struct budget budget = { .left = 1u << 20 };
		struct sequence_index *sequence = start(&budget);
		const void *items;
		size_t bytes;

		begin_packets();
		put_begin(1);
		encode_event(&g_encoder, g_ns, &strange[i]);
		bytes = block(sequence, 0, false, &items);
		check_given_up(sequence, items, bytes);
		ck_assert_uint_eq(budget.left, 1u << 20);
	}
}

/* Such slices have absolute times, and deltas ignore them. */
TEST(slices_may_be_open_at_first)
{
	static const struct encode_event open = { .type = TYPE_SLICE_BEGIN,
						  .name_iid = 1,
						  .absolute = true };
	struct budget budget = { .left = 1u << 20 };
	struct sequence_index *sequence = start(&budget);
	uint64_t start_ns = g_ns;
	const void *items;

	begin_packets();
	encode_event(&g_encoder, g_ns + 500, &open);
	encode_event(&g_encoder, g_ns + 500, &open);
	block(sequence, 0, false, &items);
	ck_assert(!sequence->given_up);
	ck_assert_uint_eq(sequence->ns, start_ns);
	ck_assert_int_eq(sequence->top - sequence->stack, 2);
	ck_assert_uint_eq(sequence->top->begin_ns, start_ns + 500);
	begin_packets();
	g_ns += 700;
	encode_end(&g_encoder, g_ns);
	block(sequence, 0, false, &items);
	ck_assert(!sequence->given_up);
	ck_assert_uint_eq(sequence->ns, start_ns + 700);
	/* Absolute begins are valid only at the start. */
	begin_packets();
	encode_event(&g_encoder, g_ns + 1, &open);
	block(sequence, 0, false, &items);
	ck_assert(sequence->given_up);
	sequence_index_free(&sequence);
}

TEST(too_deep_a_stack_ends_the_items)
{
	struct budget budget = { .left = 8u << 20 };
	struct sequence_index *sequence = start(&budget);
	const void *items;
	size_t bytes;

	begin_packets();
	for (int i = 0; i < 1100; i++)
		put_begin(2);
	bytes = block(sequence, 0, false, &items);
	check_given_up(sequence, items, bytes);
}

TEST(a_slice_within_a_wait_ends_the_items)
{
	const struct out_event wait = { .type = OUT_BEGIN,
					.name = INDEX_WAIT_NAME };
	struct budget budget = { .left = 1u << 20 };
	struct sequence_index *sequence = start(&budget);
	const void *items;
	size_t bytes;

	begin_packets();
	put_event(&wait);
	sequence_index_begin_block(sequence, 0);
	take_packets(sequence);
	ck_assert(!sequence_index_may_end(sequence));
	ck_assert(sequence_index_is_open(sequence));
	begin_packets();
	put_begin(1);
	take_packets(sequence);
	bytes = sequence_index_end_block(sequence, 100, false, &items);
	check_given_up(sequence, items, bytes);
}

TEST(without_memory_readers_find_the_begin)
{
	for (uint64_t left = 0; left < 40000; left += 1500) {
		struct budget budget = { .left = left };
		struct sequence_index *sequence = start(&budget);
		const void *items;
		size_t bytes;

		begin_packets();
		for (uint32_t i = 0; i < 500; i++)
			put_begin(i + 1);
		bytes = block(sequence, 0, false, &items);
		check_given_up(sequence, items, bytes);
		ck_assert_uint_eq(budget.left, left);
	}
}

TEST(an_end_without_a_begin_is_left_out)
{
	struct budget budget = { .left = 1u << 20 };
	struct sequence_index *sequence = start(&budget);
	const void *items;
	size_t bytes;

	begin_packets();
	g_ns += 7;
	encode_end(&g_encoder, g_ns);
	put_begin(1);
	g_ns += 5;
	put_end();
	bytes = block(sequence, 0, true, &items);
	ck_assert(!sequence->given_up);
	ck_assert_int_eq(count_items(items, bytes, INDEX_CHUNK), 1);
	ck_assert_int_eq(count_items(items, bytes, INDEX_SEQUENCE_END), 1);
	ck_assert_uint_eq(sequence->spans, 1);
	sequence_index_free(&sequence);
}
