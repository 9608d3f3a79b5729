/* SPDX-License-Identifier: Apache-2.0
 *
 * process_locks - the records of a process' threads arrive sorted by clock, and
 * each release comes before the end of the wait that it ended. So when a wait
 * ends, all releases of its lock since its start are known. Each of them ends
 * the ownership of its thread, which began at the release before it, or when
 * that thread's own wait ended. The thread with the longest ownership within
 * the wait held the lock; the last release before the end woke the waiter.
 *
 * Records are claims. A holder that does not fit the owner that the waiter saw
 * is unknown: its release was not recorded.
 *
 *	drain workers	feed the streams of their threads; between passes one of
 *			them is the consumer, which finds the waits and holds
 *	jobs thread	writes them, because that needs names of functions
 */
#include "collector/drain/process_locks_inner.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/log.h"
#include "collector/base/random.h"
#include "collector/base/search.h"
#include "collector/names/modules.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/samples/wait_call.h"
#include "collector/samples/wait_places.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"

#define ORDER_BYTES (16u << 20)
#define THREADS_MAX (1u << 16)
#define LOCKS_MAX 2048u /* then all are forgotten */
/* More than a wait can take. */
#define UNPROVED_NS (UINT64_MAX / 32)
#define RELEASES_MAX 256u /* of a lock; then the older half is forgotten */
#define EVENTS_MAX 65536u /* not written yet; more are dropped */
#define HOLDERS_MAX 16u /* of a wait */
#define FIND_MAX 4096u /* threads that a search of an id looks at */
/* Shorter waits are not written. */
#define WAIT_NS_MIN 10000u

#define ITEM_WAIT (1ULL << 63) /* of item.c */
#define ITEM_SHARED (1ULL << 62) /* of a release by a reader */
#define ITEM_THREAD_BITS 24

struct known_lock {
	struct known_lock *next;
	uint64_t address;
	const char *object;
	uint32_t owner; /* the thread whose wait ended at owned_ns; 0: none */
	uint64_t owned_ns;
	uint32_t silent; /* inner tid of an owner without records; 0: none */
	uint64_t forgotten_ns; /* releases up to then may be missing */
	struct hold *hold; /* by time */
	uint32_t count, room;
};

static struct budget *locks_budget(const struct process_locks *locks)
{
	return recording_setup(locks->recording)->budget;
}

/* --- the consumer -------------------------------------------------------- */

static uint64_t locks_ns(struct process_locks *locks, uint64_t clock)
{
	if (!locks->sync)
		return MIN(clock, clock_boottime_ns());
	if (!clock_segment_has(&locks->segment, clock))
		clock_sync_segment(locks->sync, clock, &locks->segment);
	return clock_segment_ns(&locks->segment, clock);
}

static void forget_locks(struct process_locks *locks)
{
	for (uint32_t i = 0; i < LOCK_BUCKETS; i++)
		while (locks->bucket[i]) {
			struct known_lock *old = locks->bucket[i];

			locks->bucket[i] = old->next;
			if (old->count)
				locks->forgotten_ns =
					MAX(locks->forgotten_ns,
					    old->hold[old->count - 1].ns);
			locks->forgotten_ns =
				MAX(locks->forgotten_ns, old->forgotten_ns);
			free(old->hold);
			budget_give(locks_budget(locks),
				    old->room * sizeof(*old->hold));
			free(old);
		}
	locks->lock_count = 0;
}

static struct known_lock *find_known_lock(struct process_locks *locks,
					  uint64_t address)
{
	struct known_lock **bucket, *known;

	bucket = &locks->bucket[(address * 0x9e3779b97f4a7c15ULL) >> 54];
	for (known = *bucket; known; known = known->next)
		if (known->address == address)
			return known;
	if (locks->lock_count >= LOCKS_MAX)
		forget_locks(locks);
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->address = address;
	known->forgotten_ns = locks->forgotten_ns;
	known->next = *bucket;
	*bucket = known;
	locks->lock_count++;
	return known;
}

static void list_event(struct process_locks *locks,
		       const struct lock_event *event)
{
	const struct recording_setup *setup = recording_setup(locks->recording);
	struct modules *modules = event->wake.modules;
	bool has_room, post = false;

	lock_acquire(&locks->lock);
	has_room = locks->event_count < EVENTS_MAX &&
		   !grow_array_from(setup->budget, locks->event,
				    locks->event_room, locks->event_count + 1);
	if (has_room) {
		locks->event[locks->event_count++] = *event;
		post = !locks->posted && !locks->ended;
		locks->posted |= post;
	}
	lock_release(&locks->lock);
	if (!has_room) {
		modules_put(&modules);
		trace_file_leave_out(setup->trace);
	}
	if (post)
		jobs_post(setup->jobs, &locks->job);
}

static void forget_older_holds(struct known_lock *known)
{
	uint32_t gone = known->count / 2;

	known->forgotten_ns =
		MAX(known->forgotten_ns, known->hold[gone - 1].ns);
	known->count -= gone;
	memmove(known->hold, known->hold + gone,
		known->count * sizeof(*known->hold));
}

static void take_release(struct process_locks *locks,
			 const struct order_item *item)
{
	struct known_lock *known = find_known_lock(locks, item->a);
	struct hold hold = {
		.by = { .thread = item->c & ((1u << ITEM_THREAD_BITS) - 1),
			.generation = (uint32_t)(item->c >> ITEM_THREAD_BITS),
			.function = item->b },
		.ns = locks_ns(locks, item->clock),
		.shared = item->c & ITEM_SHARED,
	};
	uint32_t at;

	if (!known) {
		locks->forgotten_ns = MAX(locks->forgotten_ns, hold.ns);
		return;
	}
	if (known->owner == hold.by.thread)
		hold.since_ns = known->owned_ns;
	known->owner = 0;
	hold.flow =
		(locks->salt + item->clock) * 0x9e3779b97f4a7c15ULL ^ item->a;
	if (known->count >= RELEASES_MAX)
		forget_older_holds(known);
	if (grow_array_from(locks_budget(locks), known->hold, known->room,
			    known->count + 1)) {
		known->forgotten_ns = MAX(known->forgotten_ns, hold.ns);
		return;
	}
	/* An item may come late (order.h). */
	for (at = known->count++; at && known->hold[at - 1].ns > hold.ns; at--)
		known->hold[at] = known->hold[at - 1];
	known->hold[at] = hold;
}

/* Returns the youngest thread with the inner id @tid, or 0. */
static uint32_t thread_by_inner(struct process_locks *locks, uint32_t tid)
{
	uint32_t number, found = 0;

	if (!tid)
		return 0;
	lock_acquire(&locks->lock);
	number = locks->thread_count;
	for (uint32_t tries = FIND_MAX; tries && number > 1 && !found; tries--)
		if ((uint32_t)locks->thread[--number]->known.inner_tid == tid)
			found = number;
	lock_release(&locks->lock);
	return found;
}

static pid_t tid_of(struct process_locks *locks, uint32_t number)
{
	pid_t tid = 0;

	lock_acquire(&locks->lock);
	if (number && number < locks->thread_count)
		tid = locks->thread[number]->known.tid;
	lock_release(&locks->lock);
	return tid;
}

/* Counts whether @tid, by the records, is the kernel's waker of @wait; 0:
 * unknown. */
static void count_proof(struct lock_proof *proof, pid_t tid,
			const struct lock_wait *wait)
{
	uint64_t ns = wait->to_ns - MIN(wait->to_ns, wait->from_ns);

	if (!tid)
		proof->unknown_ns += ns;
	else if (tid == wait->waker.tid)
		proof->right_ns += ns;
	else
		proof->wrong_ns += ns;
}

/* The parts of a wait, by holder. */
struct shares {
	struct share {
		uint64_t ns, longest_ns;
		struct hold longest;
	} share[HOLDERS_MAX];
	uint32_t count;
	uint64_t unknown_ns;
	uint64_t rest_ns; /* without any release */
};

static void add_share(struct shares *shares, const struct hold *hold,
		      uint64_t ns, bool known)
{
	struct share *share = shares->share;
	const struct share *end = share + shares->count;

	while (share < end &&
	       (share->longest.shared != hold->shared ||
		(!hold->shared && share->longest.by.thread != hold->by.thread)))
		share++;
	if (!known || share == &shares->share[HOLDERS_MAX]) {
		shares->unknown_ns += ns;
		return;
	}
	if (share == end)
		shares->share[shares->count++] = (struct share){ 0 };
	share->ns += ns;
	if (ns >= share->longest_ns) {
		share->longest_ns = ns;
		share->longest = *hold;
	}
}

/* Returns the longest holder, or no hold if another thread may have held the
 * lock clearly longer in the unknown parts. */
static struct hold longest_holder(const struct shares *shares)
{
	const struct share *best = NULL;
	uint64_t second_ns = 0;

	for (uint32_t i = 0; i < shares->count; i++) {
		const struct share *share = &shares->share[i];

		if (best && share->ns <= best->ns) {
			second_ns = MAX(second_ns, share->ns);
			continue;
		}
		second_ns = best ? best->ns : 0;
		best = share;
	}
	return best && best->ns &&
			       best->ns * 10 >=
				       (second_ns + shares->unknown_ns) * 9
		       ? best->longest
		       : (struct hold){ 0 };
}

static void list_hold(struct process_locks *locks, struct hold *hold,
		      uint64_t from_ns, const struct lock_event *wait)
{
	const bool is_rwlock =
		wait->kind == SYNC_READ || wait->kind == SYNC_WRITE;
	const enum sync_kind rwlock = hold->shared ? SYNC_READ : SYNC_WRITE;
	const struct lock_event event = {
		.address = wait->address,
		.object = wait->object,
		.site = wait->site,
		.from_ns = from_ns,
		.to_ns = hold->ns,
		.thread = hold->by.thread,
		.kind = is_rwlock ? (uint8_t)rwlock : wait->kind,
		.is_hold = true,
		.held = *hold,
	};

	if (hold->listed || wait->to_ns - wait->from_ns < WAIT_NS_MIN)
		return;
	hold->listed = true;
	list_event(locks, &event);
}

/* Returns the first hold of @known that ended after @ns, or the count. */
static size_t first_hold(const struct known_lock *known, uint64_t ns)
{
	return search_first(at, known->count, known->hold[at].ns > ns);
}

/* Lists the signal or post that ended @wait; a broadcast may end several. */
static void list_signal(struct process_locks *locks, struct known_lock *known,
			const struct lock_event *wait)
{
	const struct hold *signal = &wait->woke;

	if (!signal->ns)
		return;
	for (size_t i = first_hold(known, signal->ns - 1);
	     i < known->count && known->hold[i].ns == signal->ns; i++)
		if (known->hold[i].flow == signal->flow)
			list_hold(locks, &known->hold[i], signal->ns, wait);
}

/*
 * Adds the holders of one stretch of @wait. When the thread fell asleep, the
 * lock had its mark that somebody waits, so its holder leaves a record. While a
 * woken thread does not run yet, others may take the lock and release it
 * without a record, or nobody has it. So an ownership whose begin is not known
 * has no holder. The time after the last release is no wait for a holder. If a
 * silent thread takes the lock as well, any release may be missing.
 *
 * Sets *@woke to the last release, without a time if that may have woken
 * another thread. Returns false if there is none.
 */
static bool follow_stretch(struct known_lock *known,
			   const struct lock_wait *wait,
			   const struct lock_stretch *stretch,
			   struct shares *shares, struct hold *woke)
{
	uint64_t before_ns = stretch->from_ns;
	const struct hold *last = NULL;
	bool is_sure = true;

	for (size_t i = first_hold(known, stretch->from_ns);
	     i < known->count && known->hold[i].ns <= stretch->to_ns; i++) {
		const struct hold *hold = &known->hold[i];
		uint64_t from_ns =
			MIN(MAX(before_ns, hold->since_ns), hold->ns);

		if (hold->by.thread == wait->thread)
			continue;
		if (last || known->silent)
			shares->unknown_ns += from_ns - before_ns;
		else
			from_ns = before_ns;
		add_share(shares, hold, hold->ns - from_ns,
			  hold->since_ns || !(last || known->silent));
		/* Otherwise the release before may have woken this thread, and
		 * this one another. */
		is_sure = !last || hold->since_ns ||
			  (is_sure && hold->by.thread == last->by.thread);
		last = hold;
		before_ns = hold->ns;
	}
	if (last)
		*woke = is_sure && !known->silent ? *last : (struct hold){ 0 };
	/* Without any release the owner at the end had it all the time. */
	if (known->silent || (wait->result != SYNC_GOT && last))
		shares->unknown_ns += stretch->to_ns - before_ns;
	else if (wait->result != SYNC_GOT)
		shares->rest_ns += stretch->to_ns - before_ns;
	return last;
}

/* Sets known->silent, if @wait saw an owner that has no records. It may get
 * some later. */
static void find_silent_owner(struct process_locks *locks,
			      struct known_lock *known,
			      const struct lock_wait *wait)
{
	if (wait->owner && !thread_by_inner(locks, wait->owner))
		known->silent = wait->owner;
	else if (thread_by_inner(locks, known->silent))
		known->silent = 0;
}

/* Returns the release by the owner that @wait saw, shortly before its
 * start. */
static struct hold early_release(struct process_locks *locks,
				 const struct known_lock *known,
				 const struct lock_wait *wait)
{
	size_t i = first_hold(known, wait->from_ns);
	uint32_t owner = thread_by_inner(locks, wait->owner);

	while (i &&
	       known->hold[i - 1].ns + OUT_RELEASE_EARLY_NS >= wait->from_ns)
		if (known->hold[--i].by.thread == owner && owner)
			return known->hold[i];
	return (struct hold){ 0 };
}

static struct hold end_of_thread(struct process_locks *locks,
				 const struct known_lock *known,
				 const struct lock_wait *wait)
{
	uint32_t i = known->count;
	uint32_t thread = thread_by_inner(locks, wait->owner);

	while (i-- && thread)
		if (known->hold[i].by.thread == thread)
			return known->hold[i];
	return (struct hold){ 0 };
}

/* Sets event->woke to the release of the kernel's waker, without a time if that
 * has none. A wait for a condition with several stretches may have ended with one
 * for the mutex: then the kernel's waker released the mutex, and did not
 * signal. */
static void prove_waker(struct process_locks *locks,
			const struct known_lock *known,
			const struct lock_wait *wait, struct lock_event *event)
{
	const struct thread_waker *waker = &wait->waker;
	size_t i = first_hold(known, waker->ns);

	if (!waker->name || wait->result != SYNC_GOT ||
	    (wait->kind == SYNC_CONDITION && wait->count > 1))
		return;
	count_proof(&locks->of_locks,
		    event->woke.ns ? tid_of(locks, event->woke.by.thread) : 0,
		    wait);
	event->waker = *waker;
	event->woke = (struct hold){ 0 };
	while (i-- && !event->woke.ns &&
	       known->hold[i].ns + OUT_RELEASE_EARLY_NS >= wait->from_ns)
		if (tid_of(locks, known->hold[i].by.thread) == waker->tid)
			event->woke = known->hold[i];
}

/* Finds the longest holder and the waker of @wait, and lists all holds. */
static void follow_holds(struct process_locks *locks, struct known_lock *known,
			 const struct lock_wait *wait, struct lock_event *event)
{
	const struct lock_stretch whole = { wait->from_ns, wait->to_ns };
	/* Sleeps or releases are missing. */
	const bool is_partial =
		wait->is_cut || known->forgotten_ns >= wait->from_ns;
	struct shares shares = { .unknown_ns = is_partial ? UNPROVED_NS : 0 };
	struct hold last = { .ns = wait->to_ns };
	uint64_t before_ns = MAX(wait->from_ns, known->forgotten_ns);
	bool has_release = false;

	find_silent_owner(locks, known, wait);
	for (uint32_t i = 0; i < wait->count; i++)
		has_release = follow_stretch(known, wait, &wait->stretch[i],
					     &shares, &event->woke) ||
			      /* Then it waited for the mutex. */
			      (has_release && wait->kind == SYNC_CONDITION);
	if (!wait->has_stretches)
		has_release = follow_stretch(known, wait, &whole, &shares,
					     &event->woke);
	if (!has_release || is_partial)
		event->woke = (struct hold){ 0 };
	if (wait->kind == SYNC_THREAD)
		event->woke = end_of_thread(locks, known, wait);
	else if (lock_has_holders(wait->kind) && !has_release && !is_partial &&
		 wait->count <= 1 && !known->silent)
		event->woke = early_release(locks, known, wait);
	prove_waker(locks, known, wait, event);
	if (!lock_has_holders(wait->kind)) {
		list_signal(locks, known, event);
		return;
	}
	last.by.thread = thread_by_inner(locks, wait->last_owner);
	add_share(&shares, &last, shares.rest_ns, last.by.thread);
	event->held = longest_holder(&shares);
	for (size_t i = first_hold(known, wait->from_ns);
	     i < known->count && known->hold[i].ns <= wait->to_ns; i++) {
		struct hold *hold = &known->hold[i];

		if (hold->by.thread != wait->thread &&
		    (hold->since_ns || !known->silent))
			list_hold(locks, hold,
				  MIN(MAX(before_ns, hold->since_ns), hold->ns),
				  event);
		before_ns = hold->ns;
	}
}

/* Sets event->wake to the write that ended @wait, if that was one for data and the
 * kernel names no other thread. */
static void find_write(struct process_locks *locks,
		       const struct lock_wait *wait, struct lock_event *event)
{
	struct wakes *wakes = recording_setup(locks->recording)->wakes;
	bool is_known;

	event->waker = wait->waker;
	if (!wakes || !wait_call_reads((long)wait->call - 1))
		return;
	is_known = wakes_find(wakes, tid_of(locks, wait->thread), wait->from_ns,
			      wait->to_ns, &event->wake);
	/* The kernel reports data from a network as an interrupt, also within
	 * the machine. */
	if (!wait->waker.tid)
		return;
	count_proof(&locks->of_data, is_known ? event->wake.tid : 0, wait);
	if (is_known && event->wake.tid != wait->waker.tid)
		modules_put(&event->wake.modules);
}

static void take_wait(struct process_locks *locks,
		      const struct order_item *item)
{
	struct lock_wait *wait = (struct lock_wait *)(uintptr_t)item->a;
	struct known_lock *known =
		wait->kind ? find_known_lock(locks, wait->address) : NULL;
	struct lock_event event = {
		.address = wait->address,
		.site = wait->site,
		.from_ns = wait->from_ns,
		.to_ns = wait->to_ns,
		.thread = wait->thread,
		.kind = wait->kind,
		.result = wait->result,
		.call = wait->call,
		.object = wait->object,
	};

	if (!wait->kind) {
		find_write(locks, wait, &event);
		list_event(locks, &event);
	} else if (known) {
		/* A pthread_t is used again, for other threads. */
		if (wait->object)
			known->object = wait->object;
		if (wait->kind != SYNC_THREAD)
			event.object = known->object;
		follow_holds(locks, known, wait, &event);
		if (wait->result == SYNC_GOT && lock_has_holders(wait->kind)) {
			known->owner = wait->thread;
			known->owned_ns = event.to_ns;
		}
		if (event.to_ns >= event.from_ns + WAIT_NS_MIN)
			list_event(locks, &event);
	}
	budget_give(locks_budget(locks),
		    sizeof(*wait) + wait->count * sizeof(*wait->stretch));
	free(wait);
}

static void consume_locks(void *context, const struct order_item *items,
			  size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].c & ITEM_WAIT)
			take_wait(context, &items[i]);
		else
			take_release(context, &items[i]);
}

/* --- threads ------------------------------------------------------------- */

uint32_t process_locks_thread(struct process_locks *locks,
			      const struct lock_thread *known)
{
	struct written_thread *thread = calloc(1, sizeof(*thread));
	uint32_t number = 0;

	if (!thread)
		return 0;
	thread->known = *known;
	lock_acquire(&locks->lock);
	if (locks->thread_count < THREADS_MAX &&
	    !grow_array(locks->thread, locks->thread_room,
			MAX(locks->thread_count, 1u) + 1)) {
		number = MAX(locks->thread_count, 1u);
		locks->thread_count = number + 1;
		locks->thread[0] = NULL;
		locks->thread[number] = thread;
	}
	lock_release(&locks->lock);
	if (!number)
		free(thread);
	return number;
}

void process_locks_rename(struct process_locks *locks, uint32_t number,
			  const char name[16])
{
	lock_acquire(&locks->lock);
	memcpy(locks->thread[number]->known.name, name, 15);
	lock_release(&locks->lock);
}

struct lock_wait *lock_wait_new(const struct lock_wait *from,
				const struct lock_stretch *stretch,
				struct budget *budget)
{
	const size_t bytes = from->count * sizeof(*stretch);
	struct lock_wait *wait;

	if (!budget_take(budget, sizeof(*wait) + bytes))
		return NULL;
	wait = malloc(sizeof(*wait) + bytes);
	if (!wait) {
		budget_give(budget, sizeof(*wait) + bytes);
		return NULL;
	}
	memcpy(wait, from, sizeof(*wait));
	memcpy(wait->stretch, stretch, bytes);
	return wait;
}

struct order_item lock_wait_item(uint64_t clock, struct lock_wait *wait)
{
	return (struct order_item){ clock, (uintptr_t)wait, 0, ITEM_WAIT };
}

struct order_item lock_release_item(uint64_t clock, enum sync_kind kind,
				    uint64_t address,
				    const struct lock_place *place)
{
	return (struct order_item){
		clock, address, place->function,
		(uint64_t)place->generation << ITEM_THREAD_BITS |
			place->thread | (kind == SYNC_READ ? ITEM_SHARED : 0)
	};
}

/* --- life ---------------------------------------------------------------- */

static void log_proof(const struct process_locks *locks, const char *what,
		      const struct lock_proof *proof)
{
	if (proof->right_ns + proof->unknown_ns + proof->wrong_ns)
		log_dbg("who woke the threads of process %d: of its waits for "
			"%s %llu us are right, %llu us unknown and %llu us "
			"wrong by the kernel",
			(int)locks->pid, what,
			(unsigned long long)(proof->right_ns / 1000),
			(unsigned long long)(proof->unknown_ns / 1000),
			(unsigned long long)(proof->wrong_ns / 1000));
}

static void release_locks(struct process_locks *locks)
{
	order_put(&locks->order);
	log_proof(locks, "locks", &locks->of_locks);
	log_proof(locks, "data", &locks->of_data);
	forget_locks(locks);
	for (uint32_t i = 1; i < locks->thread_count; i++)
		free(locks->thread[i]);
	free(locks->thread);
	free(locks->event);
	budget_give(locks_budget(locks),
		    locks->event_room * sizeof(*locks->event));
	wait_events_release(&locks->out);
	wait_places_free(&locks->places);
	pool_release(&locks->sites);
	modules_put(&locks->modules);
	lock_destroy(&locks->lock);
	recording_put(&locks->recording);
	free(locks);
}

static void run_lock_job(struct job *job)
{
	process_locks_write((struct process_locks *)job);
}

static struct process_locks *make_locks(const struct process_setup *setup)
{
	const struct arena_setup *arena = setup->arena_setup;
	struct process_locks *locks = calloc(1, sizeof(*locks));

	if (!locks)
		return NULL;
	locks->job.run = run_lock_job;
	locks->recording = recording_get(arena->recording);
	locks->modules = modules_get(setup->modules);
	locks->sync =
		arena->clock == WIRE_CLOCK_TSC ? setup->collector->clock : NULL;
	locks->pid = setup->pid;
	locks->salt = random_u64();
	lock_init(&locks->lock, LOCK_PROCESS_LOCKS);
	wait_events_init(&locks->out, locks->recording);
	pool_init(&locks->sites, locks_budget(locks), sizeof(struct first_site),
		  offsetof(struct first_site, site));
	if (order_new(recording_setup(locks->recording)->budget, ORDER_BYTES,
		      consume_locks, locks, &locks->order) == 0 &&
	    orders_add(arena->orders, locks->order) == 0)
		return locks;
	release_locks(locks);
	return NULL;
}

struct process_locks *process_locks_of(struct process *process)
{
	const struct process_setup *setup = process_setup(process);
	struct process_parts *parts = process_parts(process);

	arena_lock(setup->arena);
	if (!parts->locks)
		parts->locks = make_locks(setup);
	arena_unlock(setup->arena);
	return parts->locks;
}

struct order *process_locks_order(struct process_locks *locks)
{
	return locks->order;
}

static void end_locks(struct job *job)
{
	release_locks((struct process_locks *)job);
}

void process_locks_finish(struct process *process)
{
	const struct process_setup *setup = process_setup(process);
	struct process_parts *parts = process_parts(process);
	struct process_locks *locks = parts->locks;
	bool posted;

	if (!locks)
		return;
	parts->locks = NULL;
	orders_remove(setup->arena_setup->orders, locks->order);
	lock_acquire(&locks->lock);
	locks->ended = true;
	posted = locks->posted;
	lock_release(&locks->lock);
	order_release_all(locks->order);
	process_locks_write(locks);
	if (!posted) {
		release_locks(locks);
		return;
	}
	/* It is in the queue of this thread. */
	locks->job.run = end_locks;
}
