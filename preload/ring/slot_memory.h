/* SPDX-License-Identifier: Apache-2.0
 *
 * slot_memory - which rings this process may touch.
 *
 * The rings of an arena are gigabytes of address space, of which most programs
 * use a few megabytes. They are mapped without access. So whoever walks through
 * a process' memory, as valgrind's leak check does, passes them by.
 *
 * A slot gets access when a thread of this process first claims it, and keeps
 * it: the next claim costs nothing. The lowest free slot is claimed, so the
 * slots with access are neighbours: to the kernel they are one mapping. The
 * more threads there are, the more slots get access in one go, as a change of
 * access holds up all page faults of the process.
 *
 * A forked child has the mappings of its parent, and a copy of what is noted
 * here of them. What the child claims later, its parent cannot touch.
 */
#ifndef PERFREC_PRELOAD_RING_SLOT_MEMORY_H
#define PERFREC_PRELOAD_RING_SLOT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Of RLIMIT_AS the arena may take this part. */
#define ADDRESS_SPACE_SHARE 8

struct count_cell;
struct depth_stack;
struct record;
struct span_stack;

/*
 * Map the private memory of all slots of g_shim: for each a stack of withheld
 * spans and, with --depth, one of open spans. False if there is no room for the
 * former. Once, while recording starts.
 */
bool slot_memory_map(void);

/* Whether this process may touch the memory of slot @i. Any context. */
bool slot_memory_is_open(uint32_t i);

/*
 * Let this process touch the memory of slot @i: its ring, its count cells and
 * its stacks. This
 * thread has claimed the slot. False if the kernel refuses. Any context in
 * which system calls may be made, with signals blocked.
 */
bool slot_memory_open(uint32_t i);

/*
 * The same for all slots, as system calls will soon not be possible any more.
 * If it fails, slots stay as they are. Any thread.
 */
void slot_memory_open_all(void);

/*
 * Unmap the memory of slots that are not in use, from the last one down to slot
 * @keep. @retire takes a slot out of use; the first for which it returns false
 * is kept, too. g_shim then has fewer slots. With @filter the filter table is
 * unmapped, too. Any thread.
 */
void slot_memory_unmap(uint32_t keep, bool (*retire)(uint32_t i), bool filter);

/* The address space that each slot takes, in bytes. */
uint64_t slot_memory_bytes(void);

/* The ring of slot @i, and its count cells. */
struct record *slot_memory_ring(uint32_t i);
struct count_cell *slot_memory_counts(uint32_t i);
/* The stack of withheld spans of slot @i. */
struct span_stack *slot_memory_stack(uint32_t i);
/* The stack of open spans of slot @i. NULL: no --depth, or no memory for it. */
struct depth_stack *slot_memory_depth_stack(uint32_t i);

#endif
