/* SPDX-License-Identifier: Apache-2.0
 *
 * worker - a pool of drain workers. Each has its share of the slots of every
 * arena (slot % workers), so many workers drain a program with many busy
 * threads. Only that worker touches a slot, its ring and its struct thread: a
 * record passes no lock.
 *
 * A worker passes over all arenas again and again. In a pass each arena has one
 * turn of at most TURN_NS, so that one program with many or expensive records
 * does not starve the others. A round through the slots of such an arena then
 * takes several turns. An arena whose trace lags (its disk, or the names of its
 * functions) has no turn: its rings fill, and its program waits or drops. No
 * worker waits for a disk. Arenas whose processes have all ended, with more
 * data than one turn can read, share one turn per pass: nobody waits for them,
 * however many they are.
 *
 * After a pass that left no work, a worker sleeps until
 * - a program rings one of its doorbells: a ring has filled by a quarter, or
 * - drain_kick(): a process has ended, or an arena was added or removed, or
 * - SLEEP_NS have passed: records of quiet programs should not get old.
 * Before it sleeps, it announces that (asleep = 1) and looks at the heads again
 * (row ASLEEP in docs/RING.md). It polls if there are more arenas than one
 * futex_waitv(2) can watch, on kernels before 5.16, and for programs that may
 * not make system calls.
 *
 * The number of workers is a power of two and at most DOORBELLS. So each
 * doorbell belongs to one worker, which owns all slots that ring it.
 *
 * In a daemon, arenas of programs with a nice value of NICE_MOST or more have
 * workers of their own, with the nice value NICE_MOST. Otherwise the daemon
 * would give a nice program more of the CPU than its share. For an arena these
 * are the workers, with the same indices.
 *
 * A round covers the processes that were ending at its start. After the round
 * all their records have been read, and the worker calls process_drained().
 */
#include "collector/drain/worker.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/log.h"
#include "collector/base/pulse.h"
#include "collector/base/thread_nice.h"
#include "collector/drain/drain.h"
#include "collector/drain/filter_names.h"
#include "collector/drain/process_meet.h"
#include "collector/drain/thread.h"
#include "collector/files/snapshot.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/liveness.h"
#include "collector/record/process.h"
#include "collector/record/thread_state.h"
#include "collector/replay/clock_sync.h"
#include "collector/replay/order.h"
#include "collector/states/states.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "shared/futex.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define SLEEP_NS 50000000
#define POLL_NS 10000000 /* more arenas than can be watched */
#define BUSY_POLL_NS 1000000 /* the program cannot ring */
#define CHURN_NS 5000000 /* threads start and end, and need slots */
#define BUSY_NS 1000000000 /* a program was active within this time */
/* How often a quiet thread is checked, in case it is gone. */
#define ALIVE_CHECK_NS 250000000
/* The turn of an arena in a pass. Records of some 20,000 calls take this long.
 */
#define TURN_NS 1000000
#define LAG_POLL_NS 1000000 /* nothing wakes us when the trace catches up */
#define NICE (-5)

_Static_assert(DRAIN_WORKERS_MAX <= DOORBELLS, "a doorbell has one worker");

struct worker {
	struct collector *collector;
	struct drain *drain;
	uint32_t index;
	bool nice; /* for the arenas of nice programs */
	pthread_t thread;
	uint32_t generation; /* of the list copied to arenas */
	struct arena_list arenas;
	struct round_begin pass;
	uint64_t turn_end_ns; /* end of the current arena's turn */
	bool lags; /* an arena had no turn in this pass */
	uint32_t over; /* next turn among arenas with is_arena_over() */
	uint64_t busy_ns; /* last activity of a program that cannot ring */
	bool churn; /* a thread ended in this pass */
	struct futex_word word[FUTEX_WAITV_MAX_WORDS];
	uint32_t words;
};

struct workers {
	struct drain *drain;
	uint32_t started;
	struct worker worker[2 * DRAIN_WORKERS_MAX];
};

/* --- a slot -------------------------------------------------------------- */

/* Ends the recording of a program that wrote nonsense; @what describes it.
 * Intact records stay. @thread: the thread of the bad ring; NULL: unknown. */
static void break_arena(struct worker *worker, struct arena *arena,
			const struct thread *thread, const char *what)
{
	static struct log_limit limit;
	struct process *process;
	const struct process_setup *setup;

	if (!arena_break(arena))
		return;
	arena_lock(arena);
	process = thread ? thread->process : arena_first_process(arena);
	setup = process ? process_setup(process) : NULL;
	log_limited(&limit, LOG_WARN,
		    "recording of '%s' (pid %d, thread %d) ends: %s",
		    setup ? setup->entry->name : "?",
		    setup ? (int)setup->pid : 0,
		    thread ? (int)thread->entry.tid : 0, what);
	for (process = arena_first_process(arena); process;
	     process = process_next(process))
		process_end(process, PROCESS_BROKE);
	arena_unlock(arena);
	drain_kick(worker->drain);
	recording_lock(arena_setup(arena)->recording)->broken_rings++;
	recording_unlock(arena_setup(arena)->recording);
	arena_control(arena, CONTROL_OFF);
}

static void slot_was_read(struct arena *arena, struct arena_slot *slot)
{
	if (unlikely(slot->later)) {
		slot->later = false;
		arena_add_late_slots(arena, -1);
	}
}

static void put_off(struct arena *arena, struct arena_slot *slot)
{
	arena_add_late_slots(arena, !slot->later);
	slot->later = true;
}

/* Handles lack of memory for a thread of @process in @slot. Its records wait in
 * the ring, unless this is the last chance to read them. */
static void lack_thread(struct worker *worker, struct arena *arena,
			struct arena_slot *slot, const struct process *process)
{
	static struct log_limit limit;

	if (process_is_ending(process)) {
		break_arena(worker, arena, NULL, "out of memory");
		return;
	}
	log_limited(&limit, LOG_WARN,
		    "a thread of '%s' waits until it is recorded: out of "
		    "memory",
		    process_setup(process)->entry->name);
	put_off(arena, slot);
}

/* Returns the thread that has claimed slot @index since the last pass. NULL: it
 * is not recorded, or not known yet. */
static struct thread *meet_thread(struct worker *worker, struct arena *arena,
				  uint32_t index)
{
	struct arena_slot *slot = &arena_setup(arena)->slots[index];
	struct slot_shm *shm = arena_slot_shm(arena, index);
	struct thread *thread = NULL;
	struct process *process;
	int err;

	/* After nonsense nothing of the program is believed. */
	if (arena_is_broken(arena))
		return NULL;
	err = process_meet_slot(worker->collector, arena, index, worker->index,
				&process);
	/* Ignores records written after process_end(). */
	if (err == -EALREADY) {
		slot_was_read(arena, slot);
		return NULL;
	}
	if (err == -EAGAIN) {
		put_off(arena, slot);
		return NULL;
	}
	if (err) {
		break_arena(worker, arena, NULL,
			    err == -ENOMEM
				    ? "out of memory"
				    : "a slot names a process not its own");
		return NULL;
	}
	if (thread_new(process, shm, &thread) < 0)
		lack_thread(worker, arena, slot, process);
	else
		arena_warm(arena, index + 1);
	return thread;
}

/* Returns true if the owner of a quiet slot has ended without marking the slot.
 */
static bool owner_is_gone(const struct worker *worker, struct arena_slot *slot)
{
	const struct thread *thread = slot->thread;

	if (!thread->tid_known ||
	    worker->pass.ns - slot->checked_ns < ALIVE_CHECK_NS)
		return false;
	slot->checked_ns = worker->pass.ns;
	return syscall(SYS_tgkill, thread->setup->pid, thread->entry.tid, 0) <
		       0 &&
	       errno == ESRCH;
}

enum visit {
	VISIT_QUIET,
	VISIT_DONE, /* the visit may have taken long */
	VISIT_LEFT, /* the turn ended before the ring was empty */
	/* This slot and all later ones were never claimed: a program always
	 * claims the lowest free slot. */
	VISIT_LAST,
};

/* Visits one slot. @resume: the last visit returned VISIT_LEFT. */
static enum visit drain_slot(struct worker *worker, struct arena *arena,
			     uint32_t index, bool resume)
{
	struct slot_shm *shm = arena_slot_shm(arena, index);
	struct arena_slot *slot = &arena_setup(arena)->slots[index];
	/* order: acq, STATE: a LIVE owner is whole, a DEAD one's head final */
	uint32_t state = atom_load_acq(&shm->state);
	const struct process_ending *ending;
	bool over = state == SLOT_DEAD || state == SLOT_RETIRED;
	struct ring_get *ring;
	struct process *process;
	int64_t unread = 0;

	if (!slot->thread && state != SLOT_LIVE && state != SLOT_DEAD)
		/* relaxed: claimers only ever increase it */
		return state != SLOT_FREE || atom_load_rlx(&shm->claims)
			       ? VISIT_QUIET
			       : VISIT_LAST;
	if (!slot->thread && slot->abandoned)
		return VISIT_QUIET;
	if (!slot->thread)
		slot->thread = meet_thread(worker, arena, index);
	if (!slot->thread)
		return VISIT_DONE;
	ring = arena_ring(arena, index);
	process = slot->thread->process;
	ending = process_ending(process);
	if (!arena_is_broken(arena))
		unread = thread_drain(slot->thread, ring, resume,
				      worker->turn_end_ns);
	/* The resumed visit read only up to its old head. More may have come.
	 */
	if (resume && !ring_get_left(ring) &&
	    (over || process_is_gone(process)))
		unread = thread_drain(slot->thread, ring, false,
				      worker->turn_end_ns);
	if (unread > 0 && ring_get_left(ring))
		return VISIT_LEFT;
	if (unread < 0) {
		break_arena(worker, arena, slot->thread,
			    "its ring is not what a ring can be");
		over = true;
	}
	slot_was_read(arena, slot);
	if (unread > 0) {
		slot->checked_ns = worker->pass.ns;
		if (atom_load_rlx(&arena_setup(arena)->page->flags) &
		    PAGE_NO_SYSCALLS)
			worker->busy_ns = worker->pass.ns;
	}
	if (!over && !ending && !unread && owner_is_gone(worker, slot)) {
		/* The owner may have recorded after our look and died. */
		unread = thread_drain(slot->thread, ring, false,
				      worker->turn_end_ns);
		if (unread > 0 && ring_get_left(ring))
			return VISIT_LEFT;
		over = true;
	}
	snapshot_visit(slot->thread);
	if (over || ending || arena_is_broken(arena)) {
		over = over && !arena_is_broken(arena);
		worker->churn = true;
		over = over || process_is_gone(process);
		thread_finish(&slot->thread, ending ? ending->ns : 0);
		states_slot_ended(arena, index, over);
		/* An owner that goes on, unrecorded, keeps the slot. */
		if (!over)
			arena_setup(arena)->slots[index].abandoned = true;
		else if (state == SLOT_LIVE || state == SLOT_DEAD)
			/* order: rel, FREE: our last look at the slot is
			 * done */
			atom_store_rel(&shm->state, SLOT_FREE);
		return VISIT_DONE;
	}
	return unread ? VISIT_DONE : VISIT_QUIET;
}

/* --- a round ------------------------------------------------------------- */

static struct arena_round *round_of(struct worker *worker, struct arena *arena)
{
	return &arena_drain(arena)->round[worker->index];
}

static bool lags(struct arena *arena)
{
	return trace_file_lags(
		       recording_setup(arena_setup(arena)->recording)->trace) ||
	       filter_names_lag(arena);
}

/* Collects in @ending the processes of @arena that are ending and that worker
 * @worker has not drained. Returns their number. */
static uint32_t ending_processes(struct arena *arena, uint32_t worker,
				 struct process *ending[ROUND_ENDING_MAX])
{
	uint32_t count = 0;

	arena_lock(arena);
	for (struct process *process = arena_first_process(arena);
	     process && count < ROUND_ENDING_MAX;
	     process = process_next(process))
		if (process_is_ending(process) &&
		    !process_is_drained(process, worker))
			ending[count++] = process;
	arena_unlock(arena);
	return count;
}

static void begin_arena_round(struct worker *worker, struct arena *arena)
{
	struct arena_round *round = round_of(worker, arena);

	round->under_way = true;
	round->resume = false;
	round->next = worker->index;
	round->begin = worker->pass;
	round->ending_count =
		ending_processes(arena, worker->index, round->ending);
}

/* Releases to consumers the events that all workers have read: those from
 * before the earliest begin of their last rounds. Does not block. */
static void end_arena_round(struct worker *worker, struct arena *arena)
{
	const struct arena_setup *setup = arena_setup(arena);
	struct arena_round *round = round_of(worker, arena);
	struct round_begin begin;

	round->under_way = false;
	for (uint32_t i = 0; i < round->ending_count; i++)
		process_drained(round->ending[i], worker->index,
				drain_workers(worker->drain));
	begin = drain_end_round(worker->drain, arena, worker->index,
				round->begin);
	orders_release(setup->orders,
		       setup->clock == WIRE_CLOCK_TSC ? begin.ticks : begin.ns);
	drain_count_round(arena, worker->index);
	/* relaxed: a figure for display */
	atom_store_rlx(&arena_drain(arena)->looked_ns[worker->index],
		       round->begin.ns);
}

static void drain_arena(struct worker *worker, struct arena *arena)
{
	struct arena_round *round = round_of(worker, arena);
	uint32_t slots = arena_setup(arena)->slot_count;
	uint32_t workers = drain_workers(worker->drain);
	enum visit visit = VISIT_QUIET;

	if (lags(arena)) {
		worker->lags = true;
		return;
	}
	worker->turn_end_ns = clock_boottime_ns() + TURN_NS;
	if (!round->under_way)
		begin_arena_round(worker, arena);
	if (worker->index == 0)
		process_meet_modules(arena);
	while (round->next < slots && visit != VISIT_LAST) {
		visit = drain_slot(worker, arena, round->next, round->resume);
		round->resume = visit == VISIT_LEFT;
		if (round->resume)
			return;
		round->next += workers;
		if (visit == VISIT_DONE &&
		    (lags(arena) || clock_boottime_ns() >= worker->turn_end_ns))
			return;
	}
	end_arena_round(worker, arena);
}

/* --- a pass -------------------------------------------------------------- */

/* Returns true if @arena is in the middle of a round and all its processes are
 * ending. has_work() is true for it, so the worker does not sleep before the
 * arena had a turn. */
static bool is_arena_over(struct worker *worker, struct arena *arena)
{
	struct process *process;

	if (!round_of(worker, arena)->under_way)
		return false;
	arena_lock(arena);
	process = arena_first_process(arena);
	while (process && process_is_ending(process))
		process = process_next(process);
	arena_unlock(arena);
	return !process;
}

/* --- sleep --------------------------------------------------------------- */

/* Returns true if a ring of this worker has filled by a quarter: its program
 * may have rung before it could see us asleep. */
static bool has_work(struct worker *worker, struct arena *arena)
{
	const struct arena_setup *setup = arena_setup(arena);
	uint32_t workers = drain_workers(worker->drain);

	/* The worker looks again after LAG_POLL_NS. */
	if (lags(arena))
		return false;
	if (round_of(worker, arena)->under_way)
		return true;
	if (worker->index == 0 && process_meet_has_modules(arena))
		return true;
	for (uint32_t i = worker->index; i < setup->slot_count; i += workers) {
		struct arena_slot *slot = &setup->slots[i];
		struct slot_shm *shm = arena_slot_shm(arena, i);

		if (slot->thread) {
			int64_t unread = ring_get_look(&slot->ring);

			if (unread < 0 || unread >= setup->ring_cells / 4)
				return true;
			continue;
		}
		if (slot->abandoned || slot->later)
			continue;
		/* relaxed: hints; a missed slot is seen in the next pass */
		if (atom_load_rlx(&shm->state) == SLOT_LIVE)
			return true;
		if (!atom_load_rlx(&shm->claims))
			break;
	}
	return false;
}

static void set_asleep(struct worker *worker, uint32_t asleep)
{
	for (uint32_t i = 0; i < worker->arenas.count; i++) {
		struct page_shm *page =
			arena_setup(worker->arenas.arena[i])->page;

		for (uint32_t bell = worker->index; bell < DOORBELLS;
		     bell += drain_workers(worker->drain))
			/* order: sc, ASLEEP: then we look at the heads */
			atom_store_sc(&page->doorbell[bell].asleep, asleep);
	}
}

/* Collects the futex words to wait on, with their values before the last look
 * at the rings. Returns false if there are too many. */
static bool gather_words(struct worker *worker, uint32_t kicks)
{
	uint32_t workers = drain_workers(worker->drain);

	worker->words = 1;
	worker->word[0] = futex_word(
		drain_kicks(worker->drain, worker->index, worker->nice), kicks);
	for (uint32_t i = 0; i < worker->arenas.count; i++) {
		struct page_shm *page =
			arena_setup(worker->arenas.arena[i])->page;

		for (uint32_t bell = worker->index; bell < DOORBELLS;
		     bell += workers) {
			uint32_t *rings = &page->doorbell[bell].rings;

			if (worker->words == FUTEX_WAITV_MAX_WORDS)
				return false;
			/* relaxed: a ring after this ends the wait */
			worker->word[worker->words++] =
				futex_word(rings, atom_load_rlx(rings));
		}
	}
	return true;
}

static void wait_on_words(struct worker *worker, uint64_t timeout_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_nsec += (long)timeout_ns;
	now.tv_sec += now.tv_nsec / 1000000000;
	now.tv_nsec %= 1000000000;
	if (syscall(SYS_futex_waitv, worker->word, worker->words, 0,
		    timeout_ns ? &now : NULL, CLOCK_MONOTONIC) == 0 ||
	    errno != ENOSYS)
		return;
	now = (struct timespec){ 0, BUSY_POLL_NS };
	syscall(SYS_futex,
		drain_kicks(worker->drain, worker->index, worker->nice),
		FUTEX_OP_WAIT, (uint32_t)worker->word[0].expected, &now, NULL,
		0);
}

static void drain_sleep(struct worker *worker, uint32_t kicks)
{
	uint64_t timeout = SLEEP_NS;
	bool work = false;

	if (worker->churn)
		timeout = CHURN_NS;
	if (!worker->arenas.count)
		timeout = 0;
	if (!gather_words(worker, kicks)) {
		worker->words = 1;
		timeout = MIN(timeout, POLL_NS);
	}
	if (worker->busy_ns && worker->pass.ns - worker->busy_ns < BUSY_NS)
		timeout = BUSY_POLL_NS;
	if (worker->lags)
		timeout = MIN(timeout, LAG_POLL_NS);
	set_asleep(worker, 1);
	for (uint32_t i = 0; i < worker->arenas.count && !work; i++)
		work = has_work(worker, worker->arenas.arena[i]);
	if (!work)
		wait_on_words(worker, timeout);
	set_asleep(worker, 0);
}

static void *worker_run(void *context)
{
	struct worker *worker = context;
	char name[16];

	snprintf(name, sizeof(name), "perfrec-%s%u",
		 worker->nice ? "nice" : "drain",
		 worker->index % DRAIN_WORKERS_MAX);
	pthread_setname_np(pthread_self(), name);
	if (worker->nice)
		thread_nice_raise(NICE_MOST);
	else
		/* Programs wait for us. Without the right to it, we keep our
		 * nice value. */
		setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	for (;;) {
		/* order: acq, KICK: the change behind the kick */
		uint32_t kicks = atom_load_acq(drain_kicks(
			worker->drain, worker->index, worker->nice));
		uint32_t over;

		drain_refresh(worker->drain, worker->index, worker->nice,
			      &worker->arenas, &worker->generation);
		if (drain_is_closing(worker->drain))
			break;
		pulse_begin("empties rings");
		over = 0;
		worker->pass.ns = clock_boottime_ns();
		worker->pass.ticks = clock_ticks();
		worker->churn = false;
		worker->lags = false;
		liveness_beat(worker->collector->liveness);
		for (uint32_t i = 0; i < worker->arenas.count; i++) {
			struct arena *arena = worker->arenas.arena[i];

			if (is_arena_over(worker, arena) &&
			    over++ != worker->over)
				worker->lags |= lags(arena);
			else
				drain_arena(worker, arena);
		}
		worker->over = worker->over + 1 < over ? worker->over + 1 : 0;
		pulse_end();
		drain_tell_pass(worker->drain);
		drain_sleep(worker, kicks);
	}
	arena_list_release(&worker->arenas);
	return NULL;
}

/* --- start and end ------------------------------------------------------- */

uint32_t workers_default(void)
{
	cpu_set_t cpus;
	uint32_t count = 2;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		count = (uint32_t)CPU_COUNT(&cpus);
	return MIN(MAX(count / 2, 1), DRAIN_WORKERS_MAX);
}

int workers_start(struct collector *collector, struct workers **out)
{
	struct workers *workers = calloc(1, sizeof(*workers));
	uint32_t count = drain_workers(collector->drain);
	bool nice = collector->options->control_fd < 0;
	int err = 0;

	if (!workers)
		return -ENOMEM;
	workers->drain = collector->drain;
	if (nice)
		drain_set_nice_workers(collector->drain);
	while (workers->started < (nice ? 2 * count : count) && !err) {
		struct worker *worker = &workers->worker[workers->started];

		worker->collector = collector;
		worker->drain = collector->drain;
		worker->index = workers->started % count;
		worker->nice = workers->started >= count;
		err = pthread_create(&worker->thread, NULL, worker_run, worker);
		workers->started += !err;
	}
	if (err) {
		workers_stop(&workers);
		return -err;
	}
	*out = workers;
	return 0;
}

void workers_stop(struct workers **workers)
{
	struct workers *old = *workers;

	*workers = NULL;
	if (!old)
		return;
	drain_close(old->drain);
	for (uint32_t i = 0; i < old->started; i++)
		pthread_join(old->worker[i].thread, NULL);
	free(old);
}
