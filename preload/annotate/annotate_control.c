/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate_control - what perfrec.h asks of the shim itself: pause, flush,
 * names of threads, whether anything is recorded.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "preload/annotate/annotate.h"
#include "preload/annotate/annotate_inner.h"
#include "preload/core/clock.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/liveness.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/ring/hook.h"
#include "preload/ring/put.h"
#include "preload/ring/put_run.h"
#include "preload/ring/slot.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

#define FLUSH_NS 1000000000ULL
#define FLUSH_STEP_NS 500000

int note_is_recording(void)
{
	return gate_look() >= GATE_EPOCH_STEP && !put_is_paused();
}

/*
 * While recording is paused every hook takes the general path, which looks at
 * g_shim.paused. So the pause begins, and ends, with the next event of each
 * thread.
 */
void note_pause(int paused)
{
	uint64_t gate = gate_look(), next;

	if (gate < GATE_EPOCH_STEP || t_thread.in_vfork)
		return;
	/* relaxed: the swap orders it */
	atom_store_rlx(&g_shim.paused, paused != 0);
	annotate_follow_pause();
	for (;;) {
		/* relaxed, both: the swap decides */
		gate = atom_load_rlx(&g_gate.word);
		next = gate & ~(uint64_t)GATE_GENERAL;
		if (g_shim.general || atom_load_rlx(&g_shim.paused))
			next |= GATE_GENERAL;
		/* The gate was switched off, or wiped, meanwhile; or it is as
		 * it should be (another thread may have done that). */
		if (gate < GATE_EPOCH_STEP || next == gate)
			return;
		/* order: sc, MAP: it may get news of the load map meanwhile */
		(void)atom_cas_sc(&g_gate.word, gate, next);
	}
}

static bool is_drained(uint64_t head)
{
	/* order: acq, READ: cells below it have been read */
	uint64_t read = atom_load_acq(&t_thread.slot->read);

	return (int64_t)(read - head) >= 0;
}

static bool wait_until_drained(uint64_t head)
{
	const struct timespec step = { 0, FLUSH_STEP_NS };
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + FLUSH_NS;

	while (!is_drained(head)) {
		doorbell_ring();
		if (g_shim.no_syscalls || collector_left() ||
		    clock_ns(CLOCK_MONOTONIC) >= deadline)
			return false;
		sys(SYS_nanosleep, &step, 0);
	}
	return true;
}

int note_flush(void)
{
	uint64_t gate = gate_look();

	if (gate < GATE_EPOCH_STEP)
		return 0;
	/* A thread without a slot has recorded nothing. */
	if (t_thread.in_vfork || !thread_has_slot(gate))
		return 1;
	/* relaxed: this thread's own */
	return wait_until_drained(atom_load_rlx(&t_thread.slot->head));
}

void note_name_thread(const char *name)
{
	if (name && hook_may_record(0) == MAY_RECORD)
		slot_set_name((uint64_t)libc()->self(), name);
}

/* A pause does not stop these two: it may end while the thread still works on
 * that request. */
void note_trace_id(const uint8_t *trace_id, const uint8_t *span_id)
{
	struct record cells[3] = { { record_ext_word(EXT_TRACE_ID, 2, 0, 0),
				     0 } };
	struct trace_ids *ids = (struct trace_ids *)&cells[1];

	if (trace_id)
		memcpy(ids->trace, trace_id, sizeof(ids->trace));
	if (trace_id && span_id)
		memcpy(ids->span, span_id, sizeof(ids->span));
	put_run(cells, 3, 0, PUT_NOTE_END,
		(uintptr_t)__builtin_frame_address(0));
}

void note_traceparent(const char *text)
{
	struct record cells[1 + TRACEPARENT_BYTES / sizeof(struct record)] = {
		{ 0, 0 }
	};
	char *kept = (char *)&cells[1];
	uint32_t bytes = 0;

	if (!text) {
		note_trace_id(NULL, NULL);
		return;
	}
	for (; bytes < TRACEPARENT_BYTES && text[bytes]; bytes++)
		kept[bytes] = text[bytes];
	cells[0].word = record_ext_word(
		EXT_TRACEPARENT, TRACEPARENT_BYTES / sizeof(*cells), bytes, 0);
	put_run(cells, 1 + TRACEPARENT_BYTES / sizeof(*cells), 0, PUT_NOTE_END,
		(uintptr_t)__builtin_frame_address(0));
}

/* The finaliser of splitmix64 (Steele, Lea, Flood, 2014): one to one. */
static uint64_t mix_bits(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* The epoch is of this process alone, and stays. */
uint64_t note_local_id(uint64_t id)
{
	uint64_t gate = gate_look();
	uint64_t epoch = (uint32_t)gate & -GATE_EPOCH_STEP;

	if (gate < GATE_EPOCH_STEP)
		return id;
	return mix_bits(id ^
			mix_bits(epoch | (uint64_t)(uint32_t)g_shim.pid << 32));
}
