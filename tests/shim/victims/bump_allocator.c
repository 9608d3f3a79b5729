/* SPDX-License-Identifier: Apache-2.0
 *
 * bump_allocator - an allocator that may be interrupted anywhere and never
 * reuses an address. Its operator new and delete call malloc() and free(), and
 * so the library that wraps these.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/atomic.h"

#define ARENA_BYTES (256UL << 20)

static char g_arena[ARENA_BYTES] __attribute__((aligned(4096)));
static size_t g_used;

void *malloc(size_t size);
void free(void *block);
void *operator_new(size_t size) __asm__("_Znwm");
void operator_delete(void *block) __asm__("_ZdlPv");

static void *take(size_t alignment, size_t size)
{
	/* The size precedes each block. No two blocks share an address. */
	size_t whole = size + 16 + alignment + 16;
	size_t at = atom_add_sc(&g_used, (whole + 15) & ~15UL);
	uintptr_t block = (uintptr_t)g_arena + at + 16;

	if (at + whole > ARENA_BYTES)
		return NULL;
	block = (block + alignment - 1) & -alignment;
	((size_t *)block)[-1] = size;
	return (void *)block;
}

void *malloc(size_t size)
{
	return take(16, size);
}

void *calloc(size_t count, size_t size)
{
	return take(16, count * size);
}

void *realloc(void *old, size_t size)
{
	void *block = take(16, size);
	size_t was = old ? ((size_t *)old)[-1] : 0;

	return block && old ? memcpy(block, old, was < size ? was : size)
			    : block;
}

void free(void *block)
{
	(void)block;
}

void *memalign(size_t alignment, size_t size)
{
	return take(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return take(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	*block = take(alignment, size);
	return *block ? 0 : 12;
}

/* volatile: keeps the compiler from a tail call. */
void *operator_new(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

void operator_delete(void *block)
{
	void *volatile gone = block;

	free(gone);
}
