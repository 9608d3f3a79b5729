/* SPDX-License-Identifier: Apache-2.0
 *
 * what_if - a thread's steps lie between its waits, and the moments when it ended
 * waits of other threads. A second reading of the trace gives each step its CPU time, so
 * calls need no memory.
 *
 * A thread could run and did not: either all CPUs had threads of the recording, and
 * the replay finds such times by itself; or another program had the CPU.
 */
#include "collector/read/what_if.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/names/name_pattern.h"
#include "collector/read/all_waits.h"
#include "collector/read/cpu_use.h"
#include "collector/read/open_calls.h"
#include "collector/read/ramp.h"
#include "collector/read/trace_bounds.h"
#include "collector/read/trace_switches.h"
#include "collector/read/what_if_replay.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

#define MEMORY_MAX (UINT64_C(1) << 30)
#define UNKNOWN_MAX \
	5 /* time without switches, in percent of the time that ran */
/* With the error of the unchanged run it fits into the numbers of JSON. */
#define NS_MAX 8e18
#define IS_KNOWN (1u << WHAT_IF_CHANGES_MAX) /* in what_if_graph.names */

/* A thread begins a wait, or ends one of another thread. */
struct what_if_point {
	uint64_t ns;
	uint32_t thread; /* number of the track */
	bool begins;
	size_t wait;
};

struct what_if_thread {
	const struct trace_track
		*track; /* of the first reading; NULL: no calls */
	uint32_t first, end; /* steps */
	/* While calls are read. */
	struct open_calls calls; /* changes that apply, as bits */
	uint32_t step, stretch;
	uint64_t at_ns;
};

struct what_if_graph {
	struct what_if *out;
	struct what_if_change *changes;
	uint32_t change_count;
	double factors[1u << WHAT_IF_CHANGES_MAX];
	struct budget budget;
	struct trace_waits *waits;
	struct trace_sched *sched;
	uint64_t begin_ns; /* of the run */
	struct what_if_point *points;
	size_t point_count, point_room;
	struct replay_step *steps;
	uint32_t step_count, step_room;
	uint32_t *waits_at, *released_at; /* steps, by number of the wait */
	struct what_if_thread *threads; /* by number of the track */
	uint32_t thread_count,
		last; /* last: the thread at the end of the run */
	struct ramp busy; /* all CPUs had threads of the recording */
	uint64_t no_switches_ns;
	uint32_t *names; /* by number of a text: its changes, and IS_KNOWN */
	uint32_t name_room;
};

/* --- CPUs ----------------------------------------------------------------- */

/* Adds each time on a CPU to @running, with slope 1. Counts CPUs. */
static int add_stretches(struct what_if_graph *graph, struct ramp *running)
{
	int64_t *tids = calloc(graph->thread_count + 1, sizeof(*tids));
	int err = -ENOMEM;

	for (uint32_t i = 0; tids && i < graph->thread_count; i++)
		if (graph->threads[i].track)
			tids[i] = graph->threads[i].track->tid;
	if (tids)
		err = cpu_use_add(graph->sched, tids, graph->thread_count,
				  &graph->budget, running, &graph->out->cpus);
	free(tids);
	return err;
}

static int find_busy_times(struct what_if_graph *graph)
{
	struct ramp running = { 0 };
	int err = add_stretches(graph, &running);

	ramp_finish(&running);
	for (size_t i = 0; !err && i + 1 < running.count; i++) {
		const struct ramp_corner *corner = &running.corners[i];

		if (lround(corner->slope) >= graph->out->cpus)
			err = ramp_add(&graph->busy, &graph->budget, corner->ns,
				       corner[1].ns,
				       (double)(corner[1].ns - corner->ns));
	}
	ramp_finish(&graph->busy);
	ramp_release(&running, &graph->budget);
	return err;
}

/* --- steps ---------------------------------------------------------------- */

static int compare_what_if_points(const void *left, const void *right)
{
	const struct what_if_point *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	/* A release at the beginning of a wait comes before it. */
	return (int)a->begins - (int)b->begins;
}

static uint64_t what_if_release_ns(const struct trace_wait *wait)
{
	return wait->release_ns ?: wait->to_ns;
}

static int list_points(struct what_if_graph *graph)
{
	const struct trace_waits *waits = graph->waits;

	for (size_t i = 0; i < waits->wait_count; i++) {
		const struct trace_wait *wait = &waits->waits[i];

		if (grow_array_from(&graph->budget, graph->points,
				    graph->point_room, graph->point_count + 2))
			return -ENOMEM;
		graph->points[graph->point_count++] =
			(struct what_if_point){ wait->from_ns,
						wait->thread->number, true, i };
		graph->waits_at[i] = REPLAY_NO_STEP;
		graph->released_at[i] = REPLAY_NO_STEP;
		if (wait->end == WAIT_END_THREAD && wait->waker)
			graph->points[graph->point_count++] =
				(struct what_if_point){
					what_if_release_ns(wait),
					wait->waker->number, false, i
				};
	}
	if (graph->point_count)
		qsort(graph->points, graph->point_count, sizeof(*graph->points),
		      compare_what_if_points);
	return 0;
}

static int add_step(struct what_if_graph *graph, uint64_t from_ns,
		    uint64_t to_ns, bool waits)
{
	if (graph->step_count == UINT32_MAX - 1 ||
	    grow_array_from(&graph->budget, graph->steps, graph->step_room,
			    (size_t)graph->step_count + 1))
		return -ENOMEM;
	graph->steps[graph->step_count++] = (struct replay_step){
		.waits = waits,
		.waker = REPLAY_NO_STEP,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.fixed_ns = waits ? (double)(to_ns - from_ns) : 0,
	};
	return 0;
}

/* Returns the step whose end is the release @point, or REPLAY_NO_STEP. The last
 * step ends at @at_ns, or contains the release. */
static uint32_t releasing_step(const struct what_if_graph *graph,
			       const struct what_if_thread *thread,
			       const struct what_if_point *point,
			       uint64_t at_ns)
{
	const uint32_t last = graph->step_count - 1;

	if (point->ns < thread->track->first_ns)
		return REPLAY_NO_STEP;
	if (point->ns >= at_ns || last == thread->first)
		return last;
	/* It released the lock just before its own wait; clocks and the kernel
	 * are not that exact. */
	return point->ns - MIN(point->ns, graph->steps[last].from_ns) <=
			       OUT_RELEASE_EARLY_NS
		       ? last - 1
		       : REPLAY_NO_STEP;
}

/* Makes the steps of @thread from its points. *@at is the first of them, and then the
 * first of the next thread. */
static int make_steps(struct what_if_graph *graph,
		      struct what_if_thread *thread, size_t *at)
{
	const struct trace_track *track = thread->track;
	uint64_t at_ns = MAX(track->first_ns, graph->begin_ns);

	thread->first = graph->step_count;
	thread->step = thread->first + 1;
	thread->at_ns = at_ns;
	/* Until its first call, which may follow a moment when another thread
	 * started it. */
	if (add_step(graph, graph->begin_ns, at_ns, true))
		return -ENOMEM;
	graph->steps[thread->first].unknown = true;
	for (; *at < graph->point_count &&
	       graph->points[*at].thread <= track->number;
	     ++*at) {
		const struct what_if_point *point = &graph->points[*at];
		const struct trace_wait *wait =
			&graph->waits->waits[point->wait];
		const uint64_t ns = MIN(point->ns, track->last_ns);

		if (point->thread < track->number)
			continue; /* without calls */
		if (point->begins && wait->is_start &&
		    wait->to_ns <= track->first_ns)
			graph->waits_at[point->wait] = thread->first;
		if (ns > at_ns) {
			if (add_step(graph, at_ns, ns, false))
				return -ENOMEM;
			at_ns = ns;
		}
		if (!point->begins) {
			graph->released_at[point->wait] =
				releasing_step(graph, thread, point, at_ns);
		} else if (point->ns < track->last_ns && wait->to_ns > at_ns) {
			graph->waits_at[point->wait] = graph->step_count;
			if (add_step(graph, at_ns, wait->to_ns, true))
				return -ENOMEM;
			at_ns = wait->to_ns;
		}
	}
	if (at_ns < track->last_ns &&
	    add_step(graph, at_ns, track->last_ns, false))
		return -ENOMEM;
	thread->end = graph->step_count;
	/* A thread that ended before the run was probably joined, though nobody
	 * had to wait: then the run ends after it in any case. */
	for (uint32_t i = thread->end;
	     track->last_ns < graph->begin_ns + graph->out->length_ns &&
	     i-- > thread->first;)
		if (!graph->steps[i].waits) {
			graph->steps[i].ends_run = true;
			break;
		}
	return 0;
}

/* Connects waits with the steps that ended them. */
static void join_steps(struct what_if_graph *graph)
{
	for (size_t i = 0; i < graph->waits->wait_count; i++) {
		const struct trace_wait *wait = &graph->waits->waits[i];
		const uint32_t number = graph->waits_at[i];
		struct replay_step *step;
		uint64_t release_ns;

		if (number == REPLAY_NO_STEP)
			continue;
		step = &graph->steps[number];
		if (wait->end == WAIT_END_OUTSIDE ||
		    wait->end == WAIT_END_TIMEOUT)
			continue;
		step->waker = graph->released_at[i];
		step->unknown = step->waker == REPLAY_NO_STEP;
		if (step->unknown) {
			graph->out->unknown_ns += step->to_ns - step->from_ns;
			continue;
		}
		release_ns = MIN(MAX(what_if_release_ns(wait), step->from_ns),
				 step->to_ns);
		step->fixed_ns =
			(double)(step->to_ns - release_ns) -
			ramp_between(&graph->busy, release_ns, step->to_ns);
	}
}

/* The run ends with the first thread of a process. Other threads may be killed
 * then, and their open calls end when the trace does. */
static bool is_better_last(const struct trace_track *track,
			   const struct trace_track *last)
{
	bool leads = track->process && track->process->pid == track->tid;
	bool led = last && last->process && last->process->pid == last->tid;

	return !last || (leads != led ? leads : track->last_ns > last->last_ns);
}

/* Returns false if the trace has no calls of threads. */
static bool list_threads(struct what_if_graph *graph)
{
	const struct trace_reader *reader = graph->waits->reader;
	const struct trace_track *track, *last = NULL;

	for (uint32_t i = 0; (track = trace_reader_track(reader, i)); i++) {
		if (track->kind != TRACE_TRACK_THREAD ||
		    track->last_ns <= graph->begin_ns)
			continue;
		graph->threads[i].track = track;
		if (is_better_last(track, last))
			last = track;
	}
	if (!last || !graph->begin_ns)
		return false;
	graph->last = last->number;
	graph->out->length_ns = last->last_ns - graph->begin_ns;
	return true;
}

/* --- CPU time of steps ---------------------------------------------------- */

static void account_gap(struct what_if_graph *graph, struct replay_step *step,
			enum trace_left why, bool in_call, uint64_t from_ns,
			uint64_t to_ns, double factor)
{
	const double took = (double)(to_ns - from_ns);
	double shared;

	switch (why) {
	case TRACE_LEFT_PREEMPTED:
		shared = ramp_between(&graph->busy, from_ns, to_ns);
		graph->out->shared_ns += (uint64_t)shared;
		graph->out->stolen_ns += (uint64_t)(took - shared);
		step->stolen_ns[REPLAY_RECORDED] += took - shared;
		step->stolen_ns[REPLAY_CHANGED] += (took - shared) * factor;
		break;
	case TRACE_LEFT_WAITS:
		step->fixed_ns += took;
		break;
	case TRACE_LEFT_ENDED:
	case TRACE_LEFT_UNKNOWN:
		/* Around an exec, such as the start of the program. */
		if (!in_call) {
			step->fixed_ns += took;
			break;
		}
		graph->no_switches_ns += to_ns - from_ns;
		step->cpu_ns[REPLAY_RECORDED] += took;
		step->cpu_ns[REPLAY_CHANGED] += took * factor;
		break;
	}
}

/* A part of a step with constant changes. Returns its time on a CPU. */
static uint64_t account_part(struct what_if_graph *graph,
			     struct what_if_thread *thread,
			     struct replay_step *step, uint64_t to_ns,
			     double factor)
{
	const struct trace_stretch *ran;
	const uint32_t count =
		trace_sched_stretches(graph->sched, thread->track->tid, &ran);
	uint64_t at_ns = thread->at_ns, on_cpu_ns = 0;

	while (at_ns < to_ns) {
		const uint32_t i = thread->stretch;
		uint64_t end_ns = to_ns;

		if (i < count && ran[i].to <= at_ns) {
			thread->stretch++;
		} else if (i < count && ran[i].from <= at_ns) {
			end_ns = MIN(end_ns, ran[i].to);
			on_cpu_ns += end_ns - at_ns;
			at_ns = end_ns;
		} else {
			if (i < count)
				end_ns = MIN(end_ns, ran[i].from);
			account_gap(graph, step,
				    i && i < count
					    ? (enum trace_left)ran[i - 1].why
					    : TRACE_LEFT_UNKNOWN,
				    thread->calls.depth, at_ns, end_ns, factor);
			at_ns = end_ns;
		}
	}
	step->cpu_ns[REPLAY_RECORDED] += (double)on_cpu_ns;
	step->cpu_ns[REPLAY_CHANGED] += (double)on_cpu_ns * factor;
	return on_cpu_ns;
}

/* Gives the thread's steps their CPU time up to @ns, where its open calls
 * change. */
static void account_until(struct what_if_graph *graph,
			  struct what_if_thread *thread, uint64_t ns)
{
	const uint32_t bits = open_calls_innermost(&thread->calls);
	uint64_t on_cpu_ns = 0;

	while (thread->step < thread->end && thread->at_ns < ns) {
		struct replay_step *step = &graph->steps[thread->step];
		const uint64_t to_ns = MIN(ns, step->to_ns);

		if (!step->waits && to_ns > thread->at_ns)
			on_cpu_ns += account_part(graph, thread, step, to_ns,
						  graph->factors[bits]);
		thread->at_ns = MAX(thread->at_ns, to_ns);
		if (thread->at_ns >= step->to_ns)
			thread->step++;
	}
	graph->out->on_cpu_ns += on_cpu_ns;
	for (uint32_t i = 0; i < graph->change_count; i++)
		if (bits >> i & 1)
			graph->changes[i].on_cpu_ns += on_cpu_ns;
}

static int take_what_if_event(struct what_if_graph *graph,
			      const struct trace_reader *reader,
			      const struct trace_event *event)
{
	const uint32_t name = event->site ?: event->name;
	struct what_if_thread *thread;
	uint32_t bits = 0;

	if (event->track->number >= graph->thread_count)
		return 0;
	thread = &graph->threads[event->track->number];
	if (!thread->track)
		return 0;
	if (event->kind == TRACE_BEGIN) {
		if (grow_array_zeroed(graph->names, graph->name_room,
				      (size_t)name + 1))
			return -ENOMEM;
		if (!graph->names[name]) {
			bits = IS_KNOWN;
			for (uint32_t i = 0; i < graph->change_count; i++)
				if (name_pattern_matches(
					    graph->changes[i].pattern,
					    trace_reader_text(reader, name),
					    ""))
					bits |= 1u << i;
			graph->names[name] = bits;
		}
		bits = graph->names[name] & ~IS_KNOWN;
		for (uint32_t i = 0; i < graph->change_count; i++)
			graph->changes[i].calls += bits >> i & 1;
		bits |= open_calls_innermost(&thread->calls);
	}
	account_until(graph, thread, event->ns);
	return open_calls_take(&thread->calls, event, bits);
}

static int read_what_if_calls(struct what_if_graph *graph, const char *path,
			      const struct read_progress *progress)
{
	struct trace_reader *reader = NULL;
	struct trace_event event;
	int err = trace_reader_open(path, &reader);

	if (!err && progress)
		trace_reader_set_progress(reader, progress);
	while (!err && trace_reader_next(reader, &event) > 0)
		if (open_calls_change(&event))
			err = take_what_if_event(graph, reader, &event);
	for (uint32_t i = 0; !err && i < graph->thread_count; i++)
		if (graph->threads[i].track)
			account_until(graph, &graph->threads[i], UINT64_MAX);
	trace_reader_close(&reader);
	return err;
}

/* An unknown wait may end earlier by the CPU time that all threads saved until
 * then. */
static int find_earliest_ends(struct what_if_graph *graph)
{
	struct ramp saved = { 0 };
	int err = 0;

	for (uint32_t i = 0; !err && i < graph->step_count; i++) {
		const struct replay_step *step = &graph->steps[i];

		err = ramp_add(&saved, &graph->budget, step->from_ns,
			       step->to_ns,
			       step->cpu_ns[REPLAY_RECORDED] +
				       step->stolen_ns[REPLAY_RECORDED] -
				       step->cpu_ns[REPLAY_CHANGED] -
				       step->stolen_ns[REPLAY_CHANGED]);
	}
	ramp_finish(&saved);
	for (uint32_t i = 0; !err && i < graph->step_count; i++) {
		struct replay_step *step = &graph->steps[i];

		if (step->unknown)
			step->earliest_ns =
				(double)(step->to_ns - graph->begin_ns) -
				ramp_until(&saved, step->to_ns);
	}
	ramp_release(&saved, &graph->budget);
	return err;
}

/* --- the answer ----------------------------------------------------------- */

/* Sets out->estimate_ns, low_ns, high_ns in proportion to the replayed run. */
static int replay_all(const struct what_if_graph *graph)
{
	static const struct replay_mode modes[] = {
		{ .run = REPLAY_RECORDED },
		{ .run = REPLAY_CHANGED },
		{ .run = REPLAY_CHANGED, .end_early = true },
		{ .run = REPLAY_CHANGED, .keep_stolen = true },
		{ .run = REPLAY_CHANGED, .ends_with_last = true },
	};
	static const enum what_if_result too_wide[ARRAY_SIZE(modes)] = {
		[2] = WHAT_IF_UNKNOWN_WAITS,
		[3] = WHAT_IF_OTHER_PROGRAMS,
		[4] = WHAT_IF_OTHER_THREADS,
	};
	struct what_if *out = graph->out;
	size_t widest = 2;
	struct replay_thread *threads =
		calloc(graph->thread_count + 1, sizeof(*threads));
	const struct replay_graph replay = {
		.steps = graph->steps,
		.step_count = graph->step_count,
		.threads = threads,
		.thread_count = graph->thread_count,
		.cpus = MAX(out->cpus, 1),
		.last = graph->threads[graph->last].end - 1,
	};
	double ns[ARRAY_SIZE(modes)], error, low, high;
	int err = threads ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < graph->thread_count; i++)
		threads[i] = (struct replay_thread){ graph->threads[i].first,
						     graph->threads[i].end };
	for (size_t i = 0; !err && i < ARRAY_SIZE(modes); i++)
		err = what_if_replay(&replay, modes[i], &ns[i]);
	free(threads);
	out->result = WHAT_IF_CIRCLE;
	if (err)
		return err == -EDEADLK ? 0 : err;
	out->result = ramp_between(&graph->busy, graph->begin_ns,
				   graph->begin_ns + out->length_ns) >
				      (double)out->length_ns / 2
			      ? WHAT_IF_CPU_BOUND
			      : WHAT_IF_NOT_REPRODUCED;
	out->replayed_ns = (uint64_t)ns[0];
	if (ns[0] < 1)
		return 0;
	error = fabs(ns[0] / (double)out->length_ns - 1);
	if (error * 100 > WHAT_IF_ERROR_MAX)
		return 0;
	for (size_t i = 1; i < ARRAY_SIZE(modes); i++)
		ns[i] = MIN(ns[i] * (double)out->length_ns / ns[0], NS_MAX);
	error *= fabs((double)out->length_ns - ns[1]);
	out->estimate_ns = (uint64_t)ns[1];
	low = high = ns[1];
	for (size_t i = 2; i < ARRAY_SIZE(modes); i++) {
		low = MIN(low, ns[i]);
		high = MAX(high, ns[i]);
		if (fabs(ns[i] - ns[1]) > fabs(ns[widest] - ns[1]))
			widest = i;
	}
	out->low_ns = (uint64_t)MAX(0.0, low - error);
	out->high_ns = (uint64_t)(high + error);
	out->result = WHAT_IF_ESTIMATE;
	if ((double)(out->high_ns - out->low_ns) * 100 >
	    (double)out->length_ns * WHAT_IF_POINTS_MAX)
		out->result = too_wide[widest];
	return 0;
}

static int make_graph(struct what_if_graph *graph, const char *path,
		      const struct read_progress *progress)
{
	struct trace_waits *waits = graph->waits;
	struct trace_bounds bounds;
	size_t at = 0;
	int err;

	while (trace_reader_track(waits->reader, graph->thread_count))
		graph->thread_count++;
	graph->threads =
		calloc(graph->thread_count + 1, sizeof(*graph->threads));
	graph->waits_at =
		calloc(waits->wait_count + 1, sizeof(*graph->waits_at));
	graph->released_at =
		calloc(waits->wait_count + 1, sizeof(*graph->released_at));
	if (!graph->threads || !graph->waits_at || !graph->released_at)
		return -ENOMEM;
	err = trace_bounds_read(path, NULL, progress, &bounds);
	if (err)
		return err;
	graph->begin_ns = bounds.first_ns;
	graph->out->result = WHAT_IF_NO_CALLS;
	if (!list_threads(graph))
		return 0;
	graph->out->result = WHAT_IF_NO_SWITCHES;
	if (!graph->sched)
		return 0;
	err = find_busy_times(graph) ?: list_points(graph);
	for (uint32_t i = 0; !err && i < graph->thread_count; i++)
		if (graph->threads[i].track)
			err = make_steps(graph, &graph->threads[i], &at);
	if (err)
		return err;
	join_steps(graph);
	err = read_what_if_calls(graph, path, progress)
		      ?: find_earliest_ends(graph);
	if (err || graph->no_switches_ns * 100 >
			   (graph->out->on_cpu_ns + graph->no_switches_ns) *
				   UNKNOWN_MAX)
		return err;
	return replay_all(graph);
}

int what_if_read(const char *path, struct what_if_change *changes,
		 uint32_t count, const struct read_progress *progress,
		 struct what_if *out)
{
	struct what_if_graph graph = { .out = out,
				       .changes = changes,
				       .change_count = count,
				       .budget.left = MEMORY_MAX };
	int err;

	*out = (struct what_if){ 0 };
	for (uint32_t bits = 0; bits < 1u << count; bits++) {
		graph.factors[bits] = 1;
		for (uint32_t i = 0; i < count; i++)
			if (bits >> i & 1)
				graph.factors[bits] *= changes[i].factor;
	}
	err = all_waits_read(path, progress, &graph.sched, &graph.waits);
	if (!err) {
		out->err = graph.waits->err;
		out->totals = graph.waits->totals;
		err = make_graph(&graph, path, progress);
	}
	for (uint32_t i = 0; graph.threads && i < graph.thread_count; i++)
		free(graph.threads[i].calls.values);
	free(graph.threads);
	free(graph.waits_at);
	free(graph.released_at);
	free(graph.points);
	free(graph.steps);
	ramp_release(&graph.busy, &graph.budget);
	free(graph.names);
	trace_sched_free(&graph.sched);
	trace_waits_free(&graph.waits);
	return err;
}
