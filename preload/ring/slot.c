/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "preload/core/clock.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/span_stack.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/core/thread_watch.h"
#include "preload/load/map_log.h"
#include "preload/ring/put.h"
#include "preload/ring/slot.h"
#include "preload/ring/slot_memory.h"
#include "shared/atomic.h"

#define PR_GET_NAME_OPTION 16
void slot_count_span(void)
{
	struct page_shm *page = g_shim.page;

	/* relaxed, all: a count */
	if (t_thread.in_vfork)
		atom_add_rlx(&page->vfork_spans, 1);
	else if (t_thread.muted)
		atom_add_rlx(&page->muted_spans, 1);
	else
		atom_add_rlx(&page->unslotted_spans, 1);
}

static bool is_slot_free(uint32_t i)
{
	/* relaxed: a glance; who claims it swaps */
	return atom_load_rlx(&g_shim.slots[i].state) == SLOT_FREE;
}

/* Returns false if another thread has slot @i. Also returns false if the kernel
 * refuses access to its ring: the slot is then free again, and *@refused is
 * true. */
static bool claim_slot(uint32_t i, bool *refused)
{
	struct slot_shm *slot = &g_shim.slots[i];

	/* order: sc, FREE: the collector is done with the slot */
	if (!atom_cas_sc(&slot->state, SLOT_FREE, SLOT_CLAIMED))
		return false;
	if (slot_memory_open(i))
		return true;
	/* Count a claim, because the collector stops searching at the first
	 * slot without claims. */
	slot->claims++;
	/* order: rel, FREE: another process may claim it, after that count */
	atom_store_rel(&slot->state, SLOT_FREE);
	*refused = true;
	return false;
}

/* Reports why a thread found no slot; @refused: the kernel refused access. */
static void say_why_none(bool refused)
{
	struct page_shm *page = g_shim.page;
	uint32_t why = 0;

	if (refused)
		why = PAGE_SLOTS_REFUSED;
	else if (g_shim.slot_count < page->slot_count)
		why = PAGE_SLOTS_RETIRED;
	else
		why = PAGE_SLOTS_TAKEN;
	/* order: sc, FLAGS: as every flag; it stands for nothing else */
	atom_or_sc(&page->flags, why);
}

/* Claims the lowest free slot, whose pages are most likely warm. If the kernel
 * gives no more access, claims a slot that this process had before. Returns its
 * number, or -1. */
static int claim_lowest(void)
{
	bool refused = g_shim.no_syscalls, closed = false;

	for (uint32_t i = 0; i < g_shim.slot_count; i++) {
		if (!is_slot_free(i))
			continue;
		if ((!refused || slot_memory_is_open(i)) &&
		    claim_slot(i, &refused))
			return (int)i;
		closed |= refused && !slot_memory_is_open(i);
	}
	say_why_none(closed);
	return -1;
}

/* name_changes is odd during the write: the collector then reads again (row
 * NAME). */
static void write_name(struct slot_shm *slot, const char *name)
{
	uint32_t changes = slot->name_changes | 1;
	size_t length = strnlen(name, sizeof(slot->name) - 1);

	/* order: rel, NAME: odd after what the last name left */
	atom_store_rel(&slot->name_changes, changes);
	for (size_t i = 0; i < sizeof(slot->name); i++)
		/* order: rel, NAME: no byte before the odd count */
		atom_store_rel(&slot->name[i], i < length ? name[i] : '\0');
	/* order: rel, NAME: even after the last byte */
	atom_store_rel(&slot->name_changes, changes + 1);
}

static void describe_slot(struct slot_shm *slot)
{
	char name[SLOT_NAME_BYTES] = "";

	slot->pid = g_shim.pid;
	slot->tid = (int32_t)(g_shim.no_syscalls ? 0 : sys(SYS_gettid));
	slot->claims++;
	slot->claim_clock = g_shim.clock();
	slot->pthread = (uint64_t)libc()->self();
	slot->waiting = 0;
	slot->dropped_spans = 0;
	slot->truncated_spans = 0;
	slot->wait_ticks = 0;
	slot->paused_spans = 0;
	slot->paused_allocs = 0;
	slot->dropped_allocs = 0;
	slot->dropped_frees = 0;
	slot->dropped_notes = 0;
	slot->dropped_samples = 0;
	slot->excluded_hooks = t_thread.untold / UNTOLD_ONE;
	t_thread.untold = 0;
	slot->left_out_hooks = 0;
	/* relaxed: STATE orders it */
	atom_store_rlx(&slot->end_told, 0);
	slot->end_ns = 0;
	slot->end_cpu_ns = 0;
	slot->end_delay_ns = 0;
	slot->end_user_ns = 0;
	slot->end_system_ns = 0;
	slot->end_minor_faults = 0;
	slot->end_major_faults = 0;
	slot->claim_map = t_thread.generation = gate_generation();
	if (!g_shim.no_syscalls)
		sys(SYS_prctl, PR_GET_NAME_OPTION, name);
	write_name(slot, name);
}

/* Points the thread's state at slot @i; no page of the ring is touched yet. */
static void point_at_slot(uint32_t i)
{
	struct thread_state fresh = {
		.epoch = EPOCH_NONE,
		.slot = &g_shim.slots[i],
		.cells = slot_memory_ring(i),
		.counts = slot_memory_counts(i),
		.mask = g_shim.ring_cells - 1,
		.index = i,
		.in_map = t_thread.in_map,
		.untold = t_thread.untold,
		.excluded = &g_shim.slots[i].excluded_hooks,
		.withheld = slot_memory_stack(i),
		.depth = slot_memory_depth_stack(i),
	};

	t_thread = fresh;
	t_thread.withheld->count = t_thread.withheld->above = 0;
	if (t_thread.depth)
		t_thread.depth->count = t_thread.depth->least =
			t_thread.depth->over = 0;
}

static bool attach_thread(uint64_t gate)
{
	int32_t parent;
	int i;

	/* A new thread inherits PR_SET_TSC from its creator. */
	if (!g_shim.no_syscalls && !clock_allowed()) {
		t_thread.muted = true;
		return false;
	}
	i = claim_lowest();
	if (i < 0) {
		if (!t_thread.unslotted)
			/* relaxed: a count */
			atom_add_rlx(&g_shim.page->unslotted_threads, 1);
		t_thread.unslotted = true;
		return false;
	}
	point_at_slot((uint32_t)i);
	describe_slot(t_thread.slot);
	/* order: rel, STATE: who owns it first, then that it is owned */
	atom_store_rel(&t_thread.slot->state, SLOT_LIVE);
	put_renew_limits();
	t_thread.epoch = gate & -GATE_EPOCH_STEP;
	map_attached();
	/* order: sc, CHILD: one thread of the child takes it */
	parent = g_shim.fork_parent ? atom_xchg_sc(&g_shim.fork_parent, 0) : 0;
	if (parent)
		put_record_now(RECORD_FORK, (uint32_t)parent, 0, g_shim.clock);
	thread_watch();
	return true;
}

bool slot_attach(uint64_t gate)
{
	uint64_t signals;
	bool attached;

	/* Without a free slot, retry from time to time: threads end. */
	if (t_thread.muted || (t_thread.unslotted && t_thread.retry--))
		return false;
	if (g_shim.no_syscalls)
		return attach_thread(gate);
	signals = sys_block_signals();
	attached = attach_thread(gate);
	sys_restore_signals(signals);
	return attached;
}

void slot_detach(void)
{
	struct slot_shm *slot = t_thread.slot;
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	if (!slot || t_thread.in_vfork || !thread_has_slot(gate))
		return;
	put_detach();
	/* The epoch first, because hooks in a signal handler check only this:
	 * while it is the process' epoch, all pointers are valid. */
	t_thread.epoch = EPOCH_NONE;
	__asm__ volatile("" : : : "memory");
	t_thread = (struct thread_state){ .epoch = EPOCH_NONE };
	/* order: rel, STATE: head is final before DEAD */
	atom_store_rel(&slot->state, SLOT_DEAD);
}

void slot_mute(void)
{
	slot_detach();
	t_thread.epoch = EPOCH_NONE;
	t_thread.muted = true;
}

void slot_set_name(uint64_t pthread, const char *name)
{
	/* relaxed: the page is private; only fork and this process change it */
	if (atom_load_rlx(&g_gate.word) < GATE_EPOCH_STEP)
		return;
	for (uint32_t i = 0; i < g_shim.slot_count; i++) {
		struct slot_shm *slot = &g_shim.slots[i];
		/* order: acq, STATE: the owner's fields are whole */
		uint32_t state = atom_load_acq(&slot->state);

		if (state == SLOT_LIVE && slot->pid == g_shim.pid &&
		    slot->pthread == pthread)
			write_name(slot, name);
		/* relaxed: a count. Threads claim the lowest free slot, so the
		 * slots behind this one are unused. */
		if (state == SLOT_FREE && !atom_load_rlx(&slot->claims))
			break;
	}
}

static bool retire_slot(uint32_t i)
{
	/* order: sc, FREE: no thread claims a slot that is retired here */
	return atom_cas_sc(&g_shim.slots[i].state, SLOT_FREE, SLOT_RETIRED);
}

/* Returns the number of slots to keep if they may take @bytes. */
static uint32_t slots_to_keep(uint64_t gate, uint64_t bytes)
{
	uint64_t keep = bytes / slot_memory_bytes();
	uint32_t i = 0;

	if (!thread_has_slot(gate)) {
		while (i < g_shim.slot_count && !is_slot_free(i))
			i++;
		keep = MAX(keep, i + 1);
	}
	return (uint32_t)MIN(keep, g_shim.slot_count);
}

void slot_retire_unused(uint64_t bytes)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	/* A vfork() child has limits of its own, but its parent's memory. */
	if (gate < GATE_EPOCH_STEP || t_thread.in_vfork || bytes == UINT64_MAX)
		return;
	slot_memory_unmap(slots_to_keep(gate, bytes), retire_slot,
			  !(gate & GATE_FILTER));
}
