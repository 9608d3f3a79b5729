/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/replay/ring_get.h"
#include "shared/atomic.h"
#include "shared/futex.h"
#include "shared/ring_put.h"
#include "tests/suite.h"

#define CELLS RING_CELLS_MIN
#define FILE_CELLS (1u << 15)
#define MS_NS 1000000
/* Cells not yet returned, the page being written, and the next one. */
#define KEPT_BYTES (16384 + 2 * 4096)

static struct slot_shm *g_slot;
static struct record *g_cells;
static uint32_t g_cell_count;
static int g_fd; /* file of the cells */
static struct ring_get g_ring;
static uint64_t g_now_ns = 1;

static void setup(void)
{
	g_slot = aligned_alloc(SHM_LINE, sizeof(*g_slot));
	g_cells = aligned_alloc(16, CELLS * sizeof(*g_cells));
	memset(g_slot, 0, sizeof(*g_slot));
	memset(g_cells, 0, CELLS * sizeof(*g_cells));
	g_cell_count = CELLS;
	ring_get_init(&g_ring, g_slot, g_cells, CELLS, NULL);
}

static void teardown(void)
{
	free(g_slot);
	free(g_cells);
}

static void put(uint64_t count)
{
	struct record new = { record_word(RECORD_BEGIN, 1, 0), 0 };
	struct ring_put put;

	while (count--) {
		ck_assert(ring_put_begin(g_slot, g_cells, g_cell_count - 1,
					 &put));
		new.clock = put.head;
		ck_assert(ring_put_commit(g_slot, g_cells, g_cell_count - 1,
					  &put, new));
	}
}

/* Returns the number of records. */
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
	ring_get_publish(&g_ring, g_now_ns);
	return all;
}

FIXTURE(setup, teardown);

TEST(ring_get_empty_has_nothing)
{
	const struct record *cells;

	ck_assert_int_eq(ring_get_look(&g_ring), 0);
	ck_assert_uint_eq(ring_get_run(&g_ring, 10, &cells), 0);
}

TEST(ring_get_many_laps_reads_all_in_order)
{
	uint64_t all = 0;

	for (uint64_t lap = 0; lap < 40; lap++) {
		put(1000 + lap);
		all += get_all();
		ck_assert_uint_eq(g_slot->tail, g_slot->head);
	}
	ck_assert_uint_eq(all, g_slot->head);
}

TEST(ring_get_full_ring_is_read)
{
	put(CELLS);
	ck_assert_int_eq(ring_get_look(&g_ring), CELLS);
	ck_assert_uint_eq(get_all(), CELLS);
}

TEST(ring_get_head_beyond_ring_is_broken)
{
	put(10);
	g_slot->head = g_ring.tail + CELLS + 1;
	ck_assert_int_eq(ring_get_look(&g_ring), -EBADMSG);
}

TEST(ring_get_head_backward_is_broken)
{
	put(10);
	get_all();
	g_slot->head = 9;
	ck_assert_int_eq(ring_get_look(&g_ring), -EBADMSG);
}

TEST(ring_get_shared_tail_is_never_believed)
{
	put(10);
	g_slot->tail = 1234567;
	g_slot->read = 7654321;
	g_slot->room = 99;
	ck_assert_uint_eq(get_all(), 10);
	ck_assert_uint_eq(g_slot->tail, 10);
	ck_assert_uint_eq(g_slot->read, 10);
	ck_assert_uint_eq(g_slot->room, 1);
}

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

TEST(ring_get_publish_wakes_who_waits)
{
	pthread_t writer;

	put(CELLS);
	ck_assert_int_eq(pthread_create(&writer, NULL, wait_for_room, NULL), 0);
	/* The writer returns, asleep or not. */
	while (!atom_load_sc(&g_slot->waiting))
		sched_yield();
	get_all();
	ck_assert_int_eq(pthread_join(writer, NULL), 0);
}

/* --- returned memory ----------------------------------------------------- */

/* The writer must not write into cells whose memory is being returned. */
int madvise(void *address, size_t bytes, int advice)
{
	uint64_t index = (uint64_t)((struct record *)address - g_cells);
	uint64_t behind = (index - g_slot->tail) & (g_cell_count - 1);

	if (advice == MADV_REMOVE)
		ck_assert_uint_le(behind + bytes / sizeof(struct record),
				  g_ring.tail - g_slot->tail);
	return (int)syscall(SYS_madvise, address, bytes, advice);
}

static void setup_file(void)
{
	g_slot = aligned_alloc(SHM_LINE, sizeof(*g_slot));
	memset(g_slot, 0, sizeof(*g_slot));
	g_cell_count = FILE_CELLS;
	g_fd = memfd_create("test_ring_get", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(g_fd, FILE_CELLS * sizeof(*g_cells)), 0);
	g_cells = mmap(NULL, FILE_CELLS * sizeof(*g_cells),
		       PROT_READ | PROT_WRITE, MAP_SHARED, g_fd, 0);
	ck_assert_ptr_ne(g_cells, MAP_FAILED);
	/* Returning memory may take long on a busy machine. */
	ring_get_init(&g_ring, g_slot, g_cells, FILE_CELLS, NULL);
}

static void teardown_file(void)
{
	munmap(g_cells, FILE_CELLS * sizeof(*g_cells));
	close(g_fd);
	free(g_slot);
}

static uint64_t bytes_in_file(void)
{
	struct stat status;

	ck_assert_int_eq(fstat(g_fd, &status), 0);
	return (uint64_t)status.st_blocks * 512;
}

/* One cell per @cell_ns; the reader looks after every @each. */
static void put_and_get(uint64_t count, uint64_t each, uint64_t cell_ns)
{
	for (; count >= each; count -= each) {
		put(each);
		g_now_ns += each * cell_ns;
		ck_assert_uint_eq(get_all(), each);
		ck_assert_uint_eq(g_slot->read, g_slot->head);
		ck_assert_uint_le(g_slot->tail, g_slot->read);
	}
}

FIXTURE(setup_file, teardown_file);

TEST(ring_get_gives_memory_of_slow_writers_back)
{
	for (int i = 0; i < 3 * 8; i++) {
		/* The upper limit of a slow rate. */
		put_and_get(FILE_CELLS / 8, 100, 195313);
		ck_assert_uint_le(bytes_in_file(), KEPT_BYTES);
		ck_assert_uint_ge(g_slot->tail + 1024, g_slot->read);
		ck_assert_uint_eq(g_ring.given, g_slot->tail);
	}
}

/* Large bursts after long pauses, some across the end of the ring. */
TEST(ring_get_gives_memory_of_rare_bursts_back)
{
	put_and_get(1, 1, MS_NS);
	for (int i = 0; i < 20; i++) {
		put_and_get(FILE_CELLS / 3, FILE_CELLS / 3, MS_NS);
		ck_assert_uint_le(bytes_in_file(), KEPT_BYTES);
	}
}

TEST(ring_get_leaves_memory_to_fast_writers)
{
	put_and_get(2 * FILE_CELLS, 1024, 1000);
	ck_assert_uint_eq(bytes_in_file(), FILE_CELLS * sizeof(*g_cells));
	ck_assert_uint_eq(g_slot->tail, g_slot->read);
	/* A writer that slows down has returned its memory after a lap. */
	put_and_get(FILE_CELLS + 4096, 64, MS_NS);
	ck_assert_uint_le(bytes_in_file(), KEPT_BYTES);
}

/* Anonymous memory plays a kernel that cannot punch holes. */
TEST(ring_get_goes_on_where_memory_cannot_be_given_back)
{
	void *again = mmap(g_cells, FILE_CELLS * sizeof(*g_cells),
			   PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	ck_assert_ptr_eq(again, g_cells);
	put_and_get(3 * FILE_CELLS, 100, MS_NS);
	ck_assert_uint_eq(g_slot->tail, g_slot->read);
}

TEST(ring_get_waits_before_it_gives_memory_back)
{
	uint64_t wait_ns = UINT64_MAX;

	g_ring.wait_ns = &wait_ns;
	put_and_get(FILE_CELLS, 100, MS_NS);
	ck_assert_uint_ge(bytes_in_file(),
			  (FILE_CELLS - 100) * sizeof(*g_cells));
	ck_assert_uint_ge(g_slot->tail + FILE_CELLS / 16, g_slot->read);
	g_ring.wait_ns = NULL;
	put_and_get(FILE_CELLS + 4096, 100, MS_NS);
	ck_assert_uint_le(bytes_in_file(), KEPT_BYTES);
}

TEST(ring_get_survives_a_writer_that_writes_beyond_its_room)
{
	put_and_get(1000, 1000, MS_NS);
	ck_assert_uint_eq(g_slot->tail, 0);
	g_slot->head += FILE_CELLS;
	g_now_ns += FILE_CELLS * (uint64_t)MS_NS;
	ck_assert_int_eq(ring_get_look(&g_ring), FILE_CELLS);
	ring_get_consume(&g_ring, FILE_CELLS);
	ring_get_publish(&g_ring, g_now_ns);
	ck_assert_uint_eq(g_slot->tail, FILE_CELLS + 1000);
}
