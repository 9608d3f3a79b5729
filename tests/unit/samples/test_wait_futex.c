/* SPDX-License-Identifier: Apache-2.0
 *
 * Futexes by their surrounding memory. Each memory was read from glibc 2.36, or
 * differs from it in an important value.
 */
#include <linux/futex.h>

#include "collector/samples/wait_futex.h"
#include "tests/suite.h"

#define BITSET (FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)
#define PLACE 0x561467494480u

static struct wait_futex g_futex;
static uint64_t g_object;

static void set_word(int offset, uint32_t word)
{
	memcpy(g_futex.around + (int)WAIT_FUTEX_BEFORE + offset, &word,
	       sizeof(word));
}

static void start(uint64_t address, uint32_t op, uint32_t value)
{
	g_futex = (struct wait_futex){
		.address = address,
		.op = op,
		.value = value,
		.has_before = true,
		.has_behind = true,
	};
}

static enum wait_futex_kind tell(void)
{
	g_object = 1;
	return wait_futex_tell(&g_futex, &g_object);
}

static void make_mutex(void)
{
	start(PLACE, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2);
	set_word(0, 2);
	set_word(8, 16814);
	set_word(12, 1);
}

TEST(wait_futex_mutex_has_an_owner)
{
	make_mutex();
	ck_assert_int_eq(tell(), WAIT_FUTEX_MUTEX);
	ck_assert_uint_eq(g_object, PLACE);
	/* pthread_mutex_clocklock() */
	g_futex.op = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
	ck_assert_int_eq(tell(), WAIT_FUTEX_MUTEX);
	/* Process-shared and recursive. */
	g_futex.op = FUTEX_WAIT;
	set_word(16, 0x81);
	ck_assert_int_eq(tell(), WAIT_FUTEX_MUTEX);
	set_word(16, 0x12345);
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	set_word(16, 0);
	set_word(8, 0);
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
}

TEST(wait_futex_robust_mutex_expects_its_owner)
{
	start(PLACE, FUTEX_WAIT, FUTEX_WAITERS | 16811);
	set_word(8, 16811);
	set_word(12, 1);
	set_word(16, 0x10);
	ck_assert_int_eq(tell(), WAIT_FUTEX_MUTEX);
	set_word(16, 0);
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
}

TEST(wait_futex_with_priority_inheritance_is_a_mutex)
{
	start(PLACE, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0);
	g_futex.has_before = g_futex.has_behind = false;
	ck_assert_int_eq(tell(), WAIT_FUTEX_MUTEX);
	ck_assert_uint_eq(g_object, PLACE);
}

/* Locks inside the C library have no owner; only the code shows them. */
TEST(wait_futex_lock_of_the_library_is_told_by_its_code)
{
	start(PLACE, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2);
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	g_futex.code = WAIT_CODE_LIBRARY;
	ck_assert_int_eq(tell(), WAIT_FUTEX_MUTEX);
	g_futex.op = FUTEX_WAIT;
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	g_futex.op |= FUTEX_PRIVATE_FLAG;
	g_futex.value = 1;
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
}

/* Programs that call syscall() have their own objects. */
TEST(wait_futex_of_a_raw_call_is_plain)
{
	make_mutex();
	g_futex.code = WAIT_CODE_RAW;
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	ck_assert_uint_eq(g_object, PLACE);
}

/* @begin: offset of the pthread_cond_t from the futex. */
static void make_condition(int begin)
{
	start(PLACE + (uint64_t)(int64_t)-begin, BITSET, 0);
	set_word(begin, 6); /* wseq */
	set_word(begin + 8, 4); /* g1_start */
	set_word(begin + 0x24, 8); /* one waiter */
}

TEST(wait_futex_condition_lies_before_its_futex)
{
	for (int begin = -0x2c; begin <= -0x28; begin += 4) {
		make_condition(begin);
		ck_assert_int_eq(tell(), WAIT_FUTEX_CONDITION);
		ck_assert_uint_eq(g_object, PLACE);
		set_word(begin + 0x24, 0);
		ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
		make_condition(begin);
		/* The condition is shared but the call is private. */
		set_word(begin + 0x24, 9);
		ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
		g_futex.op = FUTEX_WAIT_BITSET;
		ck_assert_int_eq(tell(), WAIT_FUTEX_CONDITION);
		g_futex.has_before = false;
		ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	}
}

static void make_semaphore(void)
{
	start(PLACE, BITSET, 0);
	set_word(4, 1);
}

TEST(wait_futex_semaphore_counts_its_waiters)
{
	make_semaphore();
	ck_assert_int_eq(tell(), WAIT_FUTEX_SEMAPHORE);
	ck_assert_uint_eq(g_object, PLACE);
	set_word(8, 0x80);
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	g_futex.op = FUTEX_WAIT_BITSET;
	ck_assert_int_eq(tell(), WAIT_FUTEX_SEMAPHORE);
	make_semaphore();
	set_word(4, 0);
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	make_semaphore();
	g_futex.address += 4;
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
}

/* A condition just before a semaphore: struct { cond; sem; }. */
TEST(wait_futex_semaphore_behind_a_condition_is_none)
{
	make_semaphore();
	set_word(-48, 8);
	set_word(-40, 2);
	set_word(-48 + 0x24, 8);
	ck_assert_int_eq(tell(), WAIT_FUTEX_SEMAPHORE);
}

static void make_rwlock(int begin, uint32_t value)
{
	start(PLACE + (uint64_t)(int64_t)-begin, BITSET, value);
	set_word(begin, 0x3);
	set_word(begin + 24, 16814);
}

TEST(wait_futex_rwlock_has_three_places_to_wait)
{
	const struct {
		int begin;
		uint32_t value;
	} places[] = { { -8, 3 }, { -8, 2 }, { -12, 3 }, { 0, 0xe } };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		make_rwlock(places[i].begin, places[i].value);
		ck_assert_int_eq(tell(), WAIT_FUTEX_RWLOCK);
		ck_assert_uint_eq(g_object, PLACE);
		set_word(places[i].begin + 28, 1);
		ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
		set_word(places[i].begin + 28, 0);
		/* Without a holder. */
		set_word(places[i].begin, 0);
		ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	}
}

TEST(wait_futex_barrier_expects_its_round)
{
	start(PLACE + 4, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2);
	set_word(-4, 3); /* three arrived */
	set_word(0, 2);
	set_word(4, 2); /* of two */
	ck_assert_int_eq(tell(), WAIT_FUTEX_BARRIER);
	ck_assert_uint_eq(g_object, PLACE);
	/* All threads that arrived have left. */
	set_word(-4, 2);
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	/* The numbers wrap around. */
	g_futex.value = UINT32_MAX;
	set_word(-4, 0);
	ck_assert_int_eq(tell(), WAIT_FUTEX_BARRIER);
}

TEST(wait_futex_join_is_shared_and_expects_a_thread)
{
	start(PLACE, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0x41ad);
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	g_futex.is_task = true;
	ck_assert_int_eq(tell(), WAIT_FUTEX_JOIN);
	ck_assert_uint_eq(g_object, PLACE);
	g_futex.op |= FUTEX_PRIVATE_FLAG;
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
}

TEST(wait_futex_of_another_operation_is_plain)
{
	make_mutex();
	g_futex.op = FUTEX_WAKE | FUTEX_PRIVATE_FLAG;
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
	g_futex.op = UINT32_MAX;
	ck_assert_int_eq(tell(), WAIT_FUTEX_PLAIN);
}

/* Objects lie near their futex. Go and libgomp use plain futexes only. */
TEST(wait_futex_of_random_memory_is_plain)
{
	int named = 0;

	srand(1);
	for (int i = 0; i < 100000; i++) {
		start(((uint64_t)rand() << 16) & ~3ull,
		      (uint32_t)rand() & 0x189, (uint32_t)rand() % 8);
		for (size_t byte = 0; byte < sizeof(g_futex.around); byte++)
			g_futex.around[byte] = (uint8_t)rand();
		if (tell() != WAIT_FUTEX_PLAIN)
			named++;
		ck_assert_uint_le(g_futex.address - g_object,
				  WAIT_FUTEX_BEFORE);
	}
	ck_assert_int_lt(named, 100);
}

TEST(wait_futex_kinds_have_names)
{
	for (int kind = WAIT_FUTEX_PLAIN; kind <= WAIT_FUTEX_JOIN; kind++)
		ck_assert(wait_futex_name((enum wait_futex_kind)kind)[0]);
	ck_assert_str_eq(wait_futex_name(WAIT_FUTEX_JOIN), "join");
}
