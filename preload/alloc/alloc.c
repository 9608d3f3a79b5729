/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/alloc/alloc.h"

#include "preload/core/thread.h"
#include "preload/ring/put_run.h"
#include "shared/atomic.h"

/* How many cells of the ring are searched for what was recorded during a real
 * function. */
#define TOLD_CELLS 64

__thread struct alloc_thread t_alloc;

/* Whether the record at @cell, which goes on in @next and @second if it is
 * longer, says that @address was allocated. */
static bool tells(const struct record *cell, const struct record *next,
		  const struct record *second, uint64_t address)
{
	uint64_t word = cell->word;

	if (record_kind(word) == RECORD_ALLOC)
		return record_alloc_address(word) == address;
	if (record_kind(word) != RECORD_EXT)
		return false;
	return (record_ext(word) == EXT_ALLOC && next->word == address) ||
	       (record_ext(word) == EXT_REALLOC && second->word == address);
}

/*
 * Allocations were recorded or counted during the real function, by what it
 * calls or by signal handlers. Is that of @block among them? Mostly it is the
 * last one. The ring knows those before. (Data of another record might look
 * like such a record: that is neglected.)
 */
bool alloc_told_late(const void *block)
{
	const struct record *cells = t_thread.cells;
	uint64_t mask = t_thread.mask, address = (uintptr_t)block;
	uint64_t head;

	if (t_alloc.last == block)
		return true;
	if (!t_thread.slot)
		return false;
	/* relaxed: this thread's own */
	head = atom_load_rlx(&t_thread.slot->head);
	for (uint64_t i = 1; i <= MIN(head, (uint64_t)TOLD_CELLS); i++) {
		const struct record *cell = &cells[(head - i) & mask];

		if (record_kind(cell->word) == RECORD_FREE &&
		    record_alloc_address(cell->word) == address)
			return false;
		if (tells(cell, &cells[(head - i + 1) & mask],
			  &cells[(head - i + 2) & mask], address))
			return true;
	}
	return false;
}

static void put_one(uint64_t word, enum put_class class, const void *caller)
{
	struct record cell = { word, 0 };
	const struct put_run run = { .cells = &cell, .count = 1 };

	put_run_of(&run, class, (uintptr_t)__builtin_frame_address(0),
		   (uintptr_t)caller);
}

/* EXT_ALLOC or EXT_FREE. */
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

	t_alloc.last = block;
	t_alloc.told++;
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
