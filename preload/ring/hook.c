/* SPDX-License-Identifier: Apache-2.0
 *
 * hook - the general path of the hooks, for cases that the fast path
 * (hook_x86_64.S) does not handle: the first record of a thread, a chunk
 * boundary, a full ring, a change of the load map; and always with --depth,
 * with a clock other than rdtsc, without rseq, and if another library has
 * hooks. On machines without assembly it is the whole hook.
 *
 * It runs in any context in which a function can run: in signal handlers, on
 * tiny stacks, before constructors, after destructors, in forked children. It
 * does not allocate, change errno or keep a file descriptor. It waits only for
 * room in block mode, and for the shim's own lock of the load map after a
 * dlopen() or dlclose() (map_log.c).
 */
#include "preload/ring/hook.h"

#include <errno.h>

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
#include "preload/ring/words.h"
#include "shared/atomic.h"

void hook_general_enter(void *function, void *call_site, uintptr_t sp);
void hook_general_exit(void *function, void *call_site, uintptr_t sp);
void hook_entry_general_enter(void *function, void *unused, uintptr_t sp);
void hook_entry_general_exit(void *function, void *unused, uintptr_t sp);
void hook_tell_excluded(void);
void hook_enter_numbered(void *function, uint32_t number, uintptr_t sp);
void hook_moved_general_enter(void *unused, uint32_t number, uintptr_t sp);
void hook_moved_general_exit(void *unused, uint32_t number, uintptr_t sp);
void hook_moved_general_count(void *unused, uint32_t number, uintptr_t sp);
void hook_moved_enter_words(void *unused, uint32_t number, uintptr_t sp,
			    const uint8_t *vectors);
void hook_moved_leave_words(void *unused, uint32_t number, uintptr_t sp,
			    const uint8_t *vectors);

/* Returns true if the filter table has @function, and sets *@number to its
 * function number. The first probe, by the assembly, did not decide. The search
 * ends at an empty entry, or after FILTER_PROBES_MAX entries. */
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

/* Adds UNTOLD_ALL calls of excluded functions' hooks by a thread without
 * slot. */
void hook_tell_excluded(void)
{
	/* relaxed: a count */
	atom_add_rlx(&g_shim.page->unslotted_excluded_hooks, UNTOLD_ALL);
}

/* Returns this thread's cell of function @number, or NULL if it has none. */
static struct count_cell *cell_of(uint32_t number)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint32_t epoch = atom_load_rlx(&g_gate.count_epoch);

	return (uint32_t)t_thread.epoch == epoch && number < g_shim.functions
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
 * Attaches this thread if necessary. Returns true if it may record now. A
 * vfork() child may not, because it has the memory of its parent.
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

/* Returns the gate, or 0 if recording is off. */
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

/* Returns true if this call is to be recorded. Attaches the thread. */
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

/* Puts a BEGIN or END of @address, or @run, whose last record is a BEGIN or END.
 * Returns false if this call is not recorded. */
static bool put_admitted(enum record_kind kind, uint64_t address, uintptr_t sp,
			 const struct put_run *run)
{
	/* If the put fails, a signal handler forked and this is the child. */
	while (put_span(record_word(kind, address, sp), run, sp) == PUT_CHILD)
		if (!may_record(kind, address))
			return false;
	return true;
}

/* Apart, because the run is large and most calls need none: the stack may be
 * small. */
static __attribute__((noinline)) bool put_with_words(
	enum record_kind kind, uint64_t address, uintptr_t sp,
	const struct words_call *call)
{
	const uint64_t word = record_word(kind, address, sp);
	struct words_run run;

	/* Copying texts for a record that is dropped would cost most. */
	return put_withhold(word, sp) ||
	       put_admitted(kind, address, sp,
			    words_collect(call, word, &run) ? &run.run : NULL);
}

/* Records a call, with the words of @call unless it is NULL. Returns false if
 * this call is not recorded. */
static bool hook_with_words(enum record_kind kind, void *function, uintptr_t sp,
			    const struct words_call *call)
{
	uint64_t address = (uintptr_t)function & RECORD_PAYLOAD_MAX;

	if (!may_record(kind, address))
		return false;
	t_thread.aborts = 0;
	if (g_shim.depth && !depth_admits(record_word(kind, address, sp), sp)) {
		count_up(&t_thread.slot->left_out_hooks);
		return true;
	}
	return call ? put_with_words(kind, address, sp, call)
		    : put_admitted(kind, address, sp, NULL);
}

static bool hook_general(enum record_kind kind, void *function, uintptr_t sp)
{
	return hook_with_words(kind, function, sp, NULL);
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

/* Functions of entry builds call no hooks, so the hooks of another library do
 * not expect them. */
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
 * Counts a call of function @number as its thunk does, in a thread without
 * counts of this process; the thread may get them here. Returns true if the
 * call is to be recorded.
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
		if (path == THUNK_RECORD)
			slot_count_span();
		else
			/* relaxed: a count */
			atom_add_rlx(&g_shim.page->uncounted_calls, 1);
		return false;
	}
	count_up(&cell->calls);
	if (path == THUNK_COUNT)
		return false;
	count_shift(&cell->recorded);
	if (path != THUNK_RECORD)
		return false;
	/* One instruction, as the two before: a signal handler may count. */
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

/* --- moved functions ------------------------------------------------------ */

/* Returns the address of the number that the thunk of a function has pushed,
 * below the function's return address at @sp (function_shm.h). */
static uint64_t *number_word(uintptr_t sp)
{
	return (uint64_t *)(sp - 8);
}

static void *function_of_number(uint64_t number)
{
	return (void *)(uintptr_t)thunk_map_mode((uint32_t)number)->function;
}

/* Returns the @sp of the function that has jumped to the function with this @sp:
 * it returns to the thunk of that one. Returns 0 if a call was made. */
static uintptr_t sp_behind(uintptr_t sp)
{
	uint64_t offset;
	uint32_t number = thunk_map_number(*(const uintptr_t *)sp, &offset);

	if (!number || offset < THUNK_MOVED_RECORD)
		return 0;
	/* Its frame, and the number. */
	return sp + 8 + (thunk_map_mode(number)->frame & ~THUNK_FRAME_BITS) + 8;
}

/* A function has jumped to function @number: from here on the frame at @sp, which
 * was recorded, is that of the latter. A loop of such jumps needs no stack, so a
 * frame for each would overflow it. */
static void replace_frame(uint32_t number, uintptr_t sp,
			  const struct words_call *call)
{
	uint64_t *word = number_word(sp);

	if ((uint32_t)*word)
		hook_general(RECORD_END, function_of_number(*word), sp);
	/* Number 0 is no function: its end is not recorded. */
	*word = hook_with_words(RECORD_BEGIN, function_of_number(number), sp,
				call)
			? number
			: 0;
}

/* Returns true if the thunk of function @number can copy what lies above @sp. */
static bool can_copy_arguments(uint32_t number, uintptr_t sp)
{
	const uint32_t frame = thunk_map_mode(number)->frame;
	const uint64_t last =
		sp + 8 - 1 +
		(frame & THUNK_MANY ? THUNK_MANY_BYTES : THUNK_UNKNOWN_BYTES);

	if (!(frame & THUNK_UNKNOWN) ||
	    sp / HOOK_PAGE_BYTES == last / HOOK_PAGE_BYTES)
		return true;
	/* The kernel reads the set before it refuses to change the mask in way
	 * -1: EFAULT if it cannot. */
	return !g_shim.no_syscalls &&
	       sys(SYS_rt_sigprocmask, -1, last & -(uint64_t)HOOK_PAGE_BYTES, 0,
		   8) == -EINVAL;
}

/* @call: the words to record, or NULL. */
static void enter_moved(uint32_t number, uintptr_t sp,
			const struct words_call *call)
{
	uintptr_t behind = sp_behind(sp);
	bool recorded = false;

	if (behind)
		replace_frame(number, behind, call);
	else if (can_copy_arguments(number, sp))
		recorded = hook_with_words(
			RECORD_BEGIN, function_of_number(number), sp, call);
	else
		/* relaxed: a count */
		atom_add_rlx(&g_shim.page->edge_spans, 1);
	if (!recorded)
		*number_word(sp) |= (uint64_t)1 << MOVED_UNRECORDED;
}

void hook_moved_general_enter(void *unused, uint32_t number, uintptr_t sp)
{
	(void)unused;
	enter_moved(number, sp, NULL);
}

void hook_moved_enter_words(void *unused, uint32_t number, uintptr_t sp,
			    const uint8_t *vectors)
{
	const struct words_call call = { .words = thunk_map_words(number),
					 .sp = sp,
					 .vectors = vectors };

	(void)unused;
	enter_moved(number, sp, &call);
}

void hook_moved_leave_words(void *unused, uint32_t number, uintptr_t sp,
			    const uint8_t *vectors)
{
	const struct words_call call = { .words = thunk_map_words(number),
					 .sp = sp,
					 .vectors = vectors,
					 .is_exit = true };

	(void)unused;
	/* 0: the BEGIN is not in the ring. */
	if (number)
		hook_with_words(RECORD_END, function_of_number(number), sp,
				&call);
}

void hook_moved_general_exit(void *unused, uint32_t number, uintptr_t sp)
{
	(void)unused;
	hook_general(RECORD_END, function_of_number(number), sp);
}

/* As count_call(). The entry hook, which comes next if the call is recorded,
 * counts it as lost if this thread has no slot. */
void hook_moved_general_count(void *unused, uint32_t number, uintptr_t sp)
{
	/* Its function has not pushed a number: this one is the hook's. */
	uint64_t *word = (uint64_t *)(sp - 24);
	/* relaxed: it may change at any time */
	bool records =
		atom_load_rlx(&thunk_map_mode(number)->path) == THUNK_RECORD;
	uint64_t gate = open_gate();
	struct count_cell *cell = NULL;

	(void)unused;
	if (gate && !t_thread.in_vfork &&
	    thread_ready(gate, (uintptr_t)function_of_number(number)))
		cell = cell_of(number);
	if (cell)
		count_up(&cell->calls);
	else if (gate && !records)
		/* relaxed: a count */
		atom_add_rlx(&g_shim.page->uncounted_calls, 1);
	if (!gate || !records)
		*word |= (uint64_t)1 << MOVED_UNRECORDED;
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
