/* SPDX-License-Identifier: Apache-2.0
 *
 * slot_memory - which rings this process may touch.
 *
 * The rings of an arena are gigabytes of address space, of which most programs
 * use a few megabytes. They are mapped without access, so that whoever walks
 * through a process' memory (valgrind's leak check, for one) passes them by.
 * A slot gets access when a thread of this process first claims it, and keeps
 * it: the next claim costs nothing, and as the lowest free slot is claimed,
 * those with access are neighbours, which are one mapping for the kernel. The
 * more threads there are, the more slots get access in one go: a change of
 * access holds up all page faults of the process.
 *
 * A forked child has the mappings of its parent, and a copy of what is noted
 * here of them. What the child claims later its parent cannot touch.
 */
#ifndef PERFREC_PRELOAD_RING_SLOT_MEMORY_H
#define PERFREC_PRELOAD_RING_SLOT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Of RLIMIT_AS the arena may take this part. */
#define ADDRESS_SPACE_SHARE 8

struct depth_stack;
struct span_stack;

/*
 * Map the private memory of all slots of g_shim: a stack of withheld spans for
 * each and, with --depth, one of open spans.
 * False if there is no room. Once, while recording starts.
 */
bool slot_memory_map(void);

/* Whether this process may touch the memory of slot @i. Any context. */
bool slot_memory_is_open(uint32_t i);

/*
 * Let this process touch the memory of slot @i, which this thread has claimed:
 * its ring and its stacks. False if it may not: the kernel refused. Any context
 * in which system calls may be made, with signals blocked.
 */
bool slot_memory_open(uint32_t i);

/*
 * The same for all slots, because system calls will not be possible any more.
 * If it fails, slots stay as they are. Any thread.
 */
void slot_memory_open_all(void);

/*
 * Unmap the memory of slots that are not in use, from the last one down to slot
 * @keep or the first that @retire says no for; g_shim has so many fewer. With
 * @filter the filter table goes, too. Any thread.
 */
void slot_memory_unmap(uint32_t keep, bool (*retire)(uint32_t i), bool filter);

/* The address space that each slot takes, in bytes. */
uint64_t slot_memory_bytes(void);

/* The stacks of slot @i. Without --depth, or memory for it, the second is NULL.
 */
struct span_stack *slot_memory_stack(uint32_t i);
struct depth_stack *slot_memory_depth_stack(uint32_t i);

#endif
