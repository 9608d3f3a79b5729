/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/sequences.h"

#include "tests/suite.h"

#define LIVE 300
#define EVER 1000000u

static struct sequences g_sequences;

static void tear_down(void)
{
	sequences_release(&g_sequences);
}

static uint32_t change(uint32_t id, int32_t opened)
{
	ck_assert_int_eq(sequences_make_room(&g_sequences, id, 1), 0);
	return sequences_change(&g_sequences, id, opened, 0);
}

static uint64_t sum_open(uint64_t *ids)
{
	const struct open_sequence *open;
	uint64_t slices = 0;
	uint32_t at = 0;

	*ids = 0;
	while ((open = sequences_next_open(&g_sequences, &at))) {
		slices += open->slices;
		*ids += open->id;
	}
	return slices;
}

FIXTURE(NULL, tear_down);

TEST(sequences_all_zero_are_none)
{
	uint64_t ids;

	ck_assert(!sequences_know(&g_sequences, 0));
	ck_assert(!sequences_know(&g_sequences, UINT32_MAX));
	ck_assert_uint_eq(sum_open(&ids), 0);
	ck_assert_uint_eq(sequences_bytes(&g_sequences), 0);
}

TEST(sequences_count_their_open_slices)
{
	uint64_t ids;

	ck_assert_uint_eq(change(7, 3), 3);
	ck_assert_uint_eq(change(7, -1), 2);
	ck_assert_uint_eq(change(9, 0), 0);
	ck_assert_uint_eq(sum_open(&ids), 2);
	ck_assert_uint_eq(ids, 7);
	ck_assert_uint_eq(g_sequences.slices, 2);
	ck_assert_uint_eq(g_sequences.count, 2);
	ck_assert_uint_eq(change(7, -2), 0);
	ck_assert_uint_eq(sum_open(&ids), 0);
	ck_assert(sequences_know(&g_sequences, 7));
	ck_assert(sequences_know(&g_sequences, 9));
	ck_assert(!sequences_know(&g_sequences, 8));
	ck_assert(!sequences_know(&g_sequences, 7 + 64));
}

/* All ids hash to one slot near the table's end and wrap around. */
TEST(sequences_with_one_place_are_told_apart)
{
	uint64_t ids;

	for (uint32_t first = 509; first < 512; first++)
		for (uint32_t i = 0; i < 40; i++)
			ck_assert_uint_eq(
				change(first + i * 512, (int32_t)i + 1), i + 1);
	for (uint32_t i = 0; i < 40; i += 2)
		ck_assert_uint_eq(change(510 + i * 512, -(int32_t)i - 1), 0);
	for (uint32_t first = 509; first < 512; first++)
		for (uint32_t i = 0; i < 40; i++)
			ck_assert_uint_eq(change(first + i * 512, 1),
					  first == 510 && i % 2 == 0 ? 1
								     : i + 2);
	ck_assert_uint_eq(sum_open(&ids), g_sequences.slices);
}

TEST(sequences_that_are_forgotten_are_known_no_more)
{
	change(3, 2);
	change(3, -2);
	change(4, 1);
	change(67, 0);
	ck_assert_uint_eq(g_sequences.count, 3);
	sequences_forget(&g_sequences, 3);
	sequences_forget(&g_sequences, 3);
	sequences_forget(&g_sequences, 4);
	sequences_forget(&g_sequences, 5);
	sequences_forget(&g_sequences, UINT32_MAX);
	ck_assert(!sequences_know(&g_sequences, 3));
	ck_assert(sequences_know(&g_sequences, 4));
	ck_assert(sequences_know(&g_sequences, 67));
	ck_assert_uint_eq(g_sequences.count, 2);
	ck_assert_uint_eq(g_sequences.slices, 1);
	change(3, 0);
	ck_assert_uint_eq(g_sequences.count, 3);
}

TEST(sequences_take_memory_while_they_live)
{
	uint64_t ids;

	for (uint32_t id = 1; id <= EVER; id++) {
		ck_assert_uint_eq(change(id, 2), 2);
		if (id > LIVE)
			ck_assert_uint_eq(change(id - LIVE, -2), 0);
	}
	ck_assert_uint_eq(sum_open(&ids), 2 * LIVE);
	ck_assert_uint_eq(g_sequences.count, EVER);
	/* A bit per thread, in an array that doubles. */
	ck_assert_uint_le(sequences_bytes(&g_sequences), EVER / 4 + 65536);
}

TEST(sequences_give_back_what_a_crowd_took)
{
	size_t most;

	for (uint32_t id = 1; id <= 50000; id++)
		change(id, 1);
	most = sequences_bytes(&g_sequences);
	for (uint32_t id = 1; id <= 50000; id++)
		ck_assert_uint_eq(change(id, -1), 0);
	ck_assert_uint_lt(sequences_bytes(&g_sequences), most / 4);
}
