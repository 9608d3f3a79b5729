/* SPDX-License-Identifier: Apache-2.0
 *
 * test_flight_share - recordings that share memory: the largest one gives way,
 * and none loses data below its share.
 */
#include <pthread.h>

#include "collector/base/bytes.h"
#include "collector/base/clock.h"
#include "collector/base/protobuf.h"
#include "collector/trace/fields.h"
#include "collector/trace/flight_memory_inner.h"
#include "collector/trace/flight_share.h"
#include "collector/trace/flight_view.h"
#include "collector/trace/packet_look.h"
#include "tests/suite.h"

#define SHARE_BYTES 1000000
#define LONG_NS (UINT64_C(1) << 40)
/* Tolerance: a segment and one step of giving way. */
#define ABOUT 100000

static struct flight_share *g_share;

static struct flight_memory *join(uint64_t keep_ns)
{
	struct flight_memory *memory;

	ck_assert_int_eq(flight_memory_new(g_share, keep_ns, &memory), 0);
	return memory;
}

static void begin(void)
{
	ck_assert_int_eq(flight_share_new(SHARE_BYTES, &g_share), 0);
}

static void end(void)
{
	flight_share_free(&g_share);
}

/* @ns 0: a packet without an event. */
static struct bytes packet_on(uint32_t sequence, uint64_t ns, size_t count)
{
	static const uint8_t text[4096] = { 0x48, 0x03 }; /* TrackEvent.type */
	struct bytes fields = { 0 }, out = { 0 };

	ck_assert_uint_le(count, sizeof(text));
	bytes_field(&fields, TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
		    sequence);
	if (ns)
		bytes_field(&fields, TAG_TRACE_PACKET_TIMESTAMP, ns);
	bytes_field(&fields,
		    ns ? TAG_TRACE_PACKET_TRACK_EVENT
		       : TAG_TRACE_PACKET_TRACK_DESCRIPTOR,
		    count);
	bytes_put(&fields, text, count);
	bytes_field(&out, TAG_TRACE_PACKET, fields.count);
	bytes_put(&out, fields.at, fields.count);
	bytes_release(&fields);
	ck_assert(!out.failed);
	return out;
}

static struct bytes packet_of(uint64_t ns, size_t count)
{
	return packet_on(2, ns, count);
}

static void put_at(struct flight_memory *memory, uint64_t ns, size_t count)
{
	struct bytes packet = packet_of(ns, count);

	flight_memory_take(memory, &(struct flight_block){
					   .sequence = 1,
					   .data = packet.at,
					   .bytes = (uint32_t)packet.count });
	bytes_release(&packet);
}

/* One event each ns, @bytes in all. */
static void put_many(struct flight_memory *memory, uint64_t ns, size_t bytes)
{
	for (size_t i = 0; i < bytes / 1000; i++)
		put_at(memory, ns + i, 1000);
}

static void put_names(struct flight_memory *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes / 1000; i++)
		put_at(memory, 0, 1000);
}

static struct flight_reach reach_of(struct flight_memory *memory)
{
	struct flight_reach reach;

	flight_memory_reach(memory, &reach);
	ck_assert_uint_eq(reach.lost, 0);
	return reach;
}

static void check_about(uint64_t bytes, uint64_t wanted)
{
	ck_assert_uint_le(bytes, wanted + ABOUT);
	ck_assert_uint_ge(bytes + ABOUT, wanted);
}

FIXTURE(begin, end);

TEST(one_alone_has_all, SLOW)
{
	struct flight_memory *memory = join(LONG_NS);

	put_many(memory, 1000, 3 * SHARE_BYTES);
	check_about(reach_of(memory).bytes, SHARE_BYTES);
	ck_assert_uint_le(reach_of(memory).bytes, SHARE_BYTES);
	ck_assert(reach_of(memory).nearly_full);
	ck_assert_uint_gt(reach_of(memory).first_ns, 1000);
	flight_memory_free(&memory);
	memory = join(LONG_NS);
	put_many(memory, 1000, SHARE_BYTES / 2);
	ck_assert_uint_eq(reach_of(memory).first_ns, 0);
	ck_assert(!reach_of(memory).nearly_full);
	flight_memory_free(&memory);
}

/* Sealing a segment frees its unused room. */
TEST(memory_is_mostly_events, SLOW)
{
	struct flight_memory *memory = join(LONG_NS);
	struct bytes packet = packet_of(1000, 1000);
	uint64_t bytes = 500 * packet.count;

	put_many(memory, 1000, 500000);
	ck_assert_uint_lt(reach_of(memory).bytes, bytes + bytes / 5);
	ck_assert_uint_gt(reach_of(memory).bytes, bytes);
	bytes_release(&packet);
	flight_memory_free(&memory);
}

TEST(who_has_most_gives_way, SLOW)
{
	struct flight_memory *old = join(LONG_NS), *new = join(LONG_NS);

	put_many(old, 1000, 2 * SHARE_BYTES);
	put_many(new, 1000, SHARE_BYTES / 4);
	ck_assert_uint_eq(reach_of(new).first_ns, 0);
	check_about(reach_of(old).bytes + reach_of(new).bytes, SHARE_BYTES);
	put_many(new, 5000, 3 * SHARE_BYTES);
	check_about(reach_of(new).bytes, SHARE_BYTES / 2);
	check_about(reach_of(old).bytes, SHARE_BYTES / 2);
	flight_memory_free(&old);
	put_many(new, 9000, SHARE_BYTES);
	check_about(reach_of(new).bytes, SHARE_BYTES);
	flight_memory_free(&new);
}

TEST(who_has_little_loses_nothing, SLOW)
{
	struct flight_memory *busy = join(LONG_NS), *quiet = join(LONG_NS);
	struct flight_memory *other = join(LONG_NS);

	put_many(quiet, 1000, SHARE_BYTES / 5);
	put_many(busy, 1000, 3 * SHARE_BYTES);
	put_many(other, 1000, 3 * SHARE_BYTES);
	ck_assert_uint_eq(reach_of(quiet).first_ns, 0);
	ck_assert(!reach_of(quiet).nearly_full);
	check_about(reach_of(busy).bytes, SHARE_BYTES * 2 / 5);
	check_about(reach_of(other).bytes, SHARE_BYTES * 2 / 5);
	flight_memory_free(&busy);
	flight_memory_free(&quiet);
	flight_memory_free(&other);
}

TEST(what_cannot_be_forgotten_costs_nobody_else_his_share, SLOW)
{
	struct flight_memory *names = join(LONG_NS), *other = join(LONG_NS);

	put_names(names, 2 * SHARE_BYTES);
	put_many(other, 1000, SHARE_BYTES / 3);
	ck_assert_uint_eq(reach_of(other).first_ns, 0);
	put_many(other, 5000, SHARE_BYTES);
	check_about(reach_of(other).bytes, SHARE_BYTES / 2);
	flight_memory_free(&names);
	flight_memory_free(&other);
}

TEST(what_is_too_old_goes_though_its_recording_is_idle, SLOW)
{
	struct flight_memory *idle = join(1000), *busy = join(1000);
	uint64_t before;

	put_many(idle, 1000, SHARE_BYTES / 4);
	before = reach_of(idle).bytes;
	put_at(busy, 1500, 100);
	check_about(reach_of(idle).bytes, before);
	ck_assert_uint_eq(reach_of(idle).first_ns, 0);
	/* The first packet seals the open segment. */
	put_at(busy, 5000, 100);
	put_at(busy, 7000, 100);
	ck_assert_uint_lt(reach_of(idle).bytes, 10000);
	flight_memory_free(&idle);
	flight_memory_free(&busy);
}

/* A program may report times in the future. */
TEST(times_of_one_recording_do_not_age_another, SLOW)
{
	struct flight_memory *good = join(1000000000 * UINT64_C(1000));
	struct flight_memory *bad = join(1000000000 * UINT64_C(1000));
	uint64_t now_ns = clock_boottime_ns(), before;

	put_many(good, now_ns, SHARE_BYTES / 4);
	before = reach_of(good).bytes;
	put_at(bad, UINT64_MAX / 4, 100);
	put_at(bad, UINT64_MAX / 2, 100);
	ck_assert_uint_eq(reach_of(good).bytes, before);
	flight_memory_free(&good);
	flight_memory_free(&bad);
}

static void *run_member(void *unused)
{
	(void)unused;
	for (int i = 0; i < 20; i++) {
		struct flight_memory *memory = join(LONG_NS);

		put_many(memory, 1000, SHARE_BYTES / 2);
		ck_assert_uint_gt(reach_of(memory).bytes, 0);
		flight_memory_free(&memory);
	}
	return NULL;
}

TEST(members_come_and_go_at_once, SLOW)
{
	struct flight_memory *memory = join(LONG_NS);
	pthread_t threads[3];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, run_member, NULL), 0);
	for (int i = 0; i < 20; i++)
		put_many(memory, 1000 + 1000u * (unsigned int)i,
			 SHARE_BYTES / 2);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	put_many(memory, 100000, 2 * SHARE_BYTES);
	check_about(reach_of(memory).bytes, SHARE_BYTES);
	flight_memory_free(&memory);
}

static uint64_t next_ns(struct flight_view *view)
{
	struct packet_look packet;
	struct wire fields;

	if (flight_view_next(view, &fields) <= 0)
		return 0;
	packet_look(fields, &packet);
	return packet.first_ns;
}

/* A CPU with few switches reports late, so a segment may start before its
 * predecessor, yet its packets follow. */
TEST(packets_of_a_sequence_keep_their_order, SLOW)
{
	struct flight_memory *memory = join(8000);
	struct flight_view *view;

	put_at(memory, 2000, 100);
	put_at(memory, 3500, 100); /* another segment */
	put_at(memory, 1000, 100);
	ck_assert_int_eq(flight_view_new(memory, 0, 9000, &view), 0);
	ck_assert_uint_eq(next_ns(view), 2000);
	ck_assert_uint_eq(next_ns(view), 3500);
	ck_assert_uint_eq(next_ns(view), 1000);
	ck_assert_uint_eq(next_ns(view), 0);
	flight_view_free(&view);
	flight_memory_free(&memory);
}

static void put_thread(struct flight_memory *memory, uint32_t sequence,
		       uint64_t ns)
{
	struct bytes packet = packet_on(sequence, ns, 100);

	flight_memory_take(memory, &(struct flight_block){
					   .sequence = sequence,
					   .ended = true,
					   .data = packet.at,
					   .bytes = (uint32_t)packet.count });
	bytes_release(&packet);
}

/* Every thread ever seen kept 8 bytes, and looking for idle threads or writing
 * a snapshot visited all of them under a lock. */
TEST(threads_that_were_forgotten_leave_nothing, SLOW)
{
	struct flight_memory *memory = join(64);
	uint64_t bytes = 0;

	for (uint32_t i = 1; i <= 100000; i++) {
		put_thread(memory, i + 1, 1000 + i);
		if (i == 20000)
			bytes = reach_of(memory).bytes;
	}
	ck_assert_uint_eq(reach_of(memory).bytes, bytes);
	ck_assert_uint_le(memory->sequence_count, 66);
	ck_assert_uint_le(memory->sequence_room, 128);
	flight_memory_free(&memory);
}

/* Workers deliver threads in any order. */
TEST(threads_are_found_in_any_order, SLOW)
{
	static const uint32_t ids[] = { 9, 3, UINT32_MAX, 7, 4, 1 };
	struct flight_memory *memory = join(1000);
	struct flight_view *view;

	for (uint32_t i = 0; i < ARRAY_SIZE(ids); i++)
		put_thread(memory, ids[i], 1001 + i);
	ck_assert_uint_eq(memory->sequence_count, ARRAY_SIZE(ids));
	for (uint32_t i = 1; i < ARRAY_SIZE(ids); i++)
		ck_assert_uint_lt(memory->sequences[i - 1]->id,
				  memory->sequences[i]->id);
	ck_assert_int_eq(flight_view_new(memory, 0, 9000, &view), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(ids); i++)
		ck_assert_uint_eq(next_ns(view), 1001 + i);
	ck_assert_uint_eq(next_ns(view), 0);
	flight_view_free(&view);
	/* Only the newest event is young enough to stay. */
	put_thread(memory, 5, 1000 + 1000 + ARRAY_SIZE(ids));
	ck_assert_uint_eq(memory->sequence_count, 2);
	flight_memory_free(&memory);
}
