/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/grow.h"

#include <errno.h>

#include "collector/base/budget.h"
#include "tests/suite.h"

/* By default sanitizers abort on impossible sizes. */
const char *__asan_default_options(void); /* NOLINT: its name */
const char *__asan_default_options(void) /* NOLINT: its name */
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void); /* NOLINT: its name */
const char *__tsan_default_options(void) /* NOLINT: its name */
{
	return "allocator_may_return_null=1";
}

TEST(grow_array_keeps_its_elements_and_doubles_its_room)
{
	uint32_t *list = NULL;
	size_t room = 0, grown = 0, before;

	for (uint32_t i = 0; i < 10000; i++) {
		before = room;
		ck_assert_int_eq(grow_array(list, room, i + 1), 0);
		ck_assert_uint_gt(room, i);
		ck_assert(room == before || room >= 2 * before);
		grown += room != before;
		list[i] = i;
	}
	for (uint32_t i = 0; i < 10000; i++)
		ck_assert_uint_eq(list[i], i);
	ck_assert_uint_lt(grown, 20);
	free(list);
}

TEST(grow_array_to_many_at_once_has_room_for_them)
{
	uint16_t *list = NULL;
	uint32_t room = 0;

	ck_assert_int_eq(grow_array(list, room, 100000), 0);
	ck_assert_uint_ge(room, 100000);
	list[99999] = 1;
	free(list);
}

TEST(grow_array_beyond_memory_changes_nothing)
{
	uint64_t *list = NULL, *before;
	size_t room = 0, room_before;

	ck_assert_int_eq(grow_array(list, room, 1), 0);
	list[0] = 42;
	before = list;
	room_before = room;
	ck_assert_int_eq(grow_array(list, room, SIZE_MAX), -ENOMEM);
	ck_assert_int_eq(grow_array(list, room, SIZE_MAX / 8), -ENOMEM);
	ck_assert_int_eq(grow_array(list, room, SIZE_MAX / 16), -ENOMEM);
	ck_assert_ptr_eq(list, before);
	ck_assert_uint_eq(room, room_before);
	ck_assert_uint_eq(list[0], 42);
	free(list);
}

/* An 8-bit room counts to 255. */
TEST(grow_array_ends_where_its_room_cannot_count)
{
	uint64_t *list = NULL;
	uint8_t room = 0;

	for (size_t i = 0; i < 255; i++)
		ck_assert_int_eq(grow_array(list, room, i + 1), 0);
	ck_assert_uint_eq(room, 255);
	ck_assert_int_eq(grow_array(list, room, 256), -ENOMEM);
	ck_assert_uint_eq(room, 255);
	free(list);
}

TEST(grow_array_from_takes_what_its_room_needs)
{
	struct budget budget = { .left = 4096 };
	uint64_t *list = NULL;
	size_t room = 0, count = 0;

	while (!grow_array_from(&budget, list, room, count + 1)) {
		ck_assert_uint_eq(budget.left, 4096 - room * sizeof(*list));
		list[count] = count;
		count++;
	}
	/* 8, 16, 32 ... 512 elements use up the budget. */
	ck_assert_uint_eq(count, 512);
	ck_assert_uint_eq(room, 512);
	ck_assert_uint_eq(budget.left, 0);
	free(list);
}

TEST(grow_array_from_gives_back_what_memory_refused)
{
	struct budget budget = { .left = INT64_MAX };
	uint64_t *list = NULL;
	size_t room = 0;

	ck_assert_int_eq(grow_array_from(&budget, list, room, SIZE_MAX / 32),
			 -ENOMEM);
	ck_assert_uint_eq(budget.left, INT64_MAX);
	ck_assert_ptr_null(list);
}
