/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows of snapshots: each event lies in one window, including its margins,
 * however events overlap and in any order.
 */

#include "collector/record/flight_windows.h"
#include "tests/suite.h"

#define MARGIN 100
#define MOST 1000

static struct flight_windows g_windows;
static struct flight_window g_out;

static void begin(void)
{
	flight_windows_init(&g_windows, MARGIN, MOST);
}

static void add(uint64_t begin_ns, uint64_t end_ns)
{
	struct flight_event event = { .begin_ns = begin_ns, .end_ns = end_ns };

	flight_windows_add(&g_windows, &event);
}

static void expect(uint64_t now_ns, uint64_t hurry_ns, uint64_t from_ns,
		   uint64_t to_ns, uint64_t events)
{
	ck_assert(flight_windows_take(&g_windows, now_ns, hurry_ns, &g_out));
	ck_assert_uint_eq(g_out.from_ns, from_ns);
	ck_assert_uint_eq(g_out.to_ns, to_ns);
	ck_assert_uint_eq(g_out.events, events);
}

static void expect_none(uint64_t now_ns, uint64_t hurry_ns)
{
	ck_assert(!flight_windows_take(&g_windows, now_ns, hurry_ns, &g_out));
}

FIXTURE(begin, NULL);

TEST(flight_windows_wait_for_the_margin)
{
	add(5000, 5200);
	expect_none(5299, 0);
	expect(5300, 0, 4900, 5300, 1);
	ck_assert_uint_eq(g_out.listed, 1);
	ck_assert_uint_eq(g_out.event[0].begin_ns, 5000);
	expect_none(UINT64_MAX, 0);
}

TEST(flight_windows_that_overlap_become_one)
{
	add(5000, 5200);
	add(5250, 5400);
	add(6000, 6000);
	expect_none(5300, 0);
	expect(5500, 0, 4900, 5500, 2);
	ck_assert_uint_eq(g_out.event[1].end_ns, 5400);
	expect(UINT64_MAX, 0, 5900, 6100, 1);
	expect_none(UINT64_MAX, 0);
}

TEST(flight_windows_are_bridged_by_a_late_event)
{
	add(5000, 5000);
	add(5500, 5500);
	add(5050, 5450);
	expect(UINT64_MAX, 0, 4900, 5600, 3);
	ck_assert_uint_eq(g_out.listed, 3);
	expect_none(UINT64_MAX, 0);
}

TEST(flight_windows_do_not_grow_for_ever)
{
	uint64_t events = 0, last = 0;

	for (uint64_t at = 5000; at < 10000; at += 50)
		add(at, at + 10);
	while (flight_windows_take(&g_windows, UINT64_MAX, 0, &g_out)) {
		ck_assert_uint_le(g_out.to_ns - g_out.from_ns, MOST);
		ck_assert_uint_gt(g_out.to_ns, last);
		last = g_out.to_ns;
		events += g_out.events;
	}
	ck_assert_uint_eq(g_windows.lost, 0);
	ck_assert_uint_eq(events, 100);
}

TEST(flight_windows_have_all_of_a_long_event_that_can_be_there)
{
	add(10000, 11500);
	expect(UINT64_MAX, 0, 9900, 11600, 1);
	add(10000, 15000);
	expect(UINT64_MAX, 0, 13100, 15100, 1);
	add(10500, 10510);
	add(11400, 11410);
	add(10000, 11500);
	expect(UINT64_MAX, 0, 9900, 11600, 3);
	expect_none(UINT64_MAX, 0);
}

TEST(flight_windows_hurry_before_the_begin_is_lost)
{
	add(5000, 5200);
	expect_none(5250, 4900);
	expect(5250, 4901, 4900, 5250, 1);
}

TEST(flight_windows_count_what_finds_no_room)
{
	for (uint64_t i = 1; i <= FLIGHT_PENDING + 3; i++)
		add(i * 10000, i * 10000 + 1);
	ck_assert_uint_eq(g_windows.lost, 3);
	flight_windows_add_rest(&g_windows,
				&(struct flight_rest){ 5000000, 5000001, 7 });
	ck_assert_uint_eq(g_windows.lost, 10);
	/* An event inside a waiting window needs no room. */
	add(10000, 10001);
	ck_assert_uint_eq(g_windows.lost, 10);
	expect(UINT64_MAX, 0, 9900, 10101, 2);
	flight_windows_add_rest(&g_windows,
				&(struct flight_rest){ 5000000, 5000001, 7 });
	ck_assert_uint_eq(g_windows.lost, 10);
	for (uint64_t i = 2; i <= FLIGHT_PENDING; i++)
		expect(UINT64_MAX, 0, i * 10000 - 100, i * 10000 + 101, 1);
	expect(UINT64_MAX, 0, 4999900, 5000101, 7);
	ck_assert_uint_eq(g_out.listed, 0);
}

TEST(flight_windows_stand_times_at_both_ends)
{
	add(0, 50);
	expect(UINT64_MAX, 0, 0, 150, 1);
	add(UINT64_MAX - 5, UINT64_MAX);
	expect(UINT64_MAX, 0, UINT64_MAX - 105, UINT64_MAX, 1);
	add(0, UINT64_MAX);
	expect(UINT64_MAX, 0, UINT64_MAX - 2 * MOST, UINT64_MAX, 1);
	/* The window includes its end even without a margin. */
	flight_windows_init(&g_windows, 0, MOST);
	add(500, 600);
	expect(UINT64_MAX, 0, 499, 601, 1);
}

TEST(flight_windows_list_the_first_events)
{
	for (uint64_t i = 0; i < FLIGHT_LISTED + 5; i++)
		add(5000 + i, 5000 + i);
	expect(UINT64_MAX, 0, 4900, 5100 + FLIGHT_LISTED + 4,
	       FLIGHT_LISTED + 5);
	ck_assert_uint_eq(g_out.listed, FLIGHT_LISTED);
	for (uint64_t i = 0; i < FLIGHT_LISTED; i++)
		ck_assert_uint_eq(g_out.event[i].begin_ns, 5000 + i);
}

/* --- random events, in the order of their ends --- */

#define EVENTS 400

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

struct planted {
	uint64_t begin_ns, end_ns;
	uint32_t windows; /* containing the event and its margins */
};

static void look_for(struct planted *planted, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (planted[i].begin_ns - MARGIN >= g_out.from_ns &&
		    planted[i].end_ns + MARGIN <= g_out.to_ns)
			planted[i].windows++;
}

TEST(flight_windows_miss_no_event, EACH(0, 24))
{
	struct planted planted[EVENTS];
	uint32_t state = 1 + (uint32_t)_i * 7919, length;
	uint64_t now = 10000, events = 0;

	for (uint32_t i = 0; i < EVENTS; i++) {
		length = next_random(&state) % (_i % 2 ? 60 : 1500);
		now += next_random(&state) % (_i % 3 ? 40 : 900);
		planted[i] = (struct planted){ now - length, now, 0 };
		add(now - length, now);
		while (flight_windows_take(&g_windows, now, 0, &g_out)) {
			events += g_out.events;
			ck_assert_uint_le(g_out.to_ns - g_out.from_ns,
					  2 * MOST);
			look_for(planted, i + 1);
		}
	}
	while (flight_windows_take(&g_windows, UINT64_MAX, 0, &g_out)) {
		events += g_out.events;
		look_for(planted, EVENTS);
	}
	ck_assert_uint_eq(events + g_windows.lost, EVENTS);
	ck_assert_uint_eq(g_windows.lost, 0);
	for (uint32_t i = 0; i < EVENTS; i++)
		ck_assert_uint_ge(planted[i].windows, 1);
}
