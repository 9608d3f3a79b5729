/* SPDX-License-Identifier: Apache-2.0
 *
 * put - appends one record where the fast path does not apply: at a chunk
 * boundary, on a full ring, without rseq. docs/RING.md has the rules.
 *
 * A thread either records or withholds. It withholds because it drops (its ring
 * was full and it did not wait), or because the collector or the program has
 * requested a pause. While it withholds, it counts every BEGIN (as lost or as
 * paused) and pushes it on a private stack, and also withholds its END. ENDs of
 * recorded spans still go into the ring, whose last quarter is reserved for
 * them.
 *
 * A signal handler may call all of this while it runs.
 */
#include "preload/ring/put.h"

#include "preload/core/count.h"
#include "preload/core/gate.h"
#include "preload/core/liveness.h"
#include "preload/core/span_stack.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/core/trap_flag.h"
#include "preload/ring/put_inner.h"
#include "shared/ring_put.h"

#define PUTS_BEFORE_BLOCKING_SIGNALS 16
#define PUTS_MAX 4096
/* While withholding, a thread checks for a live collector every this many
 * spans.
 */
#define WITHHELD_PER_LOOK 1024

bool put_same_process(void)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	return thread_has_slot(gate) ||
	       (t_thread.in_vfork && gate_is_settled(gate));
}

enum put_result {
	PUT_DONE,
	PUT_AGAIN, /* a signal handler recorded meanwhile */
	PUT_NOT, /* no room, or another process after a fork */
};

static enum put_result put_try(uint64_t limit, uint64_t word,
			       uint64_t (*clock)(void))
{
	struct ring_put put;

	if (!ring_put_begin(t_thread.slot, t_thread.cells, t_thread.mask, &put))
		return PUT_AGAIN;
	/* After this check, these make the commit fail: a fork (before_fork()
	 * in init.c), and a signal handler that loses an END, because it has
	 * recorded the BEGIN, or puts a MAP record of a later generation. */
	if (put.head >= limit || !put_same_process() ||
	    (record_kind(word) == RECORD_END && t_thread.lost_ends) ||
	    (record_kind(word) == RECORD_MAP &&
	     record_payload(word) != gate_generation()))
		return PUT_NOT;
	return ring_put_commit(t_thread.slot, t_thread.cells, t_thread.mask,
			       &put, (struct record){ word, clock() })
		       ? PUT_DONE
		       : PUT_AGAIN;
}

/* put_try() without signals, for a signal handler that records at every
 * instruction. */
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

/* put_record_now() for a complete word. */
static bool put_word_now(uint64_t word, enum put_limit which,
			 uint64_t (*clock)(void))
{
	enum put_result result = PUT_AGAIN;

	for (unsigned int tries = 0; result == PUT_AGAIN && tries < PUTS_MAX;
	     tries++) {
		uint64_t limit = put_limit(which);

		result = tries < PUTS_BEFORE_BLOCKING_SIGNALS
				 ? put_try(limit, word, clock)
				 : put_undisturbed(limit, word, clock);
	}
	return result == PUT_DONE;
}

bool put_record_now(enum record_kind kind, uint64_t payload, uintptr_t sp,
		    uint64_t (*clock)(void))
{
	return put_word_now(record_word(kind, payload, sp),
			    kind == RECORD_BEGIN ? LIMIT_BEGIN : LIMIT_END,
			    clock);
}

bool put_map(void)
{
	uint32_t generation;

	/* Another thread or a signal handler may change it meanwhile. */
	while (t_thread.generation != (generation = gate_generation())) {
		if (put_record_now(RECORD_MAP, generation, 0, g_shim.clock))
			t_thread.generation = generation;
		else if (generation == gate_generation())
			return false;
	}
	return true;
}

/* LOSS and PAUSED have the clock of the first span that they count. */
static uint64_t lost_clock(void)
{
	return t_thread.lost_clock;
}

static uint64_t paused_clock(void)
{
	return t_thread.paused_clock;
}

/* put_record_now() for a record that must not be missing if the ring has room:
 * continues beyond the next chunk boundary. */
static void put_surely(enum record_kind kind, uint64_t payload, uintptr_t sp,
		       uint64_t (*clock)(void))
{
	/* A signal handler may take the room up to that boundary. */
	for (unsigned int tries = 0; tries < PUTS_MAX; tries++)
		if (put_record_now(kind, payload, sp, clock) ||
		    !put_same_process() || !put_limits_renew(LIMIT_END, 1))
			return;
}

/* Called when half of the ring is free: records the withheld spans as counts,
 * and starts to record again. */
static void stop_withholding(void)
{
	struct span_stack *stack = t_thread.withheld;
	uint64_t spans = count_take(&t_thread.lost_spans);
	uint64_t ends = count_take(&t_thread.lost_ends);
	uint64_t paused = count_take(&t_thread.paused_spans);
	uint64_t count = stack->count;

	count_take(&t_thread.late_begins);
	if (ends)
		put_surely(RECORD_TRUNC, ends, 0, g_shim.clock);
	for (uint64_t i = 0; i < count; i++)
		if (stack->span[i].sp) /* 0: it has ended */
			put_surely(RECORD_PHANTOM,
				   stack->span[i].function & RECORD_PAYLOAD_MAX,
				   stack->span[i].sp, g_shim.clock);
	/* Only now, because signal handlers push above meanwhile. */
	stack->count = 0;
	if (spans)
		put_surely(RECORD_LOSS, spans, 0, lost_clock);
	if (paused)
		put_surely(RECORD_PAUSED, paused, 0, paused_clock);
}

static bool is_dropping(void)
{
	return t_thread.lost_spans || t_thread.lost_ends ||
	       t_thread.late_begins;
}

static bool is_withholding(void)
{
	return is_dropping() || t_thread.paused_spans;
}

bool put_is_paused(void)
{
	/* relaxed, both: a wish, which orders nothing */
	return atom_load_rlx(&g_shim.page->control) == CONTROL_PAUSED ||
	       atom_load_rlx(&g_shim.paused);
}

bool put_must_see_all(void)
{
	return is_withholding() || put_is_paused();
}

/* Withholds a span in a pause. */
static void pause_span(uint64_t function, uintptr_t sp)
{
	count_up(&t_thread.slot->paused_spans);
	if (!t_thread.paused_spans)
		t_thread.paused_clock = g_shim.clock();
	count_up(&t_thread.paused_spans);
	span_stack_push(t_thread.withheld, function, sp);
	put_limits_close();
}

/* Withholds a record without room, and counts it as lost. */
static void drop_span(enum record_kind kind, uint64_t function, uintptr_t sp)
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
	put_limits_close();
}

/* Returns true if the BEGIN for the END @word was withheld, and removes it from
 * the open ones. */
static bool end_withheld(uint64_t word, uintptr_t sp)
{
	struct span_stack *stack = t_thread.withheld;

	if (record_payload(word) < SITES_MAX)
		return span_stack_end_note(stack, word) ||
		       span_stack_end_above(stack);
	return span_stack_end(stack, record_payload(word), sp);
}

/*
 * Called while the thread withholds. Returns true if it also withholds this
 * event. Returns false for the END of a recorded span; and for all events once
 * half of the ring is free and no pause is requested: the thread then records
 * again. A signal handler that interrupted a put (@nested) does not end the
 * withholding.
 */
static bool still_withheld(uint64_t word, uintptr_t sp, bool nested)
{
	enum record_kind kind = record_kind(word);
	uint64_t function = record_payload(word);
	bool paused = put_is_paused(), room;

	if (kind == RECORD_END && end_withheld(word, sp))
		return true;
	/* In block mode the thread waits for this room after a pause, so that
	 * the pause causes no loss. */
	room = put_half_is_free() ||
	       (!paused && !is_dropping() && g_shim.block && wait_for_room());
	if (!paused && room && !nested && t_thread.withheld->above == 0) {
		put_limits_renew(LIMIT_END, 1);
		stop_withholding();
		return false;
	}
	if (kind != RECORD_BEGIN)
		return false;
	if (paused || (room && t_thread.paused_spans))
		pause_span(function, sp);
	else
		drop_span(kind, function, sp);
	if ((t_thread.lost_spans + t_thread.paused_spans) % WITHHELD_PER_LOOK ==
	    0) {
		gate_take_late_filter();
		if (collector_left())
			gate_switch_off();
	}
	return true;
}

/* Records the number of lost ENDs before the next END, because a TRUNC applies
 * to the innermost open spans. Returns false if there is no room. */
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

/* Appends @run, or @word if @run is NULL; first a MAP record if the load map
 * has changed. */
static bool append_record(uint64_t word, const struct put_run *run,
			  enum put_limit which)
{
	if (!put_map())
		return false;
	return run ? put_run_now(run, which)
		   : put_word_now(word, which, g_shim.clock);
}

/* Returns true if BEGIN or END @word is withheld, and counts it. */
static bool withhold_span(uint64_t word, uintptr_t sp, bool nested)
{
	if (unlikely(is_withholding()) && still_withheld(word, sp, nested))
		return true;
	if (record_kind(word) != RECORD_BEGIN || likely(!put_is_paused()))
		return false;
	pause_span(record_payload(word), sp);
	return true;
}

static enum put_end span_or_withhold(uint64_t word, const struct put_run *run,
				     uintptr_t sp, bool nested)
{
	enum record_kind kind = record_kind(word);
	enum put_limit which = kind == RECORD_BEGIN ? LIMIT_BEGIN : LIMIT_END;
	enum put_end end = PUT_RECORDED;

	if (withhold_span(word, sp, nested))
		return PUT_COUNTED;
	while ((kind == RECORD_END && !put_lost_ends()) ||
	       !append_record(word, run, which)) {
		if (!put_same_process())
			return PUT_CHILD;
		if (!put_make_room(which, run_cells(run), true)) {
			drop_span(kind, record_payload(word), sp);
			end = PUT_COUNTED;
			break;
		}
	}
	if (unlikely(put_must_see_all()))
		put_limits_close();
	return end;
}

enum put_end put_span(uint64_t word, const struct put_run *run, uintptr_t sp)
{
	/* A put_sp below @sp belongs to a put that longjmp() has left. */
	bool nested = sp < t_thread.put_sp;
	enum put_end end;

	if (!nested)
		t_thread.put_sp = sp;
	end = span_or_withhold(word, run, sp, nested);
	if (!nested)
		t_thread.put_sp = 0;
	return end;
}

bool put_withhold(uint64_t word, uintptr_t sp)
{
	bool nested = sp < t_thread.put_sp, withheld;

	if (!nested)
		t_thread.put_sp = sp;
	withheld = withhold_span(word, sp, nested);
	if (!nested)
		t_thread.put_sp = 0;
	return withheld;
}

/* As span_or_withhold(), but a span without room is no loss, since --depth
 * would have cut it. */
static enum put_end late_or_withhold(uint64_t word, uintptr_t span_sp)
{
	while (!is_withholding()) {
		if (append_record(word, NULL, LIMIT_END))
			return PUT_RECORDED;
		if (!put_same_process())
			return PUT_CHILD;
		if (!put_make_room(LIMIT_END, 1, true)) {
			t_thread.lost_clock = g_shim.clock();
			count_up(&t_thread.late_begins);
			put_limits_close();
		}
	}
	span_stack_push(t_thread.withheld, record_payload(word), span_sp);
	return PUT_COUNTED;
}

bool put_begin_late(uint64_t function, uintptr_t span_sp, uintptr_t sp)
{
	bool nested = sp < t_thread.put_sp;
	enum put_end end;

	if (!nested)
		t_thread.put_sp = sp;
	end = late_or_withhold(record_word(RECORD_BEGIN, function, span_sp),
			       span_sp);
	if (!nested)
		t_thread.put_sp = 0;
	return end != PUT_CHILD;
}

void put_jumped(uintptr_t sp)
{
	if (is_withholding() && !t_thread.put_sp)
		span_stack_repair(t_thread.withheld, sp);
}

bool put_record(enum record_kind kind, uint64_t payload, uintptr_t sp)
{
	return put_span(record_word(kind, payload, sp), NULL, sp) != PUT_CHILD;
}

enum put_end put_other(uint64_t word, const struct put_run *run, bool wait)
{
	enum put_end end = PUT_RECORDED;

	while (!append_record(word, run, LIMIT_BEGIN)) {
		if (!put_same_process())
			return PUT_CHILD;
		if (!put_make_room(LIMIT_BEGIN, run_cells(run), wait)) {
			end = PUT_COUNTED;
			break;
		}
	}
	if (unlikely(put_must_see_all()))
		put_limits_close();
	return end;
}

void put_renew_limits(void)
{
	put_limits_renew(LIMIT_END, 1);
}

void put_detach(void)
{
	if (is_withholding()) {
		put_limits_renew(LIMIT_END, 1);
		stop_withholding();
	}
}
