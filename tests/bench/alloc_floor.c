/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc_floor - the least that a preloaded malloc() and free() can cost: a call
 * through a pointer, and with FLOOR_RECORD a read of the clock and a store of
 * 24 bytes each, in a private buffer of 4 MiB a thread that wraps.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "shared/compiler.h"
#include "shared/ticks.h"

#define BYTES (4u << 20)
#define CELLS (BYTES / 32) /* of 24 bytes, and easy to wrap */

struct cell {
	uint64_t address, size, clock, unused;
};

/* Of glibc, until there was time to look for the next ones. */
void *__libc_malloc(size_t size);
void __libc_free(void *block);

static void *(*g_malloc)(size_t) = __libc_malloc;
static void (*g_free)(void *) = __libc_free;

__attribute__((constructor)) static void find(void)
{
	*(void **)&g_free = dlsym(RTLD_NEXT, "free");
	*(void **)&g_malloc = dlsym(RTLD_NEXT, "malloc");
}

#ifdef FLOOR_RECORD
static __thread struct cell *t_cells;
static __thread uint64_t t_head;

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
static inline void put(uint64_t address, uint64_t size)
{
	(void)address;
	(void)size;
}
#endif

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
