/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/replay/pause.h"
#include "tests/suite.h"

static struct pause_list g_list;

static void setup(void)
{
	g_list = (struct pause_list){ 0 };
}

#define AT(ns, paused, first, last)                                         \
	do {                                                                \
		uint64_t from_ns, to_ns;                                    \
                                                                            \
		ck_assert_int_eq(pause_at(&g_list, (ns), &from_ns, &to_ns), \
				 (paused));                                 \
		ck_assert_uint_eq(from_ns, (first));                        \
		ck_assert_uint_eq(to_ns, (last));                           \
	} while (0)

FIXTURE(setup, NULL);

TEST(pause_never_is_one_stretch)
{
	AT(0, false, 0, UINT64_MAX);
	AT(1ULL << 60, false, 0, UINT64_MAX);
	ck_assert_uint_eq(pause_changes(&g_list), 0);
}

TEST(pause_begun_lasts_until_it_ends)
{
	pause_begin(&g_list, 100);
	AT(99, false, 0, 100);
	AT(100, true, 100, UINT64_MAX);
	pause_end(&g_list, 200);
	AT(100, true, 100, 200);
	AT(199, true, 100, 200);
	AT(200, false, 200, UINT64_MAX);
	ck_assert_uint_eq(pause_changes(&g_list), 2);
}

TEST(pause_twice_is_once)
{
	pause_end(&g_list, 50);
	pause_begin(&g_list, 100);
	pause_begin(&g_list, 150);
	AT(120, true, 100, UINT64_MAX);
	pause_end(&g_list, 200);
	pause_end(&g_list, 250);
	AT(220, false, 200, UINT64_MAX);
	ck_assert_uint_eq(pause_changes(&g_list), 2);
}

TEST(pause_between_two_is_none)
{
	pause_begin(&g_list, 100);
	pause_end(&g_list, 200);
	pause_begin(&g_list, 300);
	pause_end(&g_list, 400);
	AT(50, false, 0, 100);
	AT(250, false, 200, 300);
	AT(350, true, 300, 400);
	AT(450, false, 400, UINT64_MAX);
}

TEST(pause_many_keeps_the_last)
{
	uint64_t i;

	for (i = 1; i <= 1000; i++) {
		pause_begin(&g_list, i * 100);
		pause_end(&g_list, i * 100 + 50);
	}
	for (i = 1000; i > 1000 - PAUSES_KEPT + 2; i--) {
		AT(i * 100 + 49, true, i * 100, i * 100 + 50);
		AT(i * 100 - 1, false, i * 100 - 50, i * 100);
	}
	/* Forgotten pauses count as none. */
	AT(100, false, 0, (1000 - PAUSES_KEPT + 2) * 100);
}
