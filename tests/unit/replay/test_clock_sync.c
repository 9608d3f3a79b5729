/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/base/clock.h"
#include "collector/replay/clock_sync.h"
#include "tests/suite.h"

#define MS 1000000ULL
/* A counter of 2.5 GHz, far from the value of the machine's. */
#define TICK(ns) (1ULL << 62 | ((ns)*5 / 2))
#define NS(ns) ((1ULL << 61) + (ns))

static struct clock_sync *g_sync;

static void setup(void)
{
	ck_assert_int_eq(clock_sync_new(&g_sync), 0);
}

static void teardown(void)
{
	clock_sync_free(&g_sync);
}

static uint64_t convert(uint64_t tick)
{
	struct clock_segment segment;

	clock_sync_segment(g_sync, tick, &segment);
	ck_assert(clock_segment_has(&segment, tick));
	return clock_segment_ns(&segment, tick);
}

static void append(uint64_t from_ms, uint64_t to_ms)
{
	for (; from_ms <= to_ms; from_ms++)
		clock_sync_append(g_sync, TICK(from_ms * MS), NS(from_ms * MS));
}

static void ck_near(uint64_t a, uint64_t b)
{
	ck_assert_uint_le(a, b + 1);
	ck_assert_uint_le(b, a + 1);
}

FIXTURE(setup, teardown);

TEST(clock_sync_between_pairs_is_a_line)
{
	append(0, 20);
	for (uint64_t us = 0; us <= 20000; us += 37)
		ck_near(convert(TICK(us * 1000)), NS(us * 1000));
}

TEST(clock_sync_now_is_now)
{
	uint64_t before, after, ns;

	for (int i = 0; i < 1000; i++) {
		before = clock_boottime_ns();
		ns = clock_ticks();
		after = clock_boottime_ns();
		clock_sync_update(g_sync);
		ns = convert(ns);
		/* Reading a pair may be off by 100 us on a busy machine. */
		ck_assert_uint_ge(ns + 100000, before);
		ck_assert_uint_le(ns, after + 100000);
	}
}

TEST(clock_sync_beyond_last_pair_goes_on_for_a_while)
{
	append(0, 5);
	ck_near(convert(TICK(6 * MS)), NS(6 * MS));
	/* Afterwards the clock stands still, whatever the tick. */
	ck_assert_uint_lt(convert(TICK(500 * MS)), NS(100 * MS));
	ck_assert_uint_eq(convert(TICK(500 * MS)), convert(UINT64_MAX - 1));
	ck_assert_uint_eq(convert(TICK(500 * MS)), convert(UINT64_MAX));
}

/* Stack bytes taken for a clock once stopped a thread's clock for good, so one
 * function got all later preemptions. */
TEST(clock_sync_segment_of_a_future_tick_holds_no_later_one)
{
	struct clock_segment segment;

	append(0, 5);
	clock_sync_segment(g_sync, TICK(1000000 * MS), &segment);
	append(6, 500);
	ck_assert(!clock_segment_has(&segment, TICK(500 * MS)));
}

TEST(clock_sync_before_first_pair_is_first_pair)
{
	append(0, 5);
	ck_assert_uint_eq(convert(0), convert(1));
	ck_assert_uint_le(convert(0), clock_boottime_ns());
}

TEST(clock_sync_tick_is_the_inverse)
{
	append(0, 20);
	for (uint64_t us = 0; us <= 25000; us += 37)
		ck_near(convert(clock_sync_tick(g_sync, NS(us * 1000))),
			NS(us * 1000));
	ck_assert_uint_eq(clock_sync_tick(g_sync, 0),
			  clock_sync_tick(g_sync, 1));
	ck_assert_uint_gt(clock_sync_tick(g_sync, NS(500 * MS)),
			  TICK(400 * MS));
}

TEST(clock_sync_suspend_is_a_jump)
{
	const uint64_t hour = 3600000 * MS;

	append(0, 10);
	/* The counter stood still: most of the 11th ms was spent asleep. */
	clock_sync_append(g_sync, TICK(11 * MS), NS(11 * MS) + hour);
	clock_sync_append(g_sync, TICK(12 * MS), NS(12 * MS) + hour);
	ck_near(convert(TICK(10 * MS + 500000)), NS(10 * MS + 500000));
	ck_near(convert(TICK(11 * MS + 500000)), NS(11 * MS + 500000) + hour);
}

TEST(clock_sync_conversion_never_steps_back)
{
	uint64_t last = 0;

	append(0, 3);
	clock_sync_append(g_sync, TICK(4 * MS), NS(4 * MS) - 1500);
	clock_sync_append(g_sync, TICK(5 * MS), NS(5 * MS) + 1500);
	clock_sync_append(g_sync, TICK(6 * MS), NS(5 * MS) + 1600);
	append(7, 9);
	for (uint64_t us = 0; us < 9000; us++) {
		uint64_t ns = convert(TICK(us * 1000));

		ck_assert_uint_ge(ns, last);
		last = ns;
	}
}

TEST(clock_sync_days_of_pairs_stay_exact)
{
	append(0, 200000);
	ck_near(convert(TICK(199999 * MS + 1234)), NS(199999 * MS + 1234));
	/* Thinning out the pairs loses nothing, as they lie on one line. */
	ck_near(convert(TICK(190000 * MS + 777)), NS(190000 * MS + 777));
}

TEST(clock_sync_backward_pair_is_ignored)
{
	append(0, 5);
	clock_sync_append(g_sync, TICK(4 * MS), NS(40 * MS));
	clock_sync_append(g_sync, TICK(6 * MS), NS(4 * MS));
	ck_near(convert(TICK(5 * MS + 1000)), NS(5 * MS + 1000));
}

TEST(clock_segment_identity_is_limited_to_now)
{
	struct clock_segment segment = clock_segment_identity(1000);

	ck_assert_uint_eq(clock_segment_ns(&segment, 0), 0);
	ck_assert_uint_eq(clock_segment_ns(&segment, 999), 999);
	ck_assert_uint_eq(clock_segment_ns(&segment, UINT64_MAX), 1000);
}
