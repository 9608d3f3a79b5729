/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/thread_locks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "collector/drain/process_locks.h"
#include "collector/drain/thread_waits.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/record/wakes.h"
#include "collector/replay/cct.h"
#include "collector/replay/clock_sync.h"
#include "collector/replay/order.h"
#include "collector/replay/replay.h"
#include "collector/samples/wait_call.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "shared/record_ext.h"
#include "shared/ring_shm.h"

/* A wait has at most this many. The last one then stands for all later ones, and
 * the records prove no holder and no waker. */
#define STRETCHES_MAX 64

/* The object of a wait for room in the thread's ring. */
#define OWN_OBJECT "[perfrec]"

struct thread_locks {
	struct process_locks *process;
	struct order_stream *stream;
	uint32_t number; /* process_locks_thread() */
	uint32_t name_changes; /* as of the name that process has */
	bool waits;
	/* The call that waits. */
	const struct replay *replay;
	struct replay_place place;
	struct lock_wait wait; /* the current one, or the last */
	struct lock_stretch stretch[STRETCHES_MAX]; /* of it */
};

static struct thread_locks *start_locks(struct thread *thread)
{
	struct thread_locks *locks = calloc(1, sizeof(*locks));
	struct lock_thread known = {
		.tid = thread->entry.tid,
		/* relaxed: only compared with the owners of locks */
		.inner_tid = atom_load_rlx(&thread->slot->tid),
		.uuid = thread->uuid,
		.waits_uuid = thread_waits_track(thread),
	};

	if (!locks)
		return NULL;
	memcpy(known.name, thread->entry.name, sizeof(known.name) - 1);
	locks->process = process_locks_of(thread->process);
	if (locks->process && known.waits_uuid)
		locks->number = process_locks_thread(locks->process, &known);
	locks->name_changes = thread->name_changes;
	if (!locks->number ||
	    order_open(process_locks_order(locks->process), &locks->stream)) {
		free(locks);
		return NULL;
	}
	return locks;
}

static void feed_wait(struct thread *thread, uint64_t clock,
		      const struct lock_wait *from)
{
	const struct recording_setup *setup =
		recording_setup(thread->setup->arena_setup->recording);
	struct thread_locks *locks = thread->locks;
	struct lock_wait *wait =
		lock_wait_new(from, locks->stretch, setup->budget);

	if (wait)
		order_feed(locks->stream, lock_wait_item(clock, wait));
	else
		trace_file_leave_out(setup->trace);
}

/* Returns the clock of a record at @ns. */
static uint64_t clock_of(const struct thread *thread, uint64_t ns)
{
	return thread->setup->arena_setup->clock == WIRE_CLOCK_TSC
		       ? clock_sync_tick(thread->setup->collector->clock, ns)
		       : ns;
}

/* Ends a wait that the thread has left by cancellation or a jump: the call that
 * waited is over, or @ends: the thread is. It was blocked until its last time off
 * the CPU. */
static void end_left_wait(struct thread *thread, bool ends)
{
	struct thread_locks *locks = thread->locks;
	const struct replay *replay = fibers_current(&thread->fibers);

	if (!locks->waits || (!ends && replay == locks->replay &&
			      replay_place_open(replay, locks->place)))
		return;
	locks->waits = false;
	if (!locks->wait.count)
		return;
	locks->wait.to_ns = locks->stretch[locks->wait.count - 1].to_ns;
	locks->wait.result = SYNC_FAILED;
	feed_wait(thread, clock_of(thread, locks->wait.to_ns), &locks->wait);
}

static void feed_release(struct thread *thread, const struct record *cells,
			 const struct cct_node *top)
{
	const uint64_t clock = cells[0].clock, before = cells[1].clock;
	struct lock_place place = { .thread = thread->locks->number };

	if (top->parent) {
		place.function = top->function->address;
		place.generation = top->function->generation;
	}
	order_feed(thread->locks->stream,
		   lock_release_item(
			   before && before < clock ? before : clock,
			   (enum sync_kind)record_ext_value(cells[0].word),
			   cells[1].word, &place));
}

/* Returns the functions that wait now. */
static struct lock_site site_of(struct replay *replay)
{
	const struct cct_node *top = replay_top_node(replay);
	const struct cct_node *caller = top->parent;
	struct lock_site site = {
		.generation = replay_tree(replay)->generation,
	};

	if (!caller)
		return site;
	site.function = top->function->address;
	site.function_generation = top->function->generation;
	if (caller->parent) {
		site.caller = caller->function->address;
		site.caller_generation = caller->function->generation;
	}
	return site;
}

static struct wakes *wakes_of_thread(const struct thread *thread)
{
	return recording_setup(thread->setup->arena_setup->recording)->wakes;
}

/* Takes a write at @ns, which may have ended a wait for data. */
static void take_write(struct thread *thread, const struct record *cells,
		       const struct cct_node *top, uint64_t ns)
{
	struct wakes *wakes = wakes_of_thread(thread);
	struct wake wake = {
		.ns = ns,
		.modules = thread->setup->modules,
		.pid = thread->setup->pid,
		.tid = thread->entry.tid,
		.closes = cells[1].clock,
	};

	if (!wakes || !thread->tid_known)
		return;
	memcpy(wake.name, thread->entry.name, sizeof(wake.name) - 1);
	if (top->parent) {
		wake.function = top->function->address;
		wake.generation = top->function->generation;
	}
	wakes_add(wakes, wakes_file(wake.pid, cells[1].word), &wake);
}

int thread_locks_record(struct thread *thread, struct replay *replay,
			const struct record *cells, size_t count)
{
	const enum record_ext ext = record_ext(cells[0].word);
	const uint32_t value = record_ext_value(cells[0].word);
	const uint64_t clock = cells[0].clock;
	struct thread_locks *locks;
	uint64_t ns;

	if (count != 2 || cells[1].word > LOCK_ADDRESS_MAX ||
	    (ext != EXT_SYNC_WAITED && !value) ||
	    value >= (ext == EXT_SYNC_WAITED ? (uint32_t)SYNC_RESULTS
					     : (uint32_t)SYNC_KINDS) ||
	    (ext == EXT_SYNC_WAIT && value == SYNC_DESCRIPTOR))
		return -EBADMSG;
	ns = replay_ns(replay, clock, thread->fibers.now_ns);
	if (ext == EXT_SYNC_RELEASE && value == SYNC_DESCRIPTOR) {
		take_write(thread, cells, replay_top_node(replay), ns);
		return 0;
	}
	if (!thread->locks)
		thread->locks = start_locks(thread);
	locks = thread->locks;
	if (!locks)
		return 0;
	switch (ext) {
	case EXT_SYNC_WAIT:
		end_left_wait(thread, false);
		locks->waits = true;
		locks->replay = replay;
		locks->place = replay_place(replay);
		locks->wait = (struct lock_wait){
			.kind = (uint8_t)value,
			.address = cells[1].word,
			.site = site_of(replay),
			.owner = (uint32_t)cells[1].clock,
			.thread = locks->number,
			.from_ns = ns,
			.has_stretches = thread->cpu != NULL,
		};
		return 0;
	case EXT_SYNC_WAITED:
		if (!locks->waits || locks->wait.address != cells[1].word)
			return 0;
		locks->waits = false;
		locks->wait.to_ns = ns;
		locks->wait.result = (uint8_t)value;
		locks->wait.last_owner = (uint32_t)cells[1].clock;
		feed_wait(thread, clock, &locks->wait);
		return 0;
	default:
		end_left_wait(thread, value == SYNC_THREAD);
		feed_release(thread, cells, replay_top_node(replay));
		return 0;
	}
}

/* Returns true if @wait may be for a lock: a futex, or too short to be known. Page
 * faults and waits for room in the ring have other wakers. */
static bool may_be_for_lock(const struct thread_wait *wait)
{
	return !wait->object || (wait->call == SYS_futex + 1 &&
				 strcmp(wait->object, OWN_OBJECT) != 0);
}

/* Returns true if @wait is a part of the recorded wait, or of the last one: a
 * futex, or a page fault (no call). */
static bool is_recorded_wait(struct thread_locks *locks,
			     const struct thread_wait *wait)
{
	return (!wait->call || wait->call == SYS_futex + 1) &&
	       strcmp(wait->object, OWN_OBJECT) != 0 &&
	       wait->from_ns >= locks->wait.from_ns &&
	       (locks->waits || wait->from_ns <= locks->wait.to_ns);
}

static void add_wait_stretch(struct thread_locks *locks,
			     const struct thread_wait *wait)
{
	locks->wait.waker = wait->waker;
	if (locks->wait.count == STRETCHES_MAX) {
		locks->wait.is_cut = true;
		locks->stretch[STRETCHES_MAX - 1].to_ns = wait->to_ns;
		return;
	}
	locks->stretch[locks->wait.count++] =
		(struct lock_stretch){ wait->from_ns, wait->to_ns };
}

bool thread_locks_tell(struct thread *thread, const struct thread_wait *wait)
{
	struct thread_locks *locks = thread->locks;
	struct lock_wait told = {
		.from_ns = wait->from_ns,
		.to_ns = wait->to_ns,
		.object = wait->object,
		.call = wait->call,
		.waker = wait->waker,
	};

	if (!locks && wait->object && wakes_of_thread(thread) &&
	    wait_call_reads((long)wait->call - 1))
		locks = thread->locks = start_locks(thread);
	if (!locks)
		return false;
	told.thread = locks->number;
	end_left_wait(thread, false);
	if (locks->waits && wait->from_ns >= locks->wait.from_ns &&
	    may_be_for_lock(wait))
		add_wait_stretch(locks, wait);
	if (!wait->object)
		return true;
	if (!is_recorded_wait(locks, wait))
		feed_wait(thread, clock_of(thread, wait->to_ns), &told);
	else if (wait->call)
		locks->wait.object = wait->object;
	return true;
}

void thread_locks_end_wait(struct thread *thread, uint64_t end_ns)
{
	struct thread_locks *locks = thread->locks;
	struct lock_wait *wait = locks ? &locks->wait : NULL;

	/* After a jump out of a wait there may be other records. */
	if (!wait || !locks->waits ||
	    replay_last_ns(fibers_current(&thread->fibers)) > wait->from_ns)
		return;
	locks->waits = false;
	/* It ran again to end. */
	wait->to_ns =
		wait->count ? locks->stretch[wait->count - 1].to_ns : end_ns;
	wait->result = LOCK_WAIT_PROCESS_ENDED;
	if (wait->to_ns > wait->from_ns)
		feed_wait(thread, clock_of(thread, wait->to_ns), wait);
}

void thread_locks_flush(struct thread *thread)
{
	struct thread_locks *locks = thread->locks;

	if (!locks)
		return;
	order_flush(locks->stream);
	if (locks->name_changes == thread->name_changes)
		return;
	locks->name_changes = thread->name_changes;
	process_locks_rename(locks->process, locks->number, thread->entry.name);
}

void thread_locks_finish(struct thread *thread)
{
	if (!thread->locks)
		return;
	thread_locks_flush(thread);
	order_close(&thread->locks->stream);
	free(thread->locks);
	thread->locks = NULL;
}
