/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/alloc/alloc.h"

#include "preload/core/thread.h"
#include "preload/ring/put_run.h"
#include "shared/atomic.h"

__thread struct alloc_thread t_alloc;

static void put_one(uint64_t word, enum put_class class, const void *caller)
{
	struct record cell = { word, 0 };
	const struct put_run run = { .cells = &cell, .count = 1 };

	put_run_of(&run, class, (uintptr_t)__builtin_frame_address(0),
		   (uintptr_t)caller);
}

/* Puts EXT_ALLOC or EXT_FREE. */
static void put_two(enum record_ext ext, uint32_t site, const void *block,
		    uint64_t size, const void *caller)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	struct record cells[2] = {
		{ record_ext_word(ext, 1, site, sp), 0 },
		{ (uintptr_t)block, size },
	};
	const struct put_run run = { .cells = cells, .count = 2 };

	put_run_of(&run, ext == EXT_ALLOC ? PUT_ALLOC : PUT_FREE, sp,
		   (uintptr_t)caller);
}

void alloc_put(const void *block, uint64_t size, const void *caller)
{
	uint64_t address = (uintptr_t)block;

	if (record_alloc_fits(address, size))
		put_one(record_alloc_word(RECORD_ALLOC, address, size),
			PUT_ALLOC, caller);
	else
		put_two(EXT_ALLOC, 0, block, size, caller);
}

void alloc_put_free(const void *block, const void *caller)
{
	uint64_t address = (uintptr_t)block;

	if (record_alloc_fits(address, 0))
		put_one(record_alloc_word(RECORD_FREE, address, 0), PUT_FREE,
			caller);
	else
		put_two(EXT_FREE, 0, block, 0, caller);
}

void alloc_exact_realloc(const void *old, uint64_t before, const void *block,
			 uint64_t size, const void *caller)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	struct record cells[3] = {
		{ record_ext_word(EXT_REALLOC, 2, 0, sp), 0 },
		{ (uintptr_t)old, before },
		{ (uintptr_t)block, size },
	};
	const struct put_run run = { .cells = cells, .count = 3 };

	put_run_of(&run, PUT_REALLOC, sp, (uintptr_t)caller);
}

void alloc_put_report(uint32_t site, const void *block, uint64_t size,
		      const void *caller)
{
	put_two(EXT_ALLOC, site, block, size, caller);
}

void alloc_put_report_free(uint32_t site, const void *block, const void *caller)
{
	put_two(EXT_FREE, site, block, 0, caller);
}
