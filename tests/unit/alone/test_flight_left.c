/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_left: a failed allocation does not count as used memory.
 */
#include "collector/trace/flight_left.h"

#include <errno.h>

#include "collector/trace/fields.h"
#include "tests/suite.h"

/* A sanitizer brings its own allocator. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VALUE_BYTES 40

static bool g_refuse;

void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
	if (!g_refuse)
		return __libc_malloc(size);
	errno = ENOMEM;
	return NULL;
}

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
	g_refuse = true;
	set_counter(&left);
	g_refuse = false;
	ck_assert(left.lost);
	ck_assert_uint_eq(left.memory, without);
	/* The next value does not subtract it. */
	set_counter(&left);
	ck_assert_uint_eq(left.memory, without + VALUE_BYTES);
	flight_left_release(&left);
}
#endif

/* With a sanitizer the suite has no test. */
SUITE(NULL, NULL);
