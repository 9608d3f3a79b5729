/* SPDX-License-Identifier: Apache-2.0
 *
 * hook - the general path of the hooks. They take it when the fast path
 * (hook_x86_64.S) will not do: for the first record of a thread, at a chunk
 * boundary, on a full ring, after news of the load map; always with --depth,
 * with a clock other than rdtsc, without rseq, and where another library has
 * hooks of its own. On machines without assembly it is the whole hook.
 *
 * It runs in any context in which a function can run: in signal handlers, on
 * tiny stacks, before constructors, after destructors, in forked children. It
 * does not allocate, change errno or keep a file descriptor. It waits for room
 * in block mode, and for the shim's own lock of the load map after a dlopen()
 * or dlclose() (map_log.c); for nothing else.
 */
#include "preload/ring/hook.h"

#include "preload/core/chain.h"
#include "preload/core/count.h"
#include "preload/core/gate.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/load/map_log.h"
#include "preload/load/thunk_map.h"
#include "preload/ring/depth.h"
#include "preload/ring/put.h"
#include "preload/ring/slot.h"
#include "shared/atomic.h"

void hook_general_enter(void *function, void *call_site, uintptr_t sp);
void hook_general_exit(void *function, void *call_site, uintptr_t sp);
void hook_entry_general_enter(void *function, void *unused, uintptr_t sp);
void hook_entry_general_exit(void *function, void *unused, uintptr_t sp);
void hook_tell_excluded(void);
void hook_enter_numbered(void *function, uint32_t number, uintptr_t sp);

/* True when the filter table names @function; *@number is what it is counted
 * by. The assembly has made the first probe, which did not decide. The search
 * ends at an empty entry, or after so many as the collector makes at most. */
static bool filter_excludes(uint64_t function, uint32_t *number)
{
	uint64_t entries = 1ULL << (64 - g_filter.shift);
	uint64_t first = filter_index(function, (uint32_t)g_filter.shift);

	for (uint64_t probes = 0; probes < FILTER_PROBES_MAX; probes++) {
		uint64_t i = (first + probes) & (entries - 1);
		/* order: acq, FILTER: its number is there */
		uint64_t entry = atom_load_acq(&g_filter.table[i]);

		if (entry == function) {
			/* relaxed: see above */
			*number = atom_load_rlx(&g_filter.numbers[i]);
			return true;
		}
		if (!entry)
			return false;
	}
	return false;
}

/* Count UNTOLD_ALL more calls of hooks of excluded functions, by a thread that
 * has no slot. */
void hook_tell_excluded(void)
{
	/* relaxed: a count */
	atom_add_rlx(&g_shim.page->unslotted_excluded_hooks, UNTOLD_ALL);
}

/* This thread's cell of function @number; NULL: it has none. */
static struct count_cell *cell_of(uint32_t number)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint32_t epoch = atom_load_rlx(&g_gate.count_epoch);

	return (uint32_t)t_thread.epoch == epoch &&
			       number < function_numbers(g_shim.ring_cells)
		       ? &t_thread.counts[number]
		       : NULL;
}

static void count_excluded(enum record_kind kind, uint32_t number)
{
	struct count_cell *cell = cell_of(number);

	if (cell && kind == RECORD_BEGIN)
		count_up(&cell->calls);
	if (t_thread.excluded) {
		count_up(t_thread.excluded);
		return;
	}
	t_thread.untold += UNTOLD_ONE;
	if (!t_thread.untold)
		hook_tell_excluded();
}

/*
 * Whether this thread may record now; it is attached if need be. A vfork child
 * may not: it has the memory of its parent.
 */
static bool thread_ready(uint64_t gate, uint64_t function)
{
	if (unlikely(t_thread.in_vfork))
		return sys(SYS_getpid) == g_shim.pid && t_thread.slot;
	if (likely(t_thread.epoch == (gate & -GATE_EPOCH_STEP)))
		return true;
	if (!thread_has_slot(gate) && !slot_attach(gate))
		return false;
	if (t_thread.epoch != (gate & -GATE_EPOCH_STEP) &&
	    map_follow(function) && put_map())
		t_thread.epoch = gate & -GATE_EPOCH_STEP;
	return true;
}

/* The gate; 0 if nothing may be recorded. */
static uint64_t open_gate(void)
{
	/* order: acq, MAP: the load map as it is while the caller runs */
	uint64_t gate = atom_load_acq(&g_gate.word);

	if (unlikely(!gate_is_settled(gate)))
		gate = gate_settle();
	return gate & GATE_OFF ? 0 : gate;
}

enum may_record hook_may_record(uint64_t function)
{
	uint64_t gate = open_gate();

	if (!gate)
		return MAY_NOT;
	return thread_ready(gate, function) ? MAY_RECORD : MAY_COUNT;
}

/* Whether to record this call; attaches the thread on the way. */
static bool may_record(enum record_kind kind, uint64_t address)
{
	uint64_t gate = open_gate();
	uint32_t number;

	if (!gate)
		return false;
	if (gate & GATE_FILTER && filter_excludes(address, &number)) {
		count_excluded(kind, number);
		return false;
	}
	if (likely(thread_ready(gate, address)))
		return true;
	if (kind == RECORD_BEGIN)
		slot_count_span();
	return false;
}

static void hook_general(enum record_kind kind, void *function, uintptr_t sp)
{
	uint64_t address = (uintptr_t)function & RECORD_PAYLOAD_MAX;

	if (!may_record(kind, address))
		return;
	t_thread.aborts = 0;
	if (g_shim.depth && !depth_admits(record_word(kind, address, sp), sp)) {
		count_up(&t_thread.slot->left_out_hooks);
		return;
	}
	/* Not put: a handler forked here, and this is the child. */
	while (!put_record(kind, address, sp))
		if (!may_record(kind, address))
			return;
}

void hook_general_enter(void *function, void *call_site, uintptr_t sp)
{
	hook_general(RECORD_BEGIN, function, sp);
	if (unlikely(g_chain.enter))
		g_chain.enter(function, call_site);
}

void hook_general_exit(void *function, void *call_site, uintptr_t sp)
{
	if (unlikely(g_chain.exit))
		g_chain.exit(function, call_site);
	hook_general(RECORD_END, function, sp);
}

/* Functions of entry builds call no hooks: another library's need not hear of
 * them. */
void hook_entry_general_enter(void *function, void *unused, uintptr_t sp)
{
	(void)unused;
	hook_general(RECORD_BEGIN, function, sp);
}

void hook_entry_general_exit(void *function, void *unused, uintptr_t sp)
{
	(void)unused;
	hook_general(RECORD_END, function, sp);
}

/*
 * Count a call of function @number as its thunk does, in a thread that has no
 * counts of this process yet, but may get them here. Returns whether it is to
 * be recorded.
 */
static bool count_call(uint64_t function, uint32_t number)
{
	/* relaxed: it may change at any time */
	uint32_t path = atom_load_rlx(&thunk_map_mode(number)->path);
	uint64_t gate = open_gate();
	struct count_cell *cell = NULL;

	if (!gate)
		return false;
	if (!t_thread.in_vfork && thread_ready(gate, function))
		cell = cell_of(number);
	if (!cell) {
		/* relaxed: a count */
		atom_add_rlx(&g_shim.page->uncounted_calls, 1);
		if (path == THUNK_RECORD)
			slot_count_span();
		return false;
	}
	count_up(&cell->calls);
	if (path == THUNK_COUNT)
		return false;
	count_shift(&cell->recorded);
	if (path != THUNK_RECORD)
		return false;
	/* In one instruction, as the two above. */
	count_or(&cell->recorded, 1);
	return true;
}

void hook_enter_numbered(void *function, uint32_t number, uintptr_t sp)
{
	uint64_t address = (uintptr_t)function;

	if (!address)
		address = thunk_map_mode(number)->function;
	if (count_call(address, number))
		hook_general(RECORD_BEGIN, (void *)address, sp);
}

#if !defined(__x86_64__)
ATTR_EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
ATTR_EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

void __cyg_profile_func_enter(void *function, void *call_site)
{
	hook_general_enter(function, call_site,
			   (uintptr_t)__builtin_dwarf_cfa());
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
	hook_general_exit(function, call_site,
			  (uintptr_t)__builtin_dwarf_cfa());
}
#endif
