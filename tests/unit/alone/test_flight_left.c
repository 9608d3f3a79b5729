/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_left: a failed allocation does not count as used memory.
 */
#include "collector/trace/flight_left.h"

#include "collector/trace/fields.h"
#include "tests/suite.h"
#include "tests/unit/no_memory.h"

#define VALUE_BYTES 40

static void set_counter(struct flight_left *left)
{
	static const uint8_t packet[VALUE_BYTES];
	const struct left_event event = { .track = 7,
					  .type = TYPE_COUNTER,
					  .packet = packet,
					  .bytes = sizeof(packet) };

	flight_left_take(left, &event);
}

TEST(refused_value_is_no_memory, UNLESS(HAS_ASAN || HAS_TSAN))
{
	struct flight_left left = { 0 };
	uint64_t without;

	set_counter(&left);
	without = left.memory - VALUE_BYTES;
	ck_assert(!left.lost);
	g_blocks = 0;
	set_counter(&left);
	g_blocks = SIZE_MAX;
	ck_assert(left.lost);
	ck_assert_uint_eq(left.memory, without);
	/* The next value does not subtract it. */
	set_counter(&left);
	ck_assert_uint_eq(left.memory, without + VALUE_BYTES);
	flight_left_release(&left);
}

/* With a sanitizer the suite has no test. */
SUITE(NULL, NULL);
