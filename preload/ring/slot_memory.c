/* SPDX-License-Identifier: Apache-2.0
 *
 * slot_memory - access of this process to rings (slot_memory.h).
 */
#include "preload/ring/slot_memory.h"

#include <sys/mman.h>

#include "preload/core/gate.h"
#include "preload/core/sys.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* Slots that get access at once. */
#define GROUP_SLOTS_MAX 32u

/* Private memory, with @bytes for each slot. */
struct table {
	char *start; /* NULL: not needed */
	uint64_t bytes;
};

static struct {
	/* A bit for each slot that this process may touch. It is set after the
	 * system call, so a fork in between costs the child one more call. */
	uint8_t open[SLOT_COUNT_MAX / 8];
	struct table stacks, depth_stacks;
	bool filter_unmapped; /* the program may use these addresses now */
} g_memory;

/* Bytes of a ring and its count cells. */
static uint64_t ring_bytes(void)
{
	return arena_slot_bytes(g_shim.ring_cells, g_shim.functions);
}

static char *ring_of(uint32_t i)
{
	return (char *)g_shim.rings + i * ring_bytes();
}

struct record *slot_memory_ring(uint32_t i)
{
	return (struct record *)ring_of(i);
}

struct count_cell *slot_memory_counts(uint32_t i)
{
	return (struct count_cell *)(ring_of(i) +
				     arena_ring_bytes(g_shim.ring_cells));
}

/* Bytes of the first @slots slots in @table, in whole pages of any size. */
static uint64_t table_bytes(const struct table *table, uint32_t slots)
{
	return (slots * table->bytes + PAGE_BYTES_MAX - 1) &
	       ~(PAGE_BYTES_MAX - 1);
}

static bool table_map(struct table *table, uint64_t slot_bytes)
{
	uint64_t bytes;
	long address;

	table->bytes = slot_bytes;
	bytes = table_bytes(table, g_shim.slot_count);
	address = sys(SYS_mmap, 0, bytes, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (sys_failed(address))
		return false;
	sys(SYS_madvise, address, bytes, MADV_WIPEONFORK);
	/* gcore would write all of these zeros. */
	sys(SYS_madvise, address, bytes, MADV_DONTDUMP);
	table->start = (char *)address;
	return true;
}

bool slot_memory_map(void)
{
	/* Without memory for these stacks the shim leaves no span out. */
	if (g_shim.depth)
		table_map(&g_memory.depth_stacks, sizeof(struct depth_stack));
	return table_map(&g_memory.stacks, sizeof(struct span_stack));
}

struct span_stack *slot_memory_stack(uint32_t i)
{
	return (struct span_stack *)g_memory.stacks.start + i;
}

struct depth_stack *slot_memory_depth_stack(uint32_t i)
{
	return g_memory.depth_stacks.start
		       ? (struct depth_stack *)g_memory.depth_stacks.start + i
		       : NULL;
}

static bool give_access(void *memory, uint64_t bytes)
{
	return sys(SYS_mprotect, memory, bytes, PROT_READ | PROT_WRITE) == 0;
}

bool slot_memory_is_open(uint32_t i)
{
	/* relaxed: the kernel has given access to all threads before */
	return atom_load_rlx(&g_memory.open[i / 8]) >> i % 8 & 1;
}

/* Sets *@from and *@to to the slots that get access with slot @i: 0, 1, 2 to 3,
 * 4 to 7 and so on. */
static void group_of(uint32_t i, uint32_t *from, uint32_t *to)
{
	uint32_t slots = i ? 1u << (31 - __builtin_clz(i)) : 1;

	slots = MIN(slots, GROUP_SLOTS_MAX);
	*from = i & -slots;
	*to = MIN(*from + slots, g_shim.slot_count);
}

static bool table_open(const struct table *table, uint32_t from, uint32_t to)
{
	uint64_t start = from * table->bytes & ~(PAGE_BYTES_MAX - 1);

	return !table->start || give_access(table->start + start,
					    table_bytes(table, to) - start);
}

static bool open_slots(uint32_t from, uint32_t to)
{
	if (!table_open(&g_memory.stacks, from, to) ||
	    !table_open(&g_memory.depth_stacks, from, to) ||
	    !give_access(ring_of(from), (to - from) * ring_bytes()))
		return false;
	for (uint32_t i = from; i < to; i++)
		/* order: sc, OPEN: another thread may set another bit */
		atom_or_sc(&g_memory.open[i / 8], (uint8_t)(1u << i % 8));
	return true;
}

/* The holder of the lock may unmap unclaimed slots, or give access to them. */
static bool try_lock_slots(void)
{
	/* order: sc, SLOTLOCK: it sees what the last holder has unmapped */
	return atom_cas_sc(&g_gate.slot_lock, 0, 1);
}

static void unlock_slots(void)
{
	/* order: rel, SLOTLOCK: all is done before the next holder */
	atom_store_rel(&g_gate.slot_lock, 0);
}

/* All holders block signals, so a handler cannot wait for its own thread. */
static void lock_slots(void)
{
	while (!try_lock_slots())
		sys(SYS_sched_yield);
}

bool slot_memory_open(uint32_t i)
{
	uint32_t from, to;
	bool opened;

	if (slot_memory_is_open(i))
		return true;
	if (!try_lock_slots())
		return open_slots(i, i + 1);
	group_of(i, &from, &to);
	opened = open_slots(from, to);
	unlock_slots();
	return opened;
}

void slot_memory_open_all(void)
{
	uint64_t signals;

	if (!g_memory.stacks.start)
		return;
	signals = sys_block_signals();
	lock_slots();
	if (g_shim.slot_count)
		open_slots(0, g_shim.slot_count);
	unlock_slots();
	sys_restore_signals(signals);
}

static void table_unmap(const struct table *table, uint32_t from, uint32_t to)
{
	uint64_t kept = table_bytes(table, from);
	uint64_t bytes = table_bytes(table, to) - kept;

	if (table->start && bytes)
		sys(SYS_munmap, table->start + kept, bytes);
}

static void unmap_slots_from(uint32_t from)
{
	uint32_t slots = g_shim.slot_count;

	if (from == slots)
		return;
	g_shim.slot_count = from;
	sys(SYS_munmap, ring_of(from), (slots - from) * ring_bytes());
	table_unmap(&g_memory.stacks, from, slots);
	table_unmap(&g_memory.depth_stacks, from, slots);
}

uint64_t slot_memory_bytes(void)
{
	return ring_bytes() + g_memory.stacks.bytes +
	       (g_memory.depth_stacks.start ? g_memory.depth_stacks.bytes : 0);
}

static void unmap_filter(void)
{
	if (!g_memory.filter_unmapped)
		sys(SYS_munmap, (char *)g_shim.page + ARENA_FILTER,
		    ARENA_SLOTS - ARENA_FILTER);
	g_memory.filter_unmapped = true;
}

void slot_memory_unmap(uint32_t keep, bool (*retire)(uint32_t i), bool filter)
{
	uint64_t signals = sys_block_signals();
	uint32_t i;

	lock_slots();
	i = g_shim.slot_count;
	while (i > keep && retire(i - 1))
		i--;
	unmap_slots_from(i);
	if (filter)
		unmap_filter();
	unlock_slots();
	sys_restore_signals(signals);
}
