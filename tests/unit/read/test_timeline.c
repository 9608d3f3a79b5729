/* SPDX-License-Identifier: Apache-2.0
 *
 * At each level, the longest call of each bucket stays and stands for all calls
 * in its count.
 */
#include "collector/read/timeline.h"
#include "tests/suite.h"

static struct timeline g_timeline;

static void take(uint32_t thread, uint32_t depth, uint64_t begin,
		 uint64_t duration, uint32_t name)
{
	const struct timeline_call call = { thread,   depth, begin,
					    duration, name,  1 };

	timeline_take(&g_timeline, &call);
}

TEST(timeline_has_every_call_of_a_short_trace)
{
	ck_assert_int_eq(timeline_init(&g_timeline, 1), 0);
	take(1, 1, 10, 5, 7);
	take(1, 1, 20, 6, 8);
	take(2, 0, 1, 100, 5);
	take(1, 0, 5, 50, 6);
	timeline_finish(&g_timeline);
	for (int i = 0; i < TIMELINE_LEVELS; i++) {
		const struct timeline_level *level = &g_timeline.level[i];

		ck_assert_uint_eq(level->count, 4);
		ck_assert_uint_eq(level->calls[0].name, 6);
		ck_assert_uint_eq(level->calls[1].name, 7);
		ck_assert_uint_eq(level->calls[2].name, 8);
		ck_assert_uint_eq(level->calls[3].name, 5);
	}
	timeline_release(&g_timeline);
}

TEST(timeline_keeps_the_longest_calls_of_a_long_trace)
{
	enum { CALLS = 2000000, EVERY = 100000 };
	uint32_t total = 0;

	ck_assert_int_eq(timeline_init(&g_timeline, 1), 0);
	for (uint64_t i = 0; i < CALLS; i++)
		take(1 + i % 2, 3, i * 1000, i % EVERY ? 100 : 900,
		     i % EVERY ? 1 : 2);
	timeline_finish(&g_timeline);
	for (int k = 0; k < TIMELINE_LEVELS; k++) {
		const struct timeline_level *level = &g_timeline.level[k];
		uint64_t counts = 0, longest = 0;

		for (uint32_t i = 0; i < level->count; i++) {
			counts += level->calls[i].count;
			longest += level->calls[i].name == 2;
			ck_assert_uint_eq(level->calls[i].duration_ns,
					  level->calls[i].name == 2 ? 900
								    : 100);
		}
		ck_assert_uint_eq(counts, CALLS);
		ck_assert_uint_eq(longest, CALLS / EVERY);
		ck_assert_uint_gt(level->count, 10000);
		total += level->count;
	}
	ck_assert_uint_le(total, TIMELINE_CALLS_MAX);
	timeline_release(&g_timeline);
}

TEST(timeline_counts_what_has_no_room)
{
	ck_assert_int_eq(timeline_init(&g_timeline, 1), 0);
	take(1, TIMELINE_DEPTH_MAX, 5, 5, 1);
	for (uint32_t thread = 1; thread < 1000; thread++)
		take(thread, TIMELINE_DEPTH_MAX - 1, 5, 5, 1);
	timeline_finish(&g_timeline);
	ck_assert_uint_gt(g_timeline.refused, 1);
	ck_assert_uint_eq(g_timeline.refused + g_timeline.level[0].count, 1000);
	timeline_release(&g_timeline);
}
