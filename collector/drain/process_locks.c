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
#include "collector/drain/process_locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/random.h"
#include "collector/base/search.h"
#include "collector/drain/note.h"
#include "collector/drain/wait_events.h"
#include "collector/names/modules.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/replay/clock_sync.h"
#include "collector/samples/wait_places.h"
#include "collector/samples/wait_text.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"

#define ORDER_BYTES (16u << 20)
#define THREADS_MAX (1u << 16)
#define BUCKETS 1024u
#define LOCKS_MAX 2048u /* then all are forgotten */
/* More than a wait can take. */
#define UNPROVED_NS (UINT64_MAX / 32)
#define RELEASES_MAX 256u /* of a lock; then the older half is forgotten */
#define EVENTS_MAX 65536u /* not written yet; more are dropped */
#define HOLDERS_MAX 16u /* of a wait */
#define FIND_MAX 4096u /* threads that a search of an id looks at */
#define HOLD_TRACKS 8u /* of a thread */
/* Shorter waits are not written. */
#define WAIT_NS_MIN 10000u
#define FLUSH_BYTES 4096
#define PACKET_BYTES 512

#define ITEM_WAIT (1ULL << 63) /* of item.c */
#define ITEM_THREAD_BITS 24

/* An ownership of a lock, by its release. */
struct hold {
	struct lock_place by;
	uint64_t ns; /* of the release; 0: no hold */
	uint64_t since_ns; /* its start; 0: unknown */
	uint64_t flow; /* to the waiter that it woke */
	bool listed; /* as an event */
};

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

/* A wait or a hold, to be written. */
struct lock_event {
	uint64_t address;
	const char *object;
	uint64_t from_ns, to_ns;
	uint32_t thread;
	uint32_t call;
	uint8_t kind, result;
	bool is_hold;
	struct hold held; /* of a wait: its longest holder; else itself */
	struct hold woke; /* of a wait: its waker */
};

struct written_thread {
	struct lock_thread known; /* under the lock */
	/* Jobs thread: */
	uint64_t track[HOLD_TRACKS]; /* 0: not made yet */
	uint64_t last_ns[HOLD_TRACKS]; /* end of its last slice */
};

struct process_locks {
	struct job job;
	struct recording *recording; /* a reference */
	struct modules *modules; /* a reference */
	struct clock_sync *sync; /* NULL: clocks are ns */
	pid_t pid;
	struct order *order;
	struct lock lock;
	/* Under the lock: */
	struct written_thread **thread; /* by number; 0 is none */
	uint32_t thread_count, thread_room;
	struct lock_event *event;
	uint32_t event_count, event_room;
	bool posted; /* the job is in the queue */
	bool ended;
	/* Consumer only: */
	struct clock_segment segment;
	uint64_t salt; /* of flows */
	struct known_lock *bucket[BUCKETS];
	uint32_t lock_count;
	uint64_t forgotten_ns; /* as of a known lock, of all others */
	/* Jobs thread only: */
	struct wait_events out;
	struct wait_places *places; /* NULL until used */
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
	for (uint32_t i = 0; i < BUCKETS; i++)
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
	if (!has_room)
		trace_file_leave_out(setup->trace);
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
	uint32_t number = 0;

	lock_acquire(&locks->lock);
	if (tid)
		number = MAX(locks->thread_count, 1u) - 1;
	for (uint32_t tries = FIND_MAX; number; number--)
		if (!tries--)
			number = 1;
		else if ((uint32_t)locks->thread[number]->known.inner_tid ==
			 tid)
			break;
	lock_release(&locks->lock);
	return number;
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

	while (share < end && share->longest.by.thread != hold->by.thread)
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
	const struct lock_event event = {
		.address = wait->address,
		.object = wait->object,
		.from_ns = from_ns,
		.to_ns = hold->ns,
		.thread = hold->by.thread,
		.kind = wait->kind,
		.is_hold = true,
		.held = *hold,
	};

	if (hold->listed || wait->to_ns - wait->from_ns < WAIT_NS_MIN)
		return;
	hold->listed = true;
	list_event(locks, &event);
}

/* Lists the signal or post that ended @wait. */
static void list_signal(struct process_locks *locks,
			const struct lock_event *wait)
{
	struct hold signal = wait->woke;

	if (signal.ns)
		list_hold(locks, &signal, signal.ns, wait);
}

/* Returns the first hold of @known that ended after @ns, or the count. */
static size_t first_hold(const struct known_lock *known, uint64_t ns)
{
	return search_first(at, known->count, known->hold[at].ns > ns);
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

/* Finds the longest holder and the waker of @wait, and lists all holds. */
static void follow_holds(struct process_locks *locks, struct known_lock *known,
			 const struct lock_wait *wait, struct lock_event *event)
{
	const struct lock_stretch whole = { wait->from_ns, wait->to_ns };
	const bool forgot = known->forgotten_ns >= wait->from_ns;
	struct shares shares = {
		.unknown_ns = wait->is_cut || forgot ? UNPROVED_NS : 0,
	};
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
	if (!has_release || forgot)
		event->woke = (struct hold){ 0 };
	if (wait->kind != SYNC_MUTEX) {
		list_signal(locks, event);
		return;
	}
	if (!has_release && !forgot && wait->count <= 1 && !known->silent)
		event->woke = early_release(locks, known, wait);
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

static void take_wait(struct process_locks *locks,
		      const struct order_item *item)
{
	struct lock_wait *wait = (struct lock_wait *)(uintptr_t)item->a;
	struct known_lock *known =
		wait->kind ? find_known_lock(locks, wait->address) : NULL;
	struct lock_event event = {
		.address = wait->address,
		.from_ns = wait->from_ns,
		.to_ns = wait->to_ns,
		.thread = wait->thread,
		.kind = wait->kind,
		.result = wait->result,
		.call = wait->call,
		.object = wait->object,
	};

	if (!wait->kind) {
		list_event(locks, &event);
	} else if (known) {
		if (wait->object)
			known->object = wait->object;
		event.object = known->object;
		follow_holds(locks, known, wait, &event);
		if (wait->result == SYNC_GOT && wait->kind == SYNC_MUTEX) {
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

/* --- the jobs thread ----------------------------------------------------- */

/* Writes the name of the lock of @event, with brackets. */
static void name_lock(struct process_locks *locks,
		      const struct lock_event *event, char out[WAIT_TEXT_BYTES])
{
	static const char *const kinds[] = {
		[SYNC_MUTEX] = "mutex",
		[SYNC_CONDITION] = "condition",
		[SYNC_SEMAPHORE] = "semaphore",
	};
	char place[WAIT_PLACE_BYTES];

	const char *kind = event->kind ? kinds[event->kind] : "";

	/* The kernel's may be of another object in the same place. */
	if (event->object &&
	    strncmp(event->object + 1, kind, strlen(kind)) == 0) {
		snprintf(out, WAIT_TEXT_BYTES, "%s", event->object);
		return;
	}
	snprintf(place, sizeof(place), "0x%llx",
		 (unsigned long long)event->address);
	if (locks->places || wait_places_new(&locks->places) == 0)
		wait_places_name(locks->places, locks->pid, event->address,
				 place);
	wait_text_object(out, kind, place);
}

static void put_lock_text(struct process_locks *locks, const char *key,
			  const char *text)
{
	note_text(key, text, &locks->out.names, &locks->out.fields,
		  &locks->out.interned);
}

static struct written_thread *thread_numbered(struct process_locks *locks,
					      uint32_t number, char name[16])
{
	struct written_thread *thread = NULL;

	lock_acquire(&locks->lock);
	if (number && number < locks->thread_count) {
		thread = locks->thread[number];
		memcpy(name, thread->known.name, 16);
	}
	lock_release(&locks->lock);
	return thread;
}

static void put_lock_function(struct process_locks *locks, const char *key,
			      const struct lock_place *place)
{
	struct symbol symbol;

	if (!place->function)
		return;
	modules_resolve(locks->modules, place->function, place->generation,
			&symbol);
	put_lock_text(locks, key, symbol.name);
}

/* Adds the thread of @hold as @what ("held"), with its tid and function. */
static void put_party(struct process_locks *locks, const char *what,
		      const struct hold *hold, const char *otherwise)
{
	char key[32], name[16];
	const struct written_thread *thread =
		hold->ns ? thread_numbered(locks, hold->by.thread, name) : NULL;

	snprintf(key, sizeof(key), "%s_by", what);
	put_lock_text(locks, key, thread ? name : otherwise);
	if (!thread)
		return;
	snprintf(key, sizeof(key), "%s_by_tid", what);
	note_number(key, (uint64_t)thread->known.tid, &locks->out.names,
		    &locks->out.fields, &locks->out.interned);
	snprintf(key, sizeof(key), "%s_in", what);
	put_lock_function(locks, key, &hold->by);
}

static void write_lock_wait(struct process_locks *locks,
			    const struct lock_event *event, const char *object,
			    const char *lock)
{
	char name[16];
	const struct written_thread *thread =
		thread_numbered(locks, event->thread, name);
	const bool got = event->result == SYNC_GOT;
	const uint64_t uuid = thread->known.waits_uuid;

	if (!event->kind) {
		wait_events_put_wait(&locks->out, uuid,
				     &(struct thread_wait){
					     .from_ns = event->from_ns,
					     .to_ns = event->to_ns,
					     .object = object,
					     .call = event->call,
				     });
		return;
	}
	put_lock_text(locks, "lock", lock);
	if (event->kind == SYNC_MUTEX)
		put_party(locks, "held", &event->held, "unknown");
	put_party(locks, "woken", got ? &event->woke : &(struct hold){ 0 },
		  event->result == SYNC_TIMED_OUT ? "outside" : "unknown");
	if (event->result == SYNC_TIMED_OUT)
		put_lock_text(locks, "result", "timed out");
	else if (!got)
		put_lock_text(locks, "result", "failed");
	wait_events_put(&locks->out, TYPE_SLICE_BEGIN, uuid, event->from_ns,
			object);
	if (got && event->woke.ns) {
		bytes_fixed64(&locks->out.fields,
			      TAG_TRACK_EVENT_TERMINATING_FLOW_IDS,
			      event->woke.flow);
		wait_events_put(&locks->out, TYPE_INSTANT, uuid,
				MIN(MAX(event->woke.ns, event->from_ns) + 1,
				    event->to_ns),
				"woken");
	}
	wait_events_put(&locks->out, TYPE_SLICE_END, uuid, event->to_ns, NULL);
}

/* Returns a track of @thread that is free from @from_ns on, or 0. */
static uint64_t hold_track(struct process_locks *locks,
			   struct written_thread *thread,
			   const struct lock_event *event)
{
	uint8_t packet[PACKET_BYTES];
	uint32_t at = 0;

	while (at < HOLD_TRACKS && thread->last_ns[at] > event->from_ns)
		at++;
	if (at == HOLD_TRACKS)
		return 0;
	thread->last_ns[at] = event->to_ns;
	if (thread->track[at])
		return thread->track[at];
	thread->track[at] = random_u64();
	trace_file_append(recording_setup(locks->recording)->trace,
			  OUT_SEQUENCE_GLOBAL, packet,
			  out_track_track(packet, sizeof(packet),
					  &(struct out_track){
						  .uuid = thread->track[at],
						  .parent = thread->known.uuid,
						  .name = OUT_TRACK_LOCKS,
					  }));
	return thread->track[at];
}

static void write_lock_hold(struct process_locks *locks,
			    const struct lock_event *event, const char *lock)
{
	char name[WAIT_TEXT_BYTES + 8];
	struct written_thread *thread =
		thread_numbered(locks, event->thread, name);
	uint64_t uuid = hold_track(locks, thread, event);

	if (!uuid)
		return;
	snprintf(name, sizeof(name), "%s %s",
		 event->kind == SYNC_MUTEX	 ? "holds"
		 : event->kind == SYNC_CONDITION ? "signals"
						 : "posts",
		 lock);
	put_lock_text(locks, "lock", lock);
	put_lock_function(locks, "in", &event->held.by);
	if (event->kind != SYNC_MUTEX) {
		bytes_fixed64(&locks->out.fields, TAG_TRACK_EVENT_FLOW_IDS,
			      event->held.flow);
		wait_events_put(&locks->out, TYPE_INSTANT, uuid, event->to_ns,
				name);
		return;
	}
	wait_events_put(&locks->out, TYPE_SLICE_BEGIN, uuid, event->from_ns,
			name);
	bytes_fixed64(&locks->out.fields, TAG_TRACK_EVENT_FLOW_IDS,
		      event->held.flow);
	wait_events_put(&locks->out, TYPE_SLICE_END, uuid, event->to_ns, NULL);
}

static void write_lock_events(struct process_locks *locks)
{
	struct trace_file *trace = recording_setup(locks->recording)->trace;
	char object[WAIT_TEXT_BYTES], lock[WAIT_TEXT_BYTES];
	struct lock_event *event;
	uint32_t count, room;

	lock_acquire(&locks->lock);
	event = locks->event;
	count = locks->event_count;
	room = locks->event_room;
	locks->event = NULL;
	locks->event_count = locks->event_room = 0;
	locks->posted = false;
	lock_release(&locks->lock);
	for (uint32_t i = 0; i < count; i++) {
		if (!trace_file_admits(trace))
			continue;
		name_lock(locks, &event[i], object);
		snprintf(lock, sizeof(lock), "%.*s",
			 (int)MAX(strlen(object), 2u) - 2, object + 1);
		if (event[i].is_hold)
			write_lock_hold(locks, &event[i], lock);
		else
			write_lock_wait(locks, &event[i], object, lock);
		if (locks->out.out.count >= FLUSH_BYTES)
			wait_events_flush(&locks->out, trace);
	}
	wait_events_flush(&locks->out, trace);
	free(event);
	budget_give(locks_budget(locks), room * sizeof(*event));
}

static void run_lock_job(struct job *job)
{
	write_lock_events((struct process_locks *)job);
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

struct order_item lock_release_item(uint64_t clock, uint64_t address,
				    const struct lock_place *place)
{
	return (struct order_item){
		clock, address, place->function,
		(uint64_t)place->generation << ITEM_THREAD_BITS | place->thread
	};
}

/* --- life ---------------------------------------------------------------- */

static void release_locks(struct process_locks *locks)
{
	order_put(&locks->order);
	forget_locks(locks);
	for (uint32_t i = 1; i < locks->thread_count; i++)
		free(locks->thread[i]);
	free(locks->thread);
	free(locks->event);
	budget_give(locks_budget(locks),
		    locks->event_room * sizeof(*locks->event));
	wait_events_release(&locks->out);
	wait_places_free(&locks->places);
	modules_put(&locks->modules);
	lock_destroy(&locks->lock);
	recording_put(&locks->recording);
	free(locks);
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
	write_lock_events(locks);
	if (!posted) {
		release_locks(locks);
		return;
	}
	/* It is in the queue of this thread. */
	locks->job.run = end_locks;
}
