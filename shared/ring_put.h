/* SPDX-License-Identifier: Apache-2.0
 *
 * ring_put - the writer's half of a ring, without restartable sequences. The
 * hooks' fast path is assembly (preload/ring/hook_x86_64.S). Slow paths,
 * machines and threads without rseq use this, and so does the writer of the
 * stress tests. docs/RING.md explains why signals cannot break it.
 */
#ifndef PERFREC_SHARED_RING_PUT_H
#define PERFREC_SHARED_RING_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/atomic.h"
#include "shared/ring_shm.h"

#if defined(__SANITIZE_THREAD__)
/* ThreadSanitizer does not see assembly. These are the same steps in C, correct
 * only while no signal handler records. */
static inline bool cell_swap(struct record *cell, struct record old,
			     struct record new)
{
	(void)old;
	*cell = new;
	return true;
}

static inline bool head_advance(uint64_t *head, uint64_t old)
{
	/* order: rel, HEAD: the cell is whole below the new head */
	atom_store_rel(head, old + 1);
	return true;
}
#elif defined(__x86_64__)
static inline bool cell_swap(struct record *cell, struct record old,
			     struct record new)
{
	bool swapped;

	__asm__ volatile("cmpxchg16b %1"
			 : "=@ccz"(swapped), "+m"(*cell), "+a"(old.word),
			   "+d"(old.clock)
			 : "b"(new.word), "c"(new.clock)
			 : "memory");
	return swapped;
}

/* order: rel, HEAD: x86 keeps the cell's store before this one */
static inline bool head_advance(uint64_t *head, uint64_t old)
{
	bool swapped;

	__asm__ volatile("cmpxchgq %3, %1"
			 : "=@ccz"(swapped), "+m"(*head), "+a"(old)
			 : "r"(old + 1)
			 : "memory");
	return swapped;
}
#elif defined(__aarch64__)
/* An exception return clears the exclusive monitor, so a signal handler between
 * load and store makes the store fail, as a changed value does. */
static inline bool cell_swap(struct record *cell, struct record old,
			     struct record new)
{
	uint64_t word, clock;
	uint32_t failed = 1;

	__asm__ volatile("ldxp %0, %1, %3\n\t"
			 "cmp %0, %4\n\t"
			 "ccmp %1, %5, #0, eq\n\t"
			 "b.ne 1f\n\t"
			 "stxp %w2, %6, %7, %3\n"
			 "1:"
			 : "=&r"(word), "=&r"(clock), "+&r"(failed), "+Q"(*cell)
			 : "r"(old.word), "r"(old.clock), "r"(new.word),
			   "r"(new.clock)
			 : "memory", "cc");
	return !failed;
}

/* order: rel, HEAD: stlxr keeps the cell's store before this one */
static inline bool head_advance(uint64_t *head, uint64_t old)
{
	uint64_t seen;
	uint32_t failed = 1;

	__asm__ volatile("ldxr %0, %2\n\t"
			 "cmp %0, %3\n\t"
			 "b.ne 1f\n\t"
			 "stlxr %w1, %4, %2\n"
			 "1:"
			 : "=&r"(seen), "+&r"(failed), "+Q"(*head)
			 : "r"(old), "r"(old + 1)
			 : "memory", "cc");
	return !failed;
}
#else
#error "perfrec knows x86-64 and arm64"
#endif

/* A put that has begun: the cell's content at the head, for
 * ring_put_commit(). */
struct ring_put {
	uint64_t head;
	struct record old;
};

/*
 * Begin to put a record into the cell at @slot's head. The caller must read
 * room, clock and process id after this call: they are then at least as new as
 * put->head. Returns false if a signal handler of this thread has recorded
 * meanwhile; the caller then begins again. Only for the owner of @slot, in any
 * context.
 */
static inline bool ring_put_begin(const struct slot_shm *slot,
				  const struct record *cells, uint64_t mask,
				  struct ring_put *put)
{
	/* relaxed, all: only this thread and its handlers write these */
	uint64_t head = atom_load_rlx(&slot->head);
	const struct record *cell = &cells[head & mask];

	put->head = head;
	put->old.word = atom_load_rlx(&cell->word);
	put->old.clock = atom_load_rlx(&cell->clock);
	/* A signal handler before these loads has committed the cell they read.
	 */
	__asm__ volatile("" ::: "memory");
	return atom_load_rlx(&slot->head) == head;
}

/*
 * Commit @new as the record that @put began; its clock must have been read
 * after ring_put_begin(). Returns false and commits nothing if a signal handler
 * of this thread has recorded meanwhile; the caller then begins again. Only for
 * the owner of @slot, in any context.
 */
static inline bool ring_put_commit(struct slot_shm *slot, struct record *cells,
				   uint64_t mask, const struct ring_put *put,
				   struct record new)
{
	return cell_swap(&cells[put->head & mask], put->old, new) &&
	       head_advance(&slot->head, put->head);
}

#endif
