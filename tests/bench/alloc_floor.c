/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc_floor - the least that a preloaded malloc() and free() can cost: a call
 * through a pointer, and with FLOOR_RECORD a read of the clock and a store of
 * 24 bytes each, in a private buffer of 4 MiB a thread that wraps. With
 * FLOOR_READ as well, the store has 16 bytes, in memory that another process
 * reads at once and then forgets: the cost of any recorder whose reader is
 * another process.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ticks.h"

#define BYTES (4u << 20)

#ifdef FLOOR_READ
struct cell {
	uint64_t word, clock;
};
#else
struct cell {
	uint64_t address, size, clock, unused; /* easy to wrap */
};
#endif
#define CELLS (BYTES / sizeof(struct cell))

/* glibc's own functions, used before the next ones are known. */
void *__libc_malloc(size_t size);
void __libc_free(void *block);

static void *(*g_malloc)(size_t) = __libc_malloc;
static void (*g_free)(void *) = __libc_free;

#if defined(FLOOR_READ)
/* One for each thread; claimed by who comes first. */
#define RINGS 16

struct ring {
	_Alignas(64) uint64_t head;
	_Alignas(64) struct cell cells[CELLS];
};

static struct ring *g_rings;
static uint32_t g_claimed;
static __thread struct ring *t_ring;

/* Reads the new records, and does nothing with them. */
static uint64_t take(const struct ring *ring, uint64_t *tail)
{
	/* order: acq, HEAD: the cells before it */
	uint64_t head = atom_load_acq(&ring->head), sum = 0;

	for (; *tail < head; ++*tail)
		sum += ring->cells[*tail % CELLS].word ^
		       ring->cells[*tail % CELLS].clock;
	return sum;
}

static void read_rings(void)
{
	uint64_t tail[RINGS] = { 0 };
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		for (i = 0; i < RINGS; i++) {
			uint64_t sum = take(&g_rings[i], &tail[i]);

			__asm__ volatile("" : : "r"(sum));
		}
		usleep(50);
	}
}

static void begin(void)
{
	void *rings =
		mmap(NULL, RINGS * sizeof(*g_rings), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (rings == MAP_FAILED)
		__builtin_trap();
	g_rings = rings;
	if (!fork())
		read_rings();
}

static struct ring *claim(void)
{
	/* relaxed: a number */
	t_ring = &g_rings[atom_add_rlx(&g_claimed, 1) % RINGS];
	return t_ring;
}

static inline void put(uint64_t address, uint64_t size)
{
	struct ring *ring = t_ring;
	uint64_t head;

	if (unlikely(!ring)) {
		if (!g_rings)
			return;
		ring = claim();
	}
	/* relaxed: only this thread writes it */
	head = atom_load_rlx(&ring->head);
	ring->cells[head % CELLS].word = address << 16 | size;
	ring->cells[head % CELLS].clock = ticks_now();
	/* order: rel, HEAD: the cell before it */
	atom_store_rel(&ring->head, head + 1);
}
#elif defined(FLOOR_RECORD)
static __thread struct cell *t_cells;
static __thread uint64_t t_head;

static void begin(void)
{
}

static struct cell *map_cells(void)
{
	void *cells = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (cells == MAP_FAILED)
		__builtin_trap();
	t_cells = cells;
	return cells;
}

static inline void put(uint64_t address, uint64_t size)
{
	struct cell *cells = likely(t_cells) ? t_cells : map_cells();
	struct cell *cell = &cells[t_head++ % CELLS];

	cell->address = address;
	cell->size = size;
	cell->clock = ticks_now();
}
#else
static void begin(void)
{
}

static inline void put(uint64_t address, uint64_t size)
{
	(void)address;
	(void)size;
}
#endif

__attribute__((constructor)) static void find(void)
{
	*(void **)&g_free = dlsym(RTLD_NEXT, "free");
	*(void **)&g_malloc = dlsym(RTLD_NEXT, "malloc");
	begin();
}

ATTR_EXPORT void *malloc(size_t size)
{
	void *block = g_malloc(size);

	put((uintptr_t)block, size);
	return block;
}

ATTR_EXPORT void free(void *block)
{
	put((uintptr_t)block, 0);
	g_free(block);
}
