/* SPDX-License-Identifier: Apache-2.0
 *
 * slot_memory - the rings that this process may touch.
 *
 * The rings of an arena take gigabytes of address space; most programs use a
 * few megabytes. All rings start without access, so tools that scan a process'
 * memory, such as valgrind's leak check, skip them.
 *
 * A slot gets access when a thread of this process first claims it, and keeps
 * it, so the next claim costs nothing. Threads claim the lowest free slot, so
 * the slots with access are neighbours and form one mapping for the kernel. A
 * change of access stops all page faults of the process, so with more threads
 * more slots get access at once.
 *
 * A forked child has the mappings of its parent and a copy of this module's
 * state. The parent cannot touch slots that the child claims later.
 */
#ifndef PERFREC_PRELOAD_RING_SLOT_MEMORY_H
#define PERFREC_PRELOAD_RING_SLOT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* The arena takes at most this fraction (1/8) of RLIMIT_AS. */
#define ADDRESS_SPACE_SHARE 8

struct count_cell;
struct depth_stack;
struct record;
struct span_stack;

/*
 * Maps the private memory of all slots of g_shim: a stack of withheld spans for
 * each slot and, with --depth, a stack of open spans. Returns false if there is
 * no room for the withheld spans. Called once, while recording starts.
 */
bool slot_memory_map(void);

/* Returns true if this process may touch the memory of slot @i. Any context. */
bool slot_memory_is_open(uint32_t i);

/*
 * Gives this process access to the memory of slot @i, which this thread has
 * claimed: its ring, its count cells and its stacks. Returns false if the
 * kernel refuses. Needs system calls and blocked signals.
 */
bool slot_memory_open(uint32_t i);

/*
 * Gives access to all slots, before the program forbids system calls. On
 * failure the slots stay unchanged. Any thread.
 */
void slot_memory_open_all(void);

/*
 * Unmaps the memory of unused slots, from the last one down to slot @keep.
 * @retire takes a slot out of use; if it returns false, that slot and the slots
 * below it stay mapped. g_shim then has fewer slots. With @filter also unmaps the
 * filter table. Any thread.
 */
void slot_memory_unmap(uint32_t keep, bool (*retire)(uint32_t i), bool filter);

/* Returns the address space of one slot in bytes. */
uint64_t slot_memory_bytes(void);

/* Return the ring of slot @i, and its count cells. */
struct record *slot_memory_ring(uint32_t i);
struct count_cell *slot_memory_counts(uint32_t i);
/* Returns the stack of withheld spans of slot @i. */
struct span_stack *slot_memory_stack(uint32_t i);
/* Returns the stack of open spans of slot @i; NULL without --depth or
 * memory. */
struct depth_stack *slot_memory_depth_stack(uint32_t i);

#endif
