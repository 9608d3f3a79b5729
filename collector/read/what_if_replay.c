/* SPDX-License-Identifier: Apache-2.0
 *
 * what_if_replay - goes from event to event: a thread's turn on a CPU, or its time
 * without a CPU, is over. Threads that could run and find no CPU take turns,
 * first come, first served.
 */
#include "collector/read/what_if_replay.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/compiler.h"

#define TURN_NS 3e6 /* a slice of Linux, at least */
#define TURNS_MAX 1e7 /* besides one for each step: 8 hours of CPU time */
#define NOT_YET (-1.0)
#define NO_THREAD UINT32_MAX

struct replay_state {
	const struct replay_graph *graph;
	struct replay_mode mode;
	double now, turn_ns;
	uint32_t left; /* steps that must end before the run ends */
	struct replay_due { /* a heap; the earliest is on top */
		double at;
		uint32_t thread;
	} * due;
	uint32_t due_count;
	uint32_t *ready; /* a ring of thread_count: threads without a CPU */
	uint32_t ready_first, ready_count, running;
	double *ends; /* of steps; NOT_YET */
	uint32_t *waiters; /* by step: the last thread that waits for its end */
	struct replay_place {
		uint32_t step;
		bool on_cpu;
		double cpu_ns; /* that its step needs still */
		uint32_t next; /* thread that waits for the same end */
	} * places; /* by thread */
};

static void wake_at(struct replay_state *state, double at, uint32_t thread)
{
	struct replay_due *due = state->due;
	uint32_t child = state->due_count++;

	while (child && due[(child - 1) / 2].at > at) {
		due[child] = due[(child - 1) / 2];
		child = (child - 1) / 2;
	}
	due[child] = (struct replay_due){ at, thread };
}

static struct replay_due take_next_due(struct replay_state *state)
{
	struct replay_due *due = state->due;
	const struct replay_due top = due[0];
	const struct replay_due moved = due[--state->due_count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < state->due_count) {
		if (child + 1 < state->due_count &&
		    due[child + 1].at < due[child].at)
			child++;
		if (due[child].at >= moved.at)
			break;
		due[at] = due[child];
		at = child;
	}
	due[at] = moved;
	return top;
}

static void make_ready(struct replay_state *state, uint32_t thread)
{
	const uint32_t room = state->graph->thread_count;

	state->ready[(state->ready_first + state->ready_count++) % room] =
		thread;
}

/* Gives free CPUs to threads. */
static void fill_cpus(struct replay_state *state)
{
	while (state->ready_count && state->running < state->graph->cpus) {
		const uint32_t thread = state->ready[state->ready_first];
		struct replay_place *place = &state->places[thread];
		const double turn_ns = MIN(place->cpu_ns, state->turn_ns);

		state->ready_first =
			(state->ready_first + 1) % state->graph->thread_count;
		state->ready_count--;
		state->running++;
		place->on_cpu = true;
		place->cpu_ns -= turn_ns;
		wake_at(state, state->now + turn_ns, thread);
	}
}

static void start_step(struct replay_state *state, uint32_t thread)
{
	struct replay_place *place = &state->places[thread];
	const struct replay_step *step = &state->graph->steps[place->step];
	double end = state->now + step->fixed_ns;

	if (!step->waits) {
		place->cpu_ns = step->cpu_ns[state->mode.run];
		make_ready(state, thread);
		return;
	}
	if (step->waker != REPLAY_NO_STEP) {
		if (state->ends[step->waker] == NOT_YET) {
			place->next = state->waiters[step->waker];
			state->waiters[step->waker] = thread;
			return;
		}
		end = state->now;
	} else if (step->unknown && state->mode.end_early) {
		end = MIN(end, MAX(state->now, step->earliest_ns));
	}
	wake_at(state, end, thread);
}

static bool is_end_of_run(const struct replay_state *state, uint32_t step)
{
	const struct replay_graph *graph = state->graph;

	return step == graph->last ||
	       (graph->steps[step].ends_run && !state->mode.ends_with_last);
}

static void end_step(struct replay_state *state, uint32_t thread)
{
	struct replay_place *place = &state->places[thread];
	const uint32_t step = place->step++;
	uint32_t waiter = state->waiters[step];

	state->ends[step] = state->now;
	state->left -= is_end_of_run(state, step);
	while (waiter != NO_THREAD) {
		const struct replay_place *other = &state->places[waiter];

		wake_at(state,
			state->now + state->graph->steps[other->step].fixed_ns,
			waiter);
		waiter = other->next;
	}
	if (place->step < state->graph->threads[thread].end)
		start_step(state, thread);
}

static int run_replay(struct replay_state *state)
{
	const struct replay_graph *graph = state->graph;
	const enum replay_run stolen =
		state->mode.keep_stolen ? REPLAY_RECORDED : state->mode.run;

	for (uint32_t i = 0; i < graph->thread_count; i++) {
		state->places[i].step = graph->threads[i].first;
		if (graph->threads[i].first < graph->threads[i].end)
			start_step(state, i);
	}
	while (state->left) {
		const struct replay_step *step;
		struct replay_place *place;
		struct replay_due due;

		fill_cpus(state);
		if (!state->due_count)
			return -EDEADLK;
		due = take_next_due(state);
		state->now = due.at;
		place = &state->places[due.thread];
		if (!place->on_cpu) {
			end_step(state, due.thread);
			continue;
		}
		place->on_cpu = false;
		state->running--;
		step = &graph->steps[place->step];
		if (place->cpu_ns > 0)
			make_ready(state, due.thread);
		else /* The rest of the step needs no CPU. */
			wake_at(state,
				due.at + step->stolen_ns[stolen] +
					step->fixed_ns,
				due.thread);
	}
	return 0;
}

int what_if_replay(const struct replay_graph *graph, struct replay_mode mode,
		   double *ns)
{
	struct replay_state state = {
		.graph = graph,
		.mode = mode,
		.due = calloc(graph->thread_count + 1, sizeof(*state.due)),
		.ready = calloc(graph->thread_count + 1, sizeof(*state.ready)),
		.ends = calloc(graph->step_count + 1, sizeof(*state.ends)),
		.waiters =
			calloc(graph->step_count + 1, sizeof(*state.waiters)),
		.places =
			calloc(graph->thread_count + 1, sizeof(*state.places)),
	};
	int err = -ENOMEM;

	if (state.due && state.ready && state.ends && state.waiters &&
	    state.places) {
		for (uint32_t i = 0; i < graph->step_count; i++) {
			state.ends[i] = NOT_YET;
			state.waiters[i] = NO_THREAD;
			state.left += is_end_of_run(&state, i);
			state.turn_ns +=
				graph->steps[i].cpu_ns[mode.run] / TURNS_MAX;
		}
		state.turn_ns = MAX(state.turn_ns, TURN_NS);
		err = run_replay(&state);
	}
	*ns = state.now;
	free(state.due);
	free(state.ready);
	free(state.ends);
	free(state.waiters);
	free(state.places);
	return err;
}
