/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares of several groups that want more than there is.
 */

#include "collector/samples/turns.h"
#include "tests/suite.h"

#define GROUPS 100u
#define ROOM 64u

static struct group {
	struct turn turn;
	size_t has;
	size_t got;
	unsigned int asked; /* in this pass, after its last item */
} g_group[GROUPS];
static struct turns g_turns;
static size_t g_taken[GROUPS]; /* by recording */

static void start(size_t groups)
{
	memset(g_group, 0, sizeof(g_group));
	memset(&g_turns, 0, sizeof(g_turns));
	for (size_t i = 0; i < groups; i++) {
		g_group[i].turn.group = &g_group[i];
		turns_add(&g_turns, &g_group[i].turn);
	}
}

static size_t take(void *context, void *of, size_t count, size_t room)
{
	struct group *group = of;
	size_t got = MIN(group->has, room);
	const size_t *all = context;

	ck_assert_uint_le(count + room, *all);
	ck_assert_uint_gt(room, 0);
	ck_assert_uint_eq(group->asked, 0);
	group->asked += got < room;
	group->has -= got;
	group->got += got;
	return got;
}

static size_t pass(size_t recordings, size_t room)
{
	for (size_t i = 0; i < GROUPS; i++)
		g_group[i].asked = 0;
	return turns_take(&g_turns, recordings, room, take, &room);
}

TEST(turns_give_one_all_if_others_want_little)
{
	start(10);
	g_group[3].has = 1000;
	g_group[5].has = 2;
	ck_assert_uint_eq(pass(10, ROOM), ROOM);
	ck_assert_uint_eq(g_group[5].got, 2);
	ck_assert_uint_eq(g_group[3].got, ROOM - 2);
	g_group[3].has = 7;
	ck_assert_uint_eq(pass(10, ROOM), 7);
	ck_assert_uint_eq(pass(10, ROOM), 0);
}

TEST(turns_come_to_everybody)
{
	start(GROUPS);
	for (size_t i = 0; i < GROUPS; i++)
		g_group[i].has = 1000;
	for (int i = 0; i < 25; i++)
		ck_assert_uint_eq(pass(GROUPS, ROOM), ROOM);
	for (size_t i = 0; i < GROUPS; i++)
		ck_assert_uint_eq(g_group[i].got, 25 * ROOM / GROUPS);
}

/* Two greedy groups get equal shares beside idle ones, at any position. */
TEST(turns_are_equal_for_two_that_want_all)
{
	start(GROUPS);
	g_group[40].has = g_group[41].has = 100000;
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(pass(GROUPS, ROOM), ROOM);
	ck_assert_uint_eq(g_group[40].got + g_group[41].got, 100 * ROOM);
	ck_assert_uint_le(g_group[40].got, g_group[41].got * 11 / 10);
	ck_assert_uint_le(g_group[41].got, g_group[40].got * 11 / 10);
}

TEST(turns_are_of_recordings_first)
{
	start(61);
	for (size_t i = 0; i < 61; i++) {
		g_group[i].turn.taken = &g_taken[i < 60];
		g_group[i].has = 100000;
	}
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(pass(2, ROOM), ROOM);
	ck_assert_uint_eq(g_group[60].got, 50 * ROOM);
	for (size_t i = 0; i < 60; i++)
		ck_assert_uint_ge(g_group[i].got, 50 * ROOM / 60 - ROOM / 2);
}

TEST(turns_go_on_when_groups_come_and_go)
{
	start(3);
	ck_assert_uint_eq(pass(3, ROOM), 0);
	for (size_t i = 0; i < 3; i++)
		g_group[i].has = 100;
	/* The newest group, which has the last turn. */
	ck_assert_uint_eq(pass(3, 1), 1);
	ck_assert_uint_eq(g_group[2].got, 1);
	ck_assert_ptr_eq(g_turns.first, &g_group[1].turn);
	turns_remove(&g_turns, &g_group[1].turn);
	ck_assert_uint_eq(pass(2, 1), 1);
	ck_assert_uint_eq(g_group[0].got, 1);
	turns_remove(&g_turns, &g_group[2].turn);
	turns_remove(&g_turns, &g_group[2].turn);
	ck_assert_uint_eq(pass(1, 1), 1);
	ck_assert_uint_eq(g_group[0].got, 2);
	turns_remove(&g_turns, &g_group[0].turn);
	ck_assert_uint_eq(pass(1, 1), 0);
	ck_assert_uint_eq(g_group[1].got + g_group[2].got, 1);
}
