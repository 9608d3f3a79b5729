/* SPDX-License-Identifier: Apache-2.0
 *
 * put_run - appends a run by the restartable sequence, or copies it with
 * signals blocked (put_copy.c). Where a seccomp filter may kill the program for
 * the system calls of the latter, a run is dropped and counted; records of one
 * cell need none. docs/RING.md has the rules.
 */
#include "preload/ring/put_run.h"

#include "preload/core/count.h"
#include "preload/core/gate.h"
#include "preload/core/thread.h"
#include "preload/ring/depth.h"
#include "preload/ring/hook.h"
#include "preload/ring/slot.h"
#include "shared/record_ext.h"

/* Marks that an allocation is not recorded, before the caller of the allocator
 * gets the block. Without the mark the free of the block would look like a
 * double free. */
static void blocks_are_lost(void)
{
	uint32_t *flags = &g_shim.page->flags;

	/* relaxed: a bit that is never cleared */
	if (unlikely(!(atom_load_rlx(flags) & PAGE_BLOCKS_LOST)))
		/* order: sc, FLAGS: keeps what another thread sets */
		atom_or_sc(flags, PAGE_BLOCKS_LOST);
}

static void count_dropped(enum put_class class)
{
	struct slot_shm *slot = t_thread.slot;

	switch (class) {
	case PUT_ALLOC:
		blocks_are_lost();
		count_up(&slot->dropped_allocs);
		count_up(&t_thread.lost_allocs);
		break;
	case PUT_FREE:
		count_up(&slot->dropped_frees);
		count_up(&t_thread.lost_frees);
		break;
	case PUT_REALLOC:
		count_dropped(PUT_ALLOC);
		count_dropped(PUT_FREE);
		break;
	case PUT_NOTE:
	case PUT_NOTE_END:
		count_up(&slot->dropped_notes);
		break;
	case PUT_SAMPLE:
		count_up(&slot->dropped_samples);
		break;
	default:
		break;
	}
}

/* Counts a record of a thread without slot. */
static void count_unslotted(enum put_class class)
{
	struct page_shm *page = g_shim.page;

	/* relaxed, all: a count */
	if (class == PUT_BEGIN)
		slot_count_span();
	if (class == PUT_ALLOC || class == PUT_REALLOC)
		blocks_are_lost();
	/* A vfork() child is not recorded although it has its parent's slot. */
	if (t_thread.in_vfork)
		return;
	if (class == PUT_ALLOC || class == PUT_REALLOC)
		atom_add_rlx(&page->unslotted_allocs, 1);
	if (class == PUT_FREE || class == PUT_REALLOC)
		atom_add_rlx(&page->unslotted_frees, 1);
}

/* Records the number of dropped allocations and frees before the next recorded
 * one.
 */
static void tell_alloc_loss(void)
{
	struct record cells[2] = {
		{ record_ext_word(EXT_ALLOC_LOSS, 1, 0, 0), 0 },
		{ count_take(&t_thread.lost_allocs),
		  count_take(&t_thread.lost_frees) },
	};
	const struct put_run loss = { .cells = cells, .count = 2 };

	if ((cells[1].word || cells[1].clock) &&
	    put_other(0, &loss, false) != PUT_RECORDED) {
		/* relaxed, both: counts */
		atom_add_rlx(&t_thread.lost_allocs, cells[1].word);
		atom_add_rlx(&t_thread.lost_frees, cells[1].clock);
	}
}

/* Records only the free of a realloc(), as a pause requires. */
static void put_free(uint64_t address)
{
	struct record cells[2] = {
		{ record_ext_word(EXT_FREE, 1, 0, 0), 0 },
		{ address, 0 },
	};
	const struct put_run run = { .cells = cells, .count = 2 };

	if (put_other(cells[0].word, &run, true) == PUT_COUNTED)
		count_dropped(PUT_FREE);
}

/* Drops in a row between two full looks at the ring and the collector. */
#define DROPS_PER_LOOK 1024

/* Returns true if the ring is as full as at the last dropped record. */
static bool still_full(uint64_t cells)
{
	/* order: acq, TAIL: as in put_room.c, if it is not */
	return t_thread.full_drops && cells >= t_thread.full_cells &&
	       atom_load_acq(&t_thread.slot->tail) == t_thread.full_tail &&
	       ++t_thread.full_drops % DROPS_PER_LOOK;
}

/* put_other() that remembers how full the ring was. */
static enum put_end put_and_look(uint64_t word, const struct put_run *run,
				 bool wait)
{
	uint64_t cells = run_cells(run);
	enum put_end end;
	uint64_t tail;

	/* order: acq, TAIL: before the look that may find no room */
	tail = atom_load_acq(&t_thread.slot->tail);
	end = put_other(word, run, wait);
	t_thread.full_tail = tail;
	t_thread.full_cells = cells;
	t_thread.full_drops = end == PUT_COUNTED && !g_shim.block;
	return end;
}

static enum put_end put_no_span(const struct put_run *run, uint64_t word,
				enum put_class class)
{
	bool is_alloc = class == PUT_ALLOC || class == PUT_REALLOC;
	enum put_end end;

	if (class != PUT_FREE && class != PUT_NOTE_END &&
	    unlikely(put_is_paused())) {
		if (is_alloc) {
			blocks_are_lost();
			/* relaxed: a count */
			atom_add_rlx(&t_thread.slot->paused_allocs, 1);
		}
		put_limits_close();
		if (class == PUT_REALLOC && run)
			put_free(run->cells[1].word);
		return PUT_COUNTED;
	}
	if (unlikely(t_thread.full_drops) && still_full(run_cells(run))) {
		count_dropped(class);
		return PUT_COUNTED;
	}
	if (unlikely(t_thread.lost_allocs || t_thread.lost_frees) &&
	    (is_alloc || class == PUT_FREE))
		tell_alloc_loss();
	end = put_and_look(word, run, class != PUT_SAMPLE);
	if (end == PUT_COUNTED)
		count_dropped(class);
	return end;
}

/* Returns true if @run is too long for the ring, or if there is no ring. */
static bool too_long(const struct put_run *run)
{
	return run_cells(run) > record_run_max((uint32_t)t_thread.mask + 1);
}

/* Puts a run that is too long, or that only the fast path can put. */
static enum put_end put_if_fast(const struct put_run *run, uint64_t word,
				enum put_class class, uintptr_t sp)
{
	bool put;

	if (class == PUT_BEGIN || class == PUT_END) {
		/* The span without its arguments fits, and needs no system
		 * call. */
		count_dropped(PUT_NOTE);
		return put_span(word, NULL, sp);
	}
	put = !too_long(run) &&
	      put_make_room(LIMIT_BEGIN, run_cells(run), false) && put_map() &&
	      !run->cut && put_cells(run, T_LIMIT_BEGIN);
	if (put_must_see_all())
		put_limits_close();
	if (put)
		return PUT_RECORDED;
	count_dropped(class);
	return PUT_COUNTED;
}

/* Puts a run of a thread that may record. */
static enum put_end put_attached(const struct put_run *run,
				 enum put_class class, uintptr_t sp)
{
	uint64_t word = run->cells[run->stamp].word;
	const struct put_run *longer = run_cells(run) > 1 ? run : NULL;

	t_thread.aborts = 0;
	if ((class == PUT_BEGIN || class == PUT_END) && g_shim.depth &&
	    !depth_admits(word, sp))
		return PUT_COUNTED;
	if (longer && unlikely(g_shim.no_syscalls || too_long(longer)))
		return put_if_fast(longer, word, class, sp);
	if (class == PUT_BEGIN || class == PUT_END)
		return put_span(word, longer, sp);
	return put_no_span(longer, word, class);
}

bool put_run_of(const struct put_run *run, enum put_class class, uintptr_t sp,
		uintptr_t function)
{
	uint64_t limit = class == PUT_END ? T_LIMIT_END : T_LIMIT_BEGIN;
	enum put_end end;

	if (run_cells(run) == 1
		    ? put_cell(run->cells->word, limit)
		    : !run->cut && !too_long(run) && put_cells(run, limit))
		return true;
	do {
		switch (hook_may_record(function)) {
		case MAY_RECORD:
			break;
		case MAY_COUNT:
			count_unslotted(class);
			return false;
		default:
			return false;
		}
		end = put_attached(run, class, sp);
	} while (end == PUT_CHILD);
	return end == PUT_RECORDED;
}

bool put_run(struct record *cells, uint32_t count, uint32_t stamp,
	     enum put_class class, uintptr_t sp)
{
	const struct put_run run = { .cells = cells,
				     .count = count,
				     .stamp = stamp };

	return put_run_of(&run, class, sp, 0);
}
