/* SPDX-License-Identifier: Apache-2.0
 *
 * own_waits - follows the chain of each wait backwards, from its release to its
 * start: the waker's hooks and stalls, its times without a CPU, and its own waits for
 * other threads. Those have ended before, so the waits are summed up in the order of
 * their ends, and a sum over some waits of a thread is a difference of two sums.
 *
 * A thread without a CPU waited for the threads that had one. So as much of that
 * time is due to recording as of the CPU time then: hooks of all threads, and the
 * collector.
 */
#include "collector/read/own_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/read/cpu_use.h"
#include "collector/read/ramp.h"
#include "collector/read/thread_choice.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_switches.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

#define MEMORY_MAX (UINT64_C(1) << 30)
/* Calls of a thread that follow each other within the first time, up to the second,
 * are one stretch of hooks. Both double after STRETCHES, so that memory is
 * bounded. */
#define NEAR_NS 20000u
#define STRETCH_NS 200000u
#define STRETCHES 262144u
#define CHAIN_MAX 32 /* threads of a chain at the start of a wait */
#define WAKE_NS 50000u /* usual time between a wake-up and a thread's run */

/* Sums over some time. */
struct own_sum {
	double hooks_ns; /* hooks and stalls */
	double share_ns; /* other threads' hooks, and the collector */
};

struct own_thread {
	const struct trace_track *track; /* of the first reading */
	struct ramp hooks; /* and stalls */
	struct ramp share; /* while preempted */
	/* While calls are read. */
	uint64_t from_ns, last_ns; /* a stretch of hooks; 0: none */
	uint32_t events; /* in it */
	uint64_t stalled_ns; /* start of a stall; 0: none */
	/* The waits of the thread that ended before the one at hand, without those
	 * inside others. */
	struct own_wait {
		uint64_t from_ns, to_ns;
		size_t number;
		struct own_sum
			before; /* beyond the ramps, of waits before it */
	} * waits;
	uint32_t wait_count, wait_room;
	struct own_sum beyond; /* of all these waits */
};

struct own_walk {
	const struct own_costs *costs;
	struct trace_waits *waits;
	struct trace_reader *calls;
	struct trace_sched *sched;
	struct budget budget;
	struct own_thread *threads; /* by number of the track of waits */
	uint32_t thread_count;
	struct own_thread **known; /* by number of the track of calls */
	uint32_t known_room;
	uint32_t stall_name; /* text of calls; 0: not seen */
	uint32_t looked; /* texts that were compared */
	uint64_t stretches, near_ns, stretch_ns;
	struct ramp all_hooks, running; /* of all threads; without stalls */
	uint32_t cpus;
	double collector_rate; /* of CPUs without a thread of the trace */
	struct own_sum *sums; /* by number of the wait */
};

static void add_own_sum(struct own_sum *to, const struct own_sum *sum,
			double factor)
{
	to->hooks_ns += sum->hooks_ns * factor;
	to->share_ns += sum->share_ns * factor;
}

/* --- hooks ---------------------------------------------------------------- */

static bool is_stall(struct own_walk *walk, const struct trace_event *event)
{
	for (; walk->looked <= event->name; walk->looked++)
		if (!strcmp(trace_reader_text(walk->calls, walk->looked),
			    INDEX_WAIT_NAME))
			walk->stall_name = walk->looked;
	return event->name && event->name == walk->stall_name;
}

/* Ends a stretch of hooks. */
static int end_hooks(struct own_walk *walk, struct own_thread *thread)
{
	const double event_ns = walk->costs->call_ns / 2;
	/* One event has no length. */
	const uint64_t from_ns =
		thread->from_ns - MIN(thread->from_ns, (uint64_t)event_ns);
	const double cost = MIN(thread->events * event_ns,
				(double)(thread->last_ns - from_ns));

	if (!thread->events)
		return 0;
	thread->events = 0;
	if (walk->stretches++ == STRETCHES) {
		walk->stretches = 0;
		walk->near_ns *= 2;
		walk->stretch_ns *= 2;
	}
	return ramp_add(&thread->hooks, &walk->budget, from_ns, thread->last_ns,
			cost)
		       ?: ramp_add(&walk->all_hooks, &walk->budget, from_ns,
				   thread->last_ns, cost);
}

static int take_own_event(struct own_walk *walk, struct own_thread *thread,
			  const struct trace_event *event)
{
	const uint64_t ns = event->ns;
	int err = 0;

	/* Nothing is called during a stall. */
	if (thread->stalled_ns) {
		err = ramp_add(&thread->hooks, &walk->budget,
			       thread->stalled_ns, ns,
			       (double)(ns - thread->stalled_ns));
		thread->stalled_ns = 0;
		return err;
	}
	if (event->kind == TRACE_BEGIN && is_stall(walk, event)) {
		thread->stalled_ns = ns;
		return end_hooks(walk, thread);
	}
	if (thread->events && (ns - thread->last_ns > walk->near_ns ||
			       ns - thread->from_ns > walk->stretch_ns))
		err = end_hooks(walk, thread);
	if (!thread->events)
		thread->from_ns = ns;
	thread->last_ns = ns;
	thread->events++;
	return err;
}

static int read_hooks(struct own_walk *walk, const char *path,
		      const struct read_progress *progress)
{
	struct trace_event event;
	int err = trace_reader_open(path, &walk->calls);

	if (!err && progress)
		trace_reader_set_progress(walk->calls, progress);
	while (!err && trace_reader_next(walk->calls, &event) > 0) {
		struct own_thread **known;

		if ((event.kind != TRACE_BEGIN && event.kind != TRACE_END) ||
		    event.unfinished || event.seed || !event.track ||
		    !track_has_calls(event.track))
			continue;
		known = grow_array_at(walk->known, walk->known_room,
				      event.track->number);
		if (!known)
			return -ENOMEM;
		/* The readers may number tracks differently. */
		if (!*known) {
			const struct trace_track *track =
				trace_reader_find_track(
					walk->waits->reader,
					call_track_thread(walk->calls,
							  event.track)
						->uuid);

			if (!track || track->number >= walk->thread_count)
				continue;
			*known = &walk->threads[track->number];
		}
		err = take_own_event(walk, *known, &event);
	}
	for (uint32_t i = 0; !err && i < walk->thread_count; i++)
		err = end_hooks(walk, &walk->threads[i]);
	for (uint32_t i = 0; !err && i < walk->thread_count; i++)
		ramp_finish(&walk->threads[i].hooks);
	ramp_finish(&walk->all_hooks);
	return err;
}

/* --- CPUs ----------------------------------------------------------------- */

/* Returns the time that a thread without a CPU waited because of recording. */
static double own_share(const struct own_walk *walk, uint64_t from_ns,
			uint64_t to_ns)
{
	double took = (double)to_ns - (double)from_ns, hooks, ran, others;

	if (!walk->cpus || took <= 0)
		return 0;
	hooks = ramp_until(&walk->all_hooks, to_ns) -
		ramp_until(&walk->all_hooks, from_ns);
	ran = ramp_until(&walk->running, to_ns) -
	      ramp_until(&walk->running, from_ns);
	others = MAX(0.0, walk->cpus * took - ran);
	return MAX(0.0,
		   MIN(took, (MIN(hooks, ran) + others * walk->collector_rate) /
				     walk->cpus));
}

static int add_preempted(struct own_walk *walk, struct own_thread *thread)
{
	const struct trace_stretch *ran;
	uint32_t count =
		trace_sched_stretches(walk->sched, thread->track->tid, &ran);

	for (; count > 1; count--, ran++)
		if (ran->why == TRACE_LEFT_PREEMPTED &&
		    ramp_add(&thread->share, &walk->budget, ran[0].to,
			     ran[1].from,
			     own_share(walk, ran[0].to, ran[1].from)))
			return -ENOMEM;
	ramp_finish(&thread->share);
	return 0;
}

/* Without switches nothing is known of CPUs. */
static int read_cpus(struct own_walk *walk)
{
	const struct ramp *running = &walk->running;
	int64_t *tids;
	double idle;
	int err;

	if (!walk->sched)
		return 0;
	tids = calloc((size_t)walk->thread_count + 1, sizeof(*tids));
	if (!tids)
		return -ENOMEM;
	for (uint32_t i = 0; i < walk->thread_count; i++)
		if (walk->threads[i].track)
			tids[i] = walk->threads[i].track->tid;
	err = cpu_use_add(walk->sched, tids, walk->thread_count, &walk->budget,
			  &walk->running, &walk->cpus);
	free(tids);
	if (err || !walk->cpus)
		return err;
	ramp_finish(&walk->running);
	idle = walk->cpus * (double)(running->corners[running->count - 1].ns -
				     running->corners[0].ns) -
	       running->corners[running->count - 1].sum;
	if (idle > 0)
		walk->collector_rate =
			MIN(1.0, (double)walk->costs->collector_ns / idle);
	for (uint32_t i = 0; !err && i < walk->thread_count; i++)
		if (walk->threads[i].track)
			err = add_preempted(walk, &walk->threads[i]);
	return err;
}

/* --- chains --------------------------------------------------------------- */

static struct own_sum own_of_wait(const struct own_walk *walk,
				  const struct trace_wait *wait,
				  uint64_t from_ns, int depth);

static struct own_sum own_of_ramps(const struct own_thread *thread,
				   uint64_t from_ns, uint64_t to_ns)
{
	return (struct own_sum){
		.hooks_ns = ramp_between(&thread->hooks, from_ns, to_ns),
		.share_ns = ramp_between(&thread->share, from_ns, to_ns),
	};
}

/* Sums up what the thread did from @from_ns to @to_ns. */
static struct own_sum own_of_thread(const struct own_walk *walk,
				    const struct own_thread *thread,
				    uint64_t from_ns, uint64_t to_ns, int depth)
{
	const struct own_wait *waits = thread->waits;
	uint32_t first =
		search_first(i, thread->wait_count, waits[i].to_ns > from_ns);
	uint32_t end =
		search_first(i, thread->wait_count, waits[i].to_ns > to_ns);
	struct own_sum sum = { 0 }, part;

	if (first < end && waits[first].from_ns < from_ns) {
		sum = own_of_wait(walk,
				  &walk->waits->waits[waits[first].number],
				  from_ns, depth);
		from_ns = waits[first].to_ns;
		first++;
	}
	if (from_ns >= to_ns)
		return sum;
	part = own_of_ramps(thread, from_ns, to_ns);
	add_own_sum(&sum, &part, 1);
	if (first < end) {
		add_own_sum(&sum,
			    end < thread->wait_count ? &waits[end].before
						     : &thread->beyond,
			    1);
		add_own_sum(&sum, &waits[first].before, -1);
	}
	return sum;
}

/* Returns the start of the wait of @thread for @lock that ended at @ns; 0: none. */
static uint64_t start_of_own_wait(const struct own_walk *walk,
				  const struct own_thread *thread,
				  uint32_t lock, uint64_t ns)
{
	const uint32_t after = search_first(i, thread->wait_count,
					    thread->waits[i].to_ns >
						    ns + OUT_RELEASE_EARLY_NS);
	const struct own_wait *last = &thread->waits[after ? after - 1 : 0];

	return after && last->to_ns + OUT_RELEASE_EARLY_NS >= ns &&
			       walk->waits->waits[last->number].lock == lock
		       ? last->from_ns
		       : 0;
}

/* Returns the moment from which on @wait was for its waker: the waker took the
 * lock then, or began to wait for it. The waker may have taken the lock several
 * times, before the thread that it woke had a CPU. */
static uint64_t waited_for_waker(const struct own_walk *walk,
				 const struct own_thread *waker,
				 const struct trace_wait *wait,
				 uint64_t from_ns, uint64_t release_ns)
{
	const struct trace_waits *waits = walk->waits;
	const uint32_t thread = wait->waker->number;
	uint64_t at_ns = 0;
	size_t after = search_first(
		i, waits->hold_count,
		waits->holds[i].thread->number > thread ||
			(waits->holds[i].thread->number == thread &&
			 waits->holds[i].to_ns >
				 release_ns + OUT_RELEASE_EARLY_NS));

	while (after--) {
		const struct trace_hold *hold = &waits->holds[after];
		uint64_t start_ns;

		if (hold->thread->number != thread || hold->to_ns <= from_ns ||
		    (at_ns && hold->to_ns + WAKE_NS < at_ns))
			break;
		if (hold->lock != wait->lock)
			continue;
		start_ns = start_of_own_wait(walk, waker, wait->lock,
					     hold->from_ns);
		at_ns = start_ns ?: hold->from_ns;
		if (at_ns <= from_ns)
			break;
	}
	return at_ns ? MIN(MAX(at_ns, from_ns), release_ns) : from_ns;
}

/* Returns the part of @wait from @from_ns on. */
static struct own_sum own_of_wait(const struct own_walk *walk,
				  const struct trace_wait *wait,
				  uint64_t from_ns, int depth)
{
	const uint64_t to_ns = wait->to_ns;
	struct own_sum sum = { 0 };
	const struct own_thread *waker;
	uint64_t release_ns, at_ns;

	if (wait->end != WAIT_END_THREAD || !wait->waker ||
	    depth == CHAIN_MAX || from_ns >= to_ns)
		return sum;
	waker = &walk->threads[wait->waker->number];
	release_ns = MAX(from_ns, MIN(wait->release_ns ?: to_ns, to_ns));
	at_ns = waited_for_waker(walk, waker, wait, from_ns, release_ns);
	sum = own_of_thread(walk, waker, at_ns, release_ns, depth + 1);
	sum.share_ns += own_share(walk, release_ns, to_ns);
	return sum;
}

/* Keeps @wait for the chains of later ones. */
static int keep_own_wait(struct own_walk *walk, struct own_thread *thread,
			 size_t number)
{
	const struct trace_wait *wait = &walk->waits->waits[number];
	const struct own_sum inside =
		own_of_ramps(thread, wait->from_ns, wait->to_ns);

	while (thread->wait_count &&
	       thread->waits[thread->wait_count - 1].from_ns >= wait->from_ns)
		thread->beyond = thread->waits[--thread->wait_count].before;
	if (thread->wait_count &&
	    thread->waits[thread->wait_count - 1].to_ns > wait->from_ns)
		return 0;
	if (grow_array_from(&walk->budget, thread->waits, thread->wait_room,
			    thread->wait_count + 1))
		return -ENOMEM;
	thread->waits[thread->wait_count++] =
		(struct own_wait){ .from_ns = wait->from_ns,
				   .to_ns = wait->to_ns,
				   .number = number,
				   .before = thread->beyond };
	add_own_sum(&thread->beyond, &walk->sums[number], 1);
	add_own_sum(&thread->beyond, &inside, -1);
	return 0;
}

static int compare_wait_ends(const void *left, const void *right, void *context)
{
	const struct trace_waits *waits = context;
	const struct trace_wait *a = &waits->waits[*(const size_t *)left];
	const struct trace_wait *b = &waits->waits[*(const size_t *)right];

	if (a->to_ns != b->to_ns)
		return a->to_ns < b->to_ns ? -1 : 1;
	return (a->from_ns < b->from_ns) - (a->from_ns > b->from_ns);
}

static bool is_own_stall(const struct own_walk *walk,
			 const struct trace_wait *wait)
{
	return !strcmp(trace_texts_get(&walk->waits->texts, wait->object),
		       "[perfrec]");
}

static int sum_own_waits(struct own_walk *walk)
{
	struct trace_waits *waits = walk->waits;
	size_t *order = calloc(waits->wait_count + 1, sizeof(*order));
	int err = 0;

	walk->sums = calloc(waits->wait_count + 1, sizeof(*walk->sums));
	if (!order || !walk->sums)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < waits->wait_count; i++)
		order[i] = i;
	if (!err)
		qsort_r(order, waits->wait_count, sizeof(*order),
			compare_wait_ends, waits);
	for (size_t i = 0; !err && i < waits->wait_count; i++) {
		struct trace_wait *wait = &waits->waits[order[i]];
		struct own_sum *sum = &walk->sums[order[i]];
		double took = (double)(wait->to_ns - wait->from_ns), own;

		if (wait->is_start)
			continue;
		/* A stall is one of the hooks already. */
		if (is_own_stall(walk, wait)) {
			wait->own_ns = wait->to_ns - wait->from_ns;
			continue;
		}
		*sum = own_of_wait(walk, wait, wait->from_ns, 0);
		own = MAX(0.0, MIN(sum->hooks_ns + sum->share_ns, took));
		wait->own_ns = (uint64_t)own;
		err = keep_own_wait(walk, &walk->threads[wait->thread->number],
				    order[i]);
	}
	free(order);
	return err;
}

/* --- all of it ------------------------------------------------------------ */

static int list_own_threads(struct own_walk *walk)
{
	const struct trace_track *track;

	while (trace_reader_track(walk->waits->reader, walk->thread_count))
		walk->thread_count++;
	walk->threads =
		calloc((size_t)walk->thread_count + 1, sizeof(*walk->threads));
	if (!walk->threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < walk->thread_count; i++) {
		track = trace_reader_track(walk->waits->reader, i);
		if (track->kind == TRACE_TRACK_THREAD)
			walk->threads[i].track = track;
	}
	return 0;
}

int own_waits_read(const char *path, const struct own_costs *costs,
		   const struct read_progress *progress,
		   struct trace_waits *waits)
{
	struct own_walk walk = { .costs = costs,
				 .waits = waits,
				 .budget.left = MEMORY_MAX,
				 .near_ns = NEAR_NS,
				 .stretch_ns = STRETCH_NS };
	struct trace_index *index = NULL;
	int err;

	trace_index_read_beside(path, &index);
	err = list_own_threads(&walk);
	if (!err)
		err = trace_sched_read(path, index, NULL, &walk.sched);
	trace_index_free(&index);
	err = err ?: read_hooks(&walk, path, progress) ?: read_cpus(&walk)
				    ?: sum_own_waits(&walk);
	for (uint32_t i = 0; walk.threads && i < walk.thread_count; i++) {
		ramp_release(&walk.threads[i].hooks, &walk.budget);
		ramp_release(&walk.threads[i].share, &walk.budget);
		free(walk.threads[i].waits);
	}
	free(walk.threads);
	free(walk.known);
	free(walk.sums);
	ramp_release(&walk.all_hooks, &walk.budget);
	ramp_release(&walk.running, &walk.budget);
	trace_sched_free(&walk.sched);
	trace_reader_close(&walk.calls);
	return err;
}
