/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/load_map.h"

#include <errno.h>

#include "tests/suite.h"

#define FILE_BYTES 0x4000u

static struct load_map g_map;

static struct place file_at(uint64_t start)
{
	return (struct place){ .start = start,
			       .end = start + FILE_BYTES,
			       .path = "file",
			       .build_id = "" };
}

static void add(uint64_t start)
{
	const struct place place = file_at(start);

	ck_assert_int_eq(load_map_add(&g_map, &place), 0);
}

/* The new file must not cover times before the unnoted unload. */
TEST(load_map_notes_a_gap_where_it_has_no_room)
{
	for (uint64_t i = 0; i < LOAD_MAP_PLACES_MAX; i++)
		add(i * FILE_BYTES);
	ck_assert_int_eq(load_map_end(&g_map, 0, FILE_BYTES, 1), 0);
	ck_assert_ptr_nonnull(load_map_find(&g_map, 0, 0));
	ck_assert_int_eq(load_map_end(&g_map, 0x1000, 0x2000, 2), -ENOMEM);
	add(0);
	ck_assert_ptr_nonnull(load_map_find(&g_map, 0, 2));
	ck_assert_ptr_null(load_map_find(&g_map, 0, 1));
	load_map_release(&g_map);
}
