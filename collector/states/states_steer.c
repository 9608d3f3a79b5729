/* SPDX-License-Identifier: Apache-2.0
 *
 * states_steer - the input and output of the controller (controller.h) in each
 * tick. The controller is pure; the counts, the program's CPU time and the
 * durations of recorded calls come from here. Its knowledge is kept for the
 * next recording (states_cache.h).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/base/clock.h"
#include "collector/code/code_plan.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/states/controller.h"
#include "collector/states/states_cache.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* Least pause between ticks, in multiples of the duration of a tick. */
#define TICK_PAUSE 20

/* --- counts -------------------------------------------------------------- */

void states_sum(struct states *states, struct arena *arena, uint64_t *sums)
{
	const struct arena_setup *setup = arena_setup(arena);
	uint32_t numbers = states->next_number;

	lock_acquire(&states->lock);
	memcpy(sums, states->ended_calls, numbers * sizeof(*sums));
	for (uint32_t i = 0; i < setup->slot_count; i++) {
		const struct slot_shm *slot = arena_slot_shm(arena, i);
		const struct count_cell *cells = arena_counts(arena, i);

		/* relaxed, both: a slot claimed now is seen next time; counts
		 * need no order */
		if (!atom_load_rlx(&slot->claims))
			break;
		for (uint32_t number = 1; number < numbers; number++)
			sums[number] += atom_load_rlx(&cells[number].calls);
	}
	lock_release(&states->lock);
}

static uint64_t calls_of(const struct states *states,
			 const struct function *function)
{
	uint64_t calls = 0;

	for (uint32_t at = function->parts; at != NONE;
	     at = states->parts[at].next)
		calls += states->sums[states->parts[at].number];
	return calls;
}

/* Returns the CPU time of the processes since the last call. */
static uint64_t take_cpu_ns(struct states *states)
{
	struct timespec now;
	uint64_t sum = 0, ns;

	for (struct states_process *process = states_first(states); process;
	     process = process->next) {
		if (!process->has_clock ||
		    clock_gettime(process->clock, &now) < 0)
			continue;
		ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
		sum += ns > process->cpu_ns ? ns - process->cpu_ns : 0;
		process->cpu_ns = ns;
	}
	return sum;
}

/* --- a tick -------------------------------------------------------------- */

/* The cost of a recorded call beyond span_ns, in a loop that does nothing else.
 * Hooks of entry builds save all registers. */
#define CALLS_SPAN_MORE_NS 2.7f
#define ENTRY_SPAN_MORE_NS 6.1f
/*
 * Within a budget calls are recorded rarely, so the hooks and their data drop
 * out of the near caches, and branches are mispredicted. The cost of hooks then
 * rises by this factor: measured by samples of CPU time in the shim, for Lua
 * and for a C++ program of templates.
 */
#define COLD_SPAN 2.2f

struct controller_cost states_cost(const struct states *states, bool entry)
{
	float span = (float)states->thread->collector->span_ns;

	/* The cost of a site that is off belongs to the build. */
	if (states_are_gated(states))
		return (struct controller_cost){ .span = span * COLD_SPAN,
						 .counted = GATE_NS };
	return (struct controller_cost){
		.span = (span +
			 (entry ? ENTRY_SPAN_MORE_NS : CALLS_SPAN_MORE_NS)) *
			COLD_SPAN,
		.counted = STATES_COUNTED_NS,
	};
}

/* Fills in the changes of @function. Returns false without any. */
static bool describe_steered(struct states *states, uint32_t index,
			     uint64_t cpu_ns,
			     const struct controller_cost *cost,
			     struct controller_function *out)
{
	struct function *function = &states->functions[index];
	uint64_t calls = calls_of(states, function);
	uint64_t spent;
	uint32_t told;

	*out = (struct controller_function){
		.number = states->parts[function->parts].number,
		.state = function->state,
		.fixed = function->by_hand || function->excluded ||
			 function->refused,
		.calls = calls > function->calls_told
				 ? calls - function->calls_told
				 : 0,
		.cost = cost,
	};
	/* The gate counts the calls that it leaves out. */
	if (states_are_gated(states) && function->state == FUNCTION_OFF) {
		out->state = FUNCTION_COUNTED;
	}
	lock_acquire(&states->lock);
	out->ended = function->ended - function->ended_told;
	out->ended_ns = function->ended_ns - function->ended_ns_told;
	function->ended_told = function->ended;
	function->ended_ns_told = function->ended_ns;
	if (function->ended)
		function->mean_ns = (uint32_t)MIN(
			function->ended_ns / function->ended, UINT32_MAX);
	function->calls_told = calls;
	spent = (uint64_t)((double)out->calls *
			   (double)(function->state == FUNCTION_SPAN
					    ? cost->span
					    : cost->counted));
	function->cost_ns += (double)spent;
	lock_release(&states->lock);
	/* The gate does not count recorded calls. */
	if (states_are_gated(states) && function->state == FUNCTION_SPAN)
		out->calls += out->ended;
	if (cpu_ns && out->calls)
		function->share =
			(uint32_t)MIN((double)spent * 0x1p32 / (double)cpu_ns,
				      (double)UINT32_MAX);
	/* A function that is off has no calls, so its state is reported only
	 * once. */
	told = 1u + out->state + ((uint32_t)out->fixed << 8);
	if (!out->calls && !out->ended && function->state_told == told)
		return false;
	function->state_told = told;
	return true;
}

/* Stores a wish of the controller for states_take_steps(). */
static void obey(struct states *states, const struct controller_change *change)
{
	struct function *function;

	if (!change->number || change->number >= states->next_number)
		return;
	function = &states->functions[states->owner[change->number]];
	if (function->by_hand || function->excluded || !function->connected)
		return;
	lock_acquire(&states->lock);
	function->wanted = (uint8_t)change->state;
	function->steered = true;
	function->episode = change->episode;
	lock_release(&states->lock);
}

static size_t tick(struct states *states, const struct controller_time *time)
{
	const struct controller_cost calls = states_cost(states, false),
				     entry = states_cost(states, true);
	struct controller_function *list =
		calloc(states->function_count + 1, sizeof(*list));
	struct controller_change changes[BATCH];
	size_t count = 0;

	states_sum(states, states->arena, states->sums);
	for (uint32_t i = 0; list && i < states->function_count; i++)
		if (states->functions[i].connected &&
		    states->functions[i].parts != NONE &&
		    describe_steered(states, i, time->cpu_ns,
				     states->functions[i].entry_build ? &entry
								      : &calls,
				     &list[count]))
			count++;
	count = list ? controller_tick(states->controller, time, list, count,
				       changes, BATCH)
		     : 0;
	for (size_t i = 0; i < count; i++)
		obey(states, &changes[i]);
	free(list);
	lock_acquire(&states->lock);
	controller_reached(states->controller, &states->reached);
	lock_release(&states->lock);
	return count;
}

/* Returns other costs since the last call: the program waits while its text is
 * read and written. budget_of_hooks() has already subtracted samples. */
static uint64_t take_other_ns(struct states *states)
{
	uint64_t ns;

	lock_acquire(&states->lock);
	ns = states->patch_ns - states->patch_ns_told;
	states->patch_ns_told = states->patch_ns;
	lock_release(&states->lock);
	return ns;
}

uint64_t states_steer(struct states *states)
{
	uint64_t now = clock_boottime_ns();
	uint64_t pause;
	struct controller_time time;
	size_t changes = 0;

	if (!states->controller || states->next_number < 2)
		return UINT64_MAX;
	pause = controller_hurries(states->controller) ? CONTROLLER_HURRY_NS
						       : TICK_NS;
	pause = MAX(pause, states->tick_cost_ns * TICK_PAUSE);
	if (states->tick_ns && now - states->tick_ns < pause)
		return pause - (now - states->tick_ns);
	time = (struct controller_time){
		.wall_ns = states->tick_ns ? now - states->tick_ns : TICK_NS,
		.cpu_ns = take_cpu_ns(states),
		.threads = arena_live(states->arena).threads,
	};
	if (states->tick_ns) {
		time.other_ns = take_other_ns(states);
		changes = tick(states, &time);
	}
	states->tick_ns = now;
	states->tick_cost_ns = clock_boottime_ns() - now;
	return changes ? 0 : pause;
}

/* --- the cache ----------------------------------------------------------- */

static bool uses_cache(const struct states *states)
{
	return states->controller &&
	       !states->thread->collector->options->no_cache;
}

static const struct code_function *planned_of(const struct states *states,
					      const struct states_part *part)
{
	return &states->modules[part->module]
			.plan->plan->functions[part->index];
}

static int compare_steered_offset(const void *key, const void *entry)
{
	const uint64_t *offset = key;
	const struct states_cache_function *known = entry;

	return *offset < known->offset ? -1 : *offset > known->offset;
}

/* Returns the cached knowledge about the function of @part, or NULL. */
static const struct controller_known *recall_part(
	struct states *states, const struct states_part *part)
{
	struct states_module *module = &states->modules[part->module];
	const struct states_cache_function *found;

	if (!module->recalled)
		(void)states_cache_load(
			symbol_file_build_id(module->plan->file),
			&module->known);
	module->recalled = true;
	if (!module->known.count)
		return NULL;
	found = bsearch(&planned_of(states, part)->address,
			module->known.functions, module->known.count,
			sizeof(*found), compare_steered_offset);
	return found ? &found->known : NULL;
}

void states_recall(struct states *states, uint32_t index)
{
	struct function *function = &states->functions[index];
	const struct states_part *part = &states->parts[function->parts];
	const struct controller_known *known;

	if (!uses_cache(states) || function->by_hand || function->excluded ||
	    planned_of(states, part)->slot)
		return;
	known = recall_part(states, part);
	if (!known)
		return;
	controller_know(states->controller, part->number, known);
	lock_acquire(&states->lock);
	function->wanted = (uint8_t)known->state;
	function->steered = true;
	states->recalled++;
	lock_release(&states->lock);
}

static void remember_module(struct states *states, uint32_t index)
{
	const struct states_module *module = &states->modules[index];
	const struct code_plan *plan = module->plan->plan;
	struct states_cache_function *list =
		calloc(plan->function_count + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; list && i < states->function_count; i++) {
		const struct function *function = &states->functions[i];
		const struct states_part *part =
			&states->parts[function->parts];

		if (function->parts != NONE && function->connected &&
		    !function->by_hand && !function->excluded &&
		    part->module == index && !planned_of(states, part)->slot &&
		    count < plan->function_count &&
		    controller_known(states->controller, part->number,
				     &list[count].known))
			list[count++].offset =
				planned_of(states, part)->address;
	}
	if (count)
		(void)states_cache_store(
			symbol_file_build_id(module->plan->file), list, count);
	free(list);
}

void states_remember(struct states *states)
{
	if (!uses_cache(states))
		return;
	for (uint32_t i = 0; i < states->module_count; i++)
		if (states->modules[i].listed && !states->modules[i].gone &&
		    states->modules[i].plan->plan)
			remember_module(states, i);
}
