/* SPDX-License-Identifier: Apache-2.0
 *
 * put - append one record when the fast path could not: at a chunk boundary,
 * on a full ring, without rseq. docs/RING.md has the rules.
 *
 * A thread is recording or withholding: dropping, when its ring was full and
 * it did not or could not wait, or pausing, when the collector asks for it.
 * While withholding, every begin is counted (as lost, or as paused) and
 * remembered on a private stack and its end goes with it; ends of spans that
 * were recorded still go into the last quarter of the ring. Signal handlers
 * may run all of this in the middle of itself.
 */
#include "preload/put.h"

#include "preload/clock.h"
#include "preload/init.h"
#include "preload/map_log.h"
#include "preload/span_stack.h"
#include "preload/sys.h"
#include "preload/thread.h"
#include "preload/wait.h"
#include "shared/futex.h"
#include "shared/ring_put.h"

/* Chunks: a writer looks at the tail, and rings, four times a lap. */
#define CHUNKS 4
/* On its first lap a thread maps its pages this many cells at a time. */
#define TOUCH_CELLS 4096
#define PUTS_BEFORE_BLOCKING_SIGNALS 16
#define PUTS_MAX 4096
/* While withholding, look this often whether there is a collector at all. */
#define WITHHELD_PER_LOOK 1024

/* One instruction, so that a handler's count in between is not lost. */
static inline void count_up(uint64_t *counter)
{
#if defined(__x86_64__)
	__asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
#else
	/* relaxed: a count */
	atom_add_rlx(counter, 1);
#endif
}

/* Takes what has been counted, in one instruction as well. */
static inline uint64_t count_take(uint64_t *counter)
{
	/* order: sc, COUNT: a handler finds it taken or not */
	return atom_xchg_sc(counter, 0);
}

void doorbell_ring(void)
{
	struct doorbell_shm *bell =
		&g_shim.page->doorbell[t_thread.index % DOORBELLS];

	/* order: sc, ASLEEP: our head first, then a look at the sleeper */
	atom_add_sc(&t_thread.slot->head, 0);
	/* order: sc, ASLEEP: it sees our head, or we see it asleep */
	if (!atom_load_sc(&bell->asleep) || g_shim.no_syscalls)
		return;
	/* relaxed: the futex call orders it for the sleeper */
	atom_add_rlx(&bell->rings, 1);
	sys(SYS_futex, &bell->rings, FUTEX_OP_WAKE, 1);
}

/* Cells between the collector's tail and @head; never more than the ring,
 * whatever the tail says. */
static uint64_t cells_used(uint64_t head)
{
	/* order: acq, TAIL: cells below the tail are ours to overwrite */
	uint64_t tail = atom_load_acq(&t_thread.slot->tail);

	return MIN(head - tail, (uint64_t)g_shim.ring_cells);
}

/* Map the next cells before they are needed: a page fault for each 4 KiB
 * costs more than all records in it. Only on the first lap. */
static uint64_t touch_ahead(uint64_t head)
{
	uint64_t ahead = ALIGN_UP(head + 1, TOUCH_CELLS);
	struct record *chunk =
		&t_thread.cells[(ahead - TOUCH_CELLS) & t_thread.mask];

	if (g_shim.no_syscalls || t_thread.touched >= g_shim.ring_cells)
		return UINT64_MAX;
	t_thread.touched += ahead - head;
	/* Old kernels do not know MADV_POPULATE_WRITE: then pages fault. */
	sys(SYS_madvise, chunk, TOUCH_CELLS * sizeof(*chunk),
	    23 /* MADV_POPULATE_WRITE */);
	return ahead;
}

/* Set the limits of the fast path anew; true when a @kind fits now. */
static bool limits_renew(enum record_kind kind)
{
	uint64_t cells = g_shim.ring_cells;
	/* relaxed: this thread's own */
	uint64_t head = atom_load_rlx(&t_thread.slot->head);
	uint64_t free_cells = cells - cells_used(head);
	uint64_t reserve = cells / 4;
	uint64_t boundary = (head / (cells / CHUNKS) + 1) * (cells / CHUNKS);

	boundary = MIN(boundary, touch_ahead(head));
	t_thread.limit_end = MIN(boundary, head + free_cells);
	t_thread.limit_begin =
		free_cells > reserve
			? MIN(boundary, head + free_cells - reserve)
			: head;
	return head < (kind == RECORD_BEGIN ? t_thread.limit_begin
					    : t_thread.limit_end);
}

/* While withholding every event must come here. */
static void limits_close(void)
{
	t_thread.limit_begin = 0;
	t_thread.limit_end = 0;
}

#if defined(__x86_64__)
#define TRAP_FLAG 0x100UL

static uint64_t trap_flag_clear(void)
{
	uint64_t flags;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t" /* the red zone */
			 "pushfq\n\t"
			 "movq (%%rsp), %0\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "=&r"(flags)
			 :
			 : "memory", "cc");
	return flags & TRAP_FLAG;
}

static void trap_flag_set(uint64_t flag)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "orq %0, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "r"(flag)
			 : "memory", "cc");
}
#else
static uint64_t trap_flag_clear(void)
{
	return 0;
}

static void trap_flag_set(uint64_t flag)
{
	(void)flag;
}
#endif

/*
 * Whether this is still the process that claimed the slot: a handler that
 * interrupts a put may fork, and its child comes back to the middle of it.
 */
static bool same_process(void)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	return thread_has_slot(gate) || (t_thread.in_vfork && gate);
}

enum put_result {
	PUT_DONE,
	PUT_AGAIN, /* a handler recorded meanwhile */
	PUT_NOT, /* no room, or no longer the same process */
};

static enum put_result put_try(uint64_t limit, uint64_t word,
			       uint64_t (*clock)(void))
{
	struct ring_put put;

	if (!ring_put_begin(t_thread.slot, t_thread.cells, t_thread.mask, &put))
		return PUT_AGAIN;
	/* A fork after this look makes the commit fail: before_fork(). And a
	 * handler that loses an end has recorded its begin: it fails, too. As
	 * does a generation that a handler has told a later one of. */
	if (put.head >= limit || !same_process() ||
	    (record_kind(word) == RECORD_END && t_thread.lost_ends) ||
	    (record_kind(word) == RECORD_MAP &&
	     record_payload(word) != map_generation()))
		return PUT_NOT;
	return ring_put_commit(t_thread.slot, t_thread.cells, t_thread.mask,
			       &put, (struct record){ word, clock() })
		       ? PUT_DONE
		       : PUT_AGAIN;
}

/* A handler records at every instruction of ours: make it wait. */
static enum put_result put_undisturbed(uint64_t limit, uint64_t word,
				       uint64_t (*clock)(void))
{
	uint64_t signals = g_shim.no_syscalls ? 0 : sys_block_signals();
	uint64_t trap = trap_flag_clear();
	enum put_result result = put_try(limit, word, clock);

	trap_flag_set(trap);
	if (!g_shim.no_syscalls)
		sys_restore_signals(signals);
	return result;
}

bool put_record_now(enum record_kind kind, uint64_t payload, uintptr_t sp,
		    uint64_t (*clock)(void))
{
	uint64_t word = record_word(kind, payload, sp);
	enum put_result result = PUT_AGAIN;
	unsigned int tries;

	for (tries = 0; result == PUT_AGAIN && tries < PUTS_MAX; tries++) {
		uint64_t limit = kind == RECORD_BEGIN ? t_thread.limit_begin
						      : t_thread.limit_end;

		result = tries < PUTS_BEFORE_BLOCKING_SIGNALS
				 ? put_try(limit, word, clock)
				 : put_undisturbed(limit, word, clock);
	}
	return result == PUT_DONE;
}

bool put_map(void)
{
	uint32_t generation;

	/* Again if it changes meanwhile, by another thread or by a handler. */
	while (t_thread.generation != (generation = map_generation())) {
		if (put_record_now(RECORD_MAP, generation, 0, g_shim.clock))
			t_thread.generation = generation;
		else if (generation == map_generation())
			return false;
	}
	return true;
}

/* LOSS and PAUSED carry the clock of the first span they count. */
static uint64_t lost_clock(void)
{
	return t_thread.lost_clock;
}

static uint64_t paused_clock(void)
{
	return t_thread.paused_clock;
}

/* Half of the ring is free: say what was withheld, and go on. */
static void stop_withholding(void)
{
	struct span_stack *stack = t_thread.withheld;
	uint64_t spans = count_take(&t_thread.lost_spans);
	uint64_t ends = count_take(&t_thread.lost_ends);
	uint64_t paused = count_take(&t_thread.paused_spans);
	uint64_t i, count = stack->count;

	if (ends)
		put_record_now(RECORD_TRUNC, ends, 0, g_shim.clock);
	for (i = 0; i < count; i++)
		put_record_now(RECORD_PHANTOM,
			       stack->span[i].function & RECORD_PAYLOAD_MAX,
			       stack->span[i].sp, g_shim.clock);
	/* Not before: what a handler withholds meanwhile lies above. */
	stack->count = 0;
	if (spans)
		put_record_now(RECORD_LOSS, spans, 0, lost_clock);
	if (paused)
		put_record_now(RECORD_PAUSED, paused, 0, paused_clock);
}

static bool is_dropping(void)
{
	return t_thread.lost_spans || t_thread.lost_ends;
}

static bool is_withholding(void)
{
	return is_dropping() || t_thread.paused_spans;
}

static bool is_paused(void)
{
	/* relaxed: a wish, which orders nothing */
	return atom_load_rlx(&g_shim.page->control) == CONTROL_PAUSED;
}

/* Count a span that is not to be recorded. */
static void pause_span(uint64_t function, uintptr_t sp)
{
	count_up(&t_thread.slot->paused_spans);
	if (!t_thread.paused_spans)
		t_thread.paused_clock = g_shim.clock();
	count_up(&t_thread.paused_spans);
	span_stack_push(t_thread.withheld, function, sp);
	limits_close();
}

/* Count what cannot be recorded. */
static void drop(enum record_kind kind, uint64_t function, uintptr_t sp)
{
	if (kind == RECORD_BEGIN) {
		count_up(&t_thread.slot->dropped_spans);
		if (!is_dropping())
			t_thread.lost_clock = g_shim.clock();
		count_up(&t_thread.lost_spans);
		span_stack_push(t_thread.withheld, function, sp);
	} else if (kind == RECORD_END) {
		count_up(&t_thread.slot->truncated_spans);
		count_up(&t_thread.lost_ends);
	}
	limits_close();
}

static bool half_is_free(void)
{
	/* relaxed: this thread's own */
	uint64_t head = atom_load_rlx(&t_thread.slot->head);

	return cells_used(head) <= g_shim.ring_cells / 2;
}

/*
 * The thread is withholding: true when this event goes the same way. The end
 * of a span that was recorded, and everything once half of the ring is free
 * and the collector wants it, does not. A handler that interrupted a put
 * (@nested) leaves the stack of withheld spans as it is.
 */
static bool still_withheld(enum record_kind kind, uint64_t function,
			   uintptr_t sp, bool nested)
{
	bool paused = is_paused(), room;

	if (kind == RECORD_END &&
	    span_stack_end(t_thread.withheld, function, sp))
		return true;
	/* After a pause, nothing is lost that would not have been without. */
	room = half_is_free() ||
	       (!paused && !is_dropping() && g_shim.block && wait_for_room());
	if (!paused && room && !nested && t_thread.withheld->above == 0) {
		limits_renew(RECORD_END);
		stop_withholding();
		return false;
	}
	if (kind != RECORD_BEGIN)
		return false;
	if (paused || (room && t_thread.paused_spans))
		pause_span(function, sp);
	else
		drop(kind, function, sp);
	if ((t_thread.lost_spans + t_thread.paused_spans) % WITHHELD_PER_LOOK ==
		    0 &&
	    collector_left())
		init_switch_off();
	return true;
}

/* Ends that were lost are told before the next end that is not: a TRUNC is
 * about the innermost open spans. False when there is no room for it. */
static bool put_lost_ends(void)
{
	uint64_t ends;

	if (likely(!t_thread.lost_ends))
		return true;
	ends = count_take(&t_thread.lost_ends);
	if (!ends || put_record_now(RECORD_TRUNC, ends, 0, g_shim.clock))
		return true;
	/* relaxed: a count */
	atom_add_rlx(&t_thread.lost_ends, ends);
	return false;
}

/* The limit is reached: a chunk boundary, or the ring is full. */
static bool make_room(enum record_kind kind)
{
	bool room = limits_renew(kind);

	doorbell_ring();
	if (collector_left()) {
		init_switch_off();
		return false;
	}
	return room || (g_shim.block && wait_for_room() && limits_renew(kind));
}

static bool put_or_withhold(enum record_kind kind, uint64_t payload,
			    uintptr_t sp, bool nested)
{
	if (unlikely(is_withholding()) &&
	    still_withheld(kind, payload, sp, nested))
		return true;
	if (kind == RECORD_BEGIN && unlikely(is_paused())) {
		pause_span(payload, sp);
		return true;
	}
	while ((kind == RECORD_END && !put_lost_ends()) || !put_map() ||
	       !put_record_now(kind, payload, sp, g_shim.clock)) {
		if (!same_process())
			return false;
		if (!make_room(kind)) {
			drop(kind, payload, sp);
			break;
		}
	}
	if (unlikely(is_withholding() || is_paused()))
		limits_close();
	return true;
}

bool put_record(enum record_kind kind, uint64_t payload, uintptr_t sp)
{
	/* A put further up the stack is one that was left by longjmp. */
	bool nested = sp < t_thread.put_sp, put;

	if (!nested)
		t_thread.put_sp = sp;
	put = put_or_withhold(kind, payload, sp, nested);
	if (!nested)
		t_thread.put_sp = 0;
	return put;
}

void put_renew_limits(void)
{
	limits_renew(RECORD_END);
}

void put_detach(void)
{
	if (is_withholding()) {
		limits_renew(RECORD_END);
		stop_withholding();
	}
}
