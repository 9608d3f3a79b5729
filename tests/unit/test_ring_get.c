/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/replay/ring_get.h"
#include "shared/atomic.h"
#include "shared/futex.h"
#include "shared/ring_put.h"
#include "tests/suite.h"

#define CELLS RING_CELLS_MIN

static struct slot_shm *g_slot;
static struct record *g_cells;
static struct ring_get g_ring;

static void setup(void)
{
	g_slot = aligned_alloc(SHM_LINE, sizeof(*g_slot));
	g_cells = aligned_alloc(16, CELLS * sizeof(*g_cells));
	memset(g_slot, 0, sizeof(*g_slot));
	memset(g_cells, 0, CELLS * sizeof(*g_cells));
	ring_get_init(&g_ring, g_slot, g_cells, CELLS);
}

static void teardown(void)
{
	free(g_slot);
	free(g_cells);
}

/* Records whose clock is their number. */
static void put(uint64_t count)
{
	struct record new = { record_word(RECORD_BEGIN, 1, 0), 0 };
	struct ring_put put;

	while (count--) {
		ck_assert(ring_put_begin(g_slot, g_cells, CELLS - 1, &put));
		new.clock = put.head;
		ck_assert(
			ring_put_commit(g_slot, g_cells, CELLS - 1, &put, new));
	}
}

/* Reads all that is there, in order; returns how many. */
static uint64_t get_all(void)
{
	const struct record *cells;
	uint64_t expected = g_ring.tail, all = 0;
	size_t count;

	ck_assert_int_ge(ring_get_look(&g_ring), 0);
	while ((count = ring_get_run(&g_ring, 100, &cells))) {
		ck_assert_uint_le(count, 100);
		for (size_t i = 0; i < count; i++)
			ck_assert_uint_eq(cells[i].clock, expected++);
		ring_get_consume(&g_ring, count);
		all += count;
	}
	ring_get_publish(&g_ring);
	return all;
}

START_TEST(ring_get_empty_has_nothing)
{
	const struct record *cells;

	ck_assert_int_eq(ring_get_look(&g_ring), 0);
	ck_assert_uint_eq(ring_get_run(&g_ring, 10, &cells), 0);
}
END_TEST

START_TEST(ring_get_many_laps_reads_all_in_order)
{
	uint64_t all = 0;

	for (uint64_t lap = 0; lap < 40; lap++) {
		put(1000 + lap);
		all += get_all();
		ck_assert_uint_eq(g_slot->tail, g_slot->head);
	}
	ck_assert_uint_eq(all, g_slot->head);
}
END_TEST

START_TEST(ring_get_full_ring_is_read)
{
	put(CELLS);
	ck_assert_int_eq(ring_get_look(&g_ring), CELLS);
	ck_assert_uint_eq(get_all(), CELLS);
}
END_TEST

START_TEST(ring_get_head_beyond_ring_is_broken)
{
	put(10);
	g_slot->head = g_ring.tail + CELLS + 1;
	ck_assert_int_eq(ring_get_look(&g_ring), -EBADMSG);
}
END_TEST

START_TEST(ring_get_head_backward_is_broken)
{
	put(10);
	get_all();
	g_slot->head = 9;
	ck_assert_int_eq(ring_get_look(&g_ring), -EBADMSG);
}
END_TEST

START_TEST(ring_get_shared_tail_is_never_believed)
{
	put(10);
	g_slot->tail = 1234567;
	g_slot->room = 99;
	ck_assert_uint_eq(get_all(), 10);
	ck_assert_uint_eq(g_slot->tail, 10);
	ck_assert_uint_eq(g_slot->room, 1);
}
END_TEST

static void *wait_for_room(void *context)
{
	uint32_t room = 0;

	(void)context;
	/* order: sc, ROOM: as a writer does */
	atom_store_sc(&g_slot->waiting, 1);
	while (atom_load_sc(&g_slot->tail) == 0)
		syscall(SYS_futex, &g_slot->room, FUTEX_OP_WAIT, room, NULL);
	return NULL;
}

START_TEST(ring_get_publish_wakes_who_waits)
{
	pthread_t writer;

	put(CELLS);
	ck_assert_int_eq(pthread_create(&writer, NULL, wait_for_room, NULL), 0);
	/* Whether it sleeps already or not, it must come back. */
	while (!atom_load_sc(&g_slot->waiting))
		sched_yield();
	get_all();
	ck_assert_int_eq(pthread_join(writer, NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring_get");
	TCase *tcase = suite_case(suite, "ring_get");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, ring_get_empty_has_nothing);
	tcase_add_test(tcase, ring_get_many_laps_reads_all_in_order);
	tcase_add_test(tcase, ring_get_full_ring_is_read);
	tcase_add_test(tcase, ring_get_head_beyond_ring_is_broken);
	tcase_add_test(tcase, ring_get_head_backward_is_broken);
	tcase_add_test(tcase, ring_get_shared_tail_is_never_believed);
	tcase_add_test(tcase, ring_get_publish_wakes_who_waits);
	return suite_run(suite);
}
