/* SPDX-License-Identifier: Apache-2.0
 *
 * stress_ring [THREADS [SECONDS [SEED]]] - both halves of rings, as threads.
 *
 * THREADS writers put numbered records into a ring each by shared/ring_put.h.
 * Like preload/ring/put.c, they look at the tail and ring the doorbell at each
 * quarter of the ring, and wait on room when it is full. Like a worker of
 * collector/drain/drain.c, one reader visits all rings by
 * collector/replay/ring_get.h and sleeps on the doorbell that the writers
 * share.
 *
 * Every record must arrive once, whole and in order, and no wakeup may be lost.
 * A wait of WAIT_SECONDS fails if it times out with work to do. (A timeout
 * without work is no failure: the other side may not have had a CPU.)
 *
 * Rings have random, small sizes, and both sides dawdle at random, so either
 * may be the slow one. Some rings lie in a file in memory. Their reader takes
 * all writers for slow and returns memory while they write. The printed seed
 * fixes sizes and dawdling, but not the scheduler.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/replay/ring_get.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/futex.h"
#include "shared/ring_put.h"
#include "tests/random.h"

#define THREADS_MAX 64
#define RING_CELLS_LOG2_LOW 4
#define RING_CELLS_LOG2_HIGH 12
#define FILE_CELLS_LOG2 14 /* enough to return memory */
#define FILES 4 /* every fourth ring is in a file */
#define HOUR_NS 3600000000000ULL
#define CHUNKS 4
#define WAIT_SECONDS 5

struct writer {
	struct slot_shm slot;
	struct record *cells;
	uint64_t cell_count;
	uint64_t random;
	uint64_t waits;
	uint32_t index;
	pthread_t thread;
};

struct reader {
	struct ring_get ring[THREADS_MAX];
	uint64_t read[THREADS_MAX];
	uint64_t random;
	uint64_t sleeps;
	uint64_t ns; /* simulated time: an hour between two looks */
};

static struct doorbell_shm g_doorbell;
static struct writer g_writer[THREADS_MAX];
static uint32_t g_threads;
static uint64_t g_seed;
static bool g_stop;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(
	const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fprintf(stderr, "stress_ring, seed %llu: ", (unsigned long long)g_seed);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	va_end(list);
	_exit(1);
}

/* Pauses now and then. */
static void dawdle(uint64_t *random)
{
	uint64_t turns = next_random(random);

	if (turns % 64)
		return;
	if (turns % 4096 == 0)
		sched_yield();
	for (turns = turns >> 32 & 0xfff; turns; turns--)
		__asm__ volatile("" ::: "memory");
}

/* Returns record @number of writer @index. */
static struct record expected_record(uint32_t index, uint64_t number)
{
	uint64_t mixed = (number + g_seed + index) * 0x9e3779b97f4a7c15ULL;

	return (struct record){
		.word = record_word(RECORD_BEGIN, number & RECORD_PAYLOAD_MAX,
				    mixed),
		.clock = mixed,
	};
}

/* Returns false on a timeout. */
static bool futex_wait(const uint32_t *word, uint32_t expected)
{
	struct timespec timeout = { WAIT_SECONDS, 0 };

	return syscall(SYS_futex, word, FUTEX_OP_WAIT, expected, &timeout, NULL,
		       0) == 0 ||
	       errno != ETIMEDOUT;
}

static void futex_wake(const uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_OP_WAKE, 1, NULL, NULL, 0);
}

/* --- a writer, as in preload/ring/put.c and wait.c ----------------------- */

static void ring_doorbell(struct slot_shm *slot)
{
	/* order: sc, ASLEEP: our head first, then a look at the sleeper */
	atom_add_sc(&slot->head, 0);
	/* order: sc, ASLEEP: it sees our head, or we see it asleep */
	if (!atom_load_sc(&g_doorbell.asleep))
		return;
	/* relaxed: the futex call orders it for the sleeper */
	atom_add_rlx(&g_doorbell.rings, 1);
	futex_wake(&g_doorbell.rings);
}

static uint64_t cells_used(const struct writer *writer)
{
	/* order: acq, TAIL: cells below the tail are ours to overwrite */
	uint64_t tail = atom_load_acq(&writer->slot.tail);

	/* relaxed: this thread's own head */
	return atom_load_rlx(&writer->slot.head) - tail;
}

static void wait_for_room(struct writer *writer)
{
	struct slot_shm *slot = &writer->slot;
	bool timed_out = false;

	for (;;) {
		/* relaxed: a change after this makes the futex return */
		uint32_t room = atom_load_rlx(&slot->room);
		uint64_t tail;

		/* order: sc, ROOM: the reader sees us, or we its tail */
		atom_store_sc(&slot->waiting, 1);
		/* order: sc, ROOM: after waiting = 1 */
		tail = atom_load_sc(&slot->tail);
		/* relaxed: this thread's own head */
		if (atom_load_rlx(&slot->head) - tail <= writer->cell_count / 2)
			break;
		writer->waits++;
		timed_out = !futex_wait(&slot->room, room);
	}
	if (timed_out)
		fail("writer %u slept on although there was room",
		     writer->index);
	/* relaxed: a wake too many is harmless */
	atom_store_rlx(&slot->waiting, 0);
}

static void put(struct writer *writer, uint64_t number)
{
	uint64_t mask = writer->cell_count - 1;
	struct ring_put put;

	if (!ring_put_begin(&writer->slot, writer->cells, mask, &put) ||
	    !ring_put_commit(&writer->slot, writer->cells, mask, &put,
			     expected_record(writer->index, number)))
		fail("writer %u: a put failed without a signal", writer->index);
}

static void *write_records(void *context)
{
	struct writer *writer = context;
	uint64_t chunk = writer->cell_count / CHUNKS, number;

	/* relaxed: that it comes is enough */
	for (number = 0; !atom_load_rlx(&g_stop); number++) {
		if (number % chunk == 0) {
			ring_doorbell(&writer->slot);
			if (cells_used(writer) > writer->cell_count - chunk)
				wait_for_room(writer);
		}
		put(writer, number);
		dawdle(&writer->random);
	}
	/* order: rel, STATE: head is final before DEAD */
	atom_store_rel(&writer->slot.state, SLOT_DEAD);
	/* relaxed: the futex call orders it for the sleeper */
	atom_add_rlx(&g_doorbell.rings, 1);
	futex_wake(&g_doorbell.rings);
	return NULL;
}

/* --- the reader, as in collector/drain/drain.c --------------------------- */

static void check_cells(const struct record *cells, size_t count,
			uint32_t index, uint64_t number)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct record expected = expected_record(index, number + i);
		/* relaxed: HEAD orders them */
		uint64_t word = atom_load_rlx(&cells[i].word);
		uint64_t clock = atom_load_rlx(&cells[i].clock);

		if (word != expected.word || clock != expected.clock)
			fail("writer %u, record %llu: found record %llu, %s",
			     index, (unsigned long long)(number + i),
			     (unsigned long long)record_payload(word),
			     clock == expected.clock ? "clock right"
						     : "clock wrong");
	}
}

static void drain(struct reader *reader, uint32_t index)
{
	struct ring_get *ring = &reader->ring[index];
	const struct record *cells;
	size_t count;

	if (ring_get_look(ring) < 0)
		fail("writer %u: its head is not what a head can be", index);
	while ((count = ring_get_run(ring, ring->cell_count / CHUNKS,
				     &cells))) {
		check_cells(cells, count, index, reader->read[index]);
		reader->read[index] += count;
		ring_get_consume(ring, count);
		ring_get_publish(ring, reader->ns += HOUR_NS);
		dawdle(&reader->random);
	}
}

static bool has_work(struct reader *reader, const bool *over)
{
	uint32_t i;

	for (i = 0; i < g_threads; i++) {
		struct ring_get *ring = &reader->ring[i];

		if (ring_get_look(ring) >= (int64_t)ring->cell_count / CHUNKS)
			return true;
		/* order: acq, STATE: a DEAD one's head is final */
		if (!over[i] &&
		    atom_load_acq(&g_writer[i].slot.state) == SLOT_DEAD)
			return true;
	}
	return false;
}

static void sleep_unless_work(struct reader *reader, const bool *over)
{
	/* relaxed: a ring after this ends the wait */
	uint32_t rings = atom_load_rlx(&g_doorbell.rings);

	/* order: sc, ASLEEP: then we look at the heads */
	atom_store_sc(&g_doorbell.asleep, 1);
	if (!has_work(reader, over)) {
		reader->sleeps++;
		if (!futex_wait(&g_doorbell.rings, rings) &&
		    has_work(reader, over))
			fail("the reader slept on although there was work");
	}
	/* order: sc, ASLEEP: as in drain.c, where nobody needs the order */
	atom_store_sc(&g_doorbell.asleep, 0);
}

static void read_records(struct reader *reader)
{
	bool over[THREADS_MAX] = { false };
	uint32_t left = g_threads, i;

	while (left) {
		for (i = 0; i < g_threads; i++) {
			/* order: acq, STATE: a DEAD one's head is final */
			bool dead = atom_load_acq(&g_writer[i].slot.state) ==
				    SLOT_DEAD;

			drain(reader, i);
			left -= dead && !over[i];
			over[i] = dead;
		}
		if (left)
			sleep_unless_work(reader, over);
	}
}

/* --- both ---------------------------------------------------------------- */

static void *stop_later(void *seconds)
{
	sleep((unsigned int)(uintptr_t)seconds);
	/* relaxed: that it comes is enough */
	atom_store_rlx(&g_stop, true);
	return NULL;
}

/* @count zeroed cells, in a file if @file; munmap() frees them. */
static struct record *make_cells(uint64_t count, bool file)
{
	uint64_t bytes = count * sizeof(struct record);
	int fd = file ? memfd_create("stress_ring", MFD_CLOEXEC) : -1;
	int flags = file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	void *cells = MAP_FAILED;

	if (!file || (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0))
		cells = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (cells == MAP_FAILED)
		fail("out of memory");
	if (fd >= 0)
		close(fd);
	return cells;
}

static void start_writer(struct reader *reader, uint32_t index)
{
	struct writer *writer = &g_writer[index];
	uint64_t log2 = RING_CELLS_LOG2_LOW + next_random(&reader->random) %
						      (RING_CELLS_LOG2_HIGH -
						       RING_CELLS_LOG2_LOW + 1);

	writer->index = index;
	if (index % FILES == 0)
		log2 = FILE_CELLS_LOG2;
	writer->cell_count = 1ULL << log2;
	writer->random = next_random(&reader->random);
	writer->cells = make_cells(writer->cell_count, index % FILES == 0);
	ring_get_init(&reader->ring[index], &writer->slot, writer->cells,
		      (uint32_t)writer->cell_count, NULL);
	if (pthread_create(&writer->thread, NULL, write_records, writer))
		fail("cannot start a thread");
}

static uint64_t argument(int argc, char **argv, int index, uint64_t otherwise)
{
	return index < argc ? strtoull(argv[index], NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
	static struct reader reader;
	uint64_t seconds = argument(argc, argv, 2, 2), records = 0, waits = 0;
	pthread_t stopper;
	uint32_t i;

	g_threads = (uint32_t)argument(argc, argv, 1, 3);
	g_seed = argument(argc, argv, 3, (uint64_t)time(NULL));
	if (!g_threads || g_threads > THREADS_MAX || !g_seed)
		fail("wants 1 to %d threads, and a seed", THREADS_MAX);
	printf("stress_ring: %u threads, %llu s, seed %llu\n", g_threads,
	       (unsigned long long)seconds, (unsigned long long)g_seed);
	fflush(stdout);
	reader.random = g_seed;
	for (i = 0; i < g_threads; i++)
		start_writer(&reader, i);
	if (pthread_create(&stopper, NULL, stop_later,
			   (void *)(uintptr_t)seconds))
		fail("cannot start a thread");
	read_records(&reader);
	pthread_join(stopper, NULL);
	for (i = 0; i < g_threads; i++) {
		pthread_join(g_writer[i].thread, NULL);
		if (reader.read[i] != g_writer[i].slot.head)
			fail("writer %u: not all its records were read", i);
		records += reader.read[i];
		waits += g_writer[i].waits;
		munmap(g_writer[i].cells,
		       g_writer[i].cell_count * sizeof(struct record));
	}
	printf("stress_ring: %llu records, %llu waits for room, %llu sleeps\n",
	       (unsigned long long)records, (unsigned long long)waits,
	       (unsigned long long)reader.sleeps);
	return 0;
}
