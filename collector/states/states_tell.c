/* SPDX-License-Identifier: Apache-2.0
 *
 * states_tell - the states of an arena for other threads: their reads and their
 * additions.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/base/clock.h"
#include "collector/base/search.h"
#include "collector/code/code_plan.h"
#include "collector/code/patch.h"
#include "collector/names/filter.h"
#include "collector/names/filter_matches.h"
#include "collector/names/map_log.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/recording.h"
#include "collector/states/controller.h"
#include "collector/states/states_inner.h"
#include "collector/states/states_trace.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* --- slots --------------------------------------------------------------- */

static int compare_function_calls(const void *a, const void *b)
{
	const struct states_calls *one = a, *other = b;

	if (one->address != other->address)
		return one->address < other->address ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

static size_t merge_parts(struct states_calls *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 1; i < count; i++)
		if (list[i].address == list[kept].address &&
		    list[i].generation == list[kept].generation)
			list[kept].calls += list[i].calls;
		else
			list[++kept] = list[i];
	return kept + 1;
}

size_t states_slot_calls(struct arena *arena, uint32_t index,
			 struct states_calls **out)
{
	struct states *states = arena_setup(arena)->states;
	const struct count_cell *cells = arena_counts(arena, index);
	size_t count = 0;

	*out = NULL;
	if (!states)
		return 0;
	lock_acquire(&states->lock);
	if (states->next_number > 1)
		*out = calloc(states->next_number, sizeof(**out));
	for (uint32_t i = 1; *out && i < states->next_number; i++) {
		/* relaxed: a count */
		uint64_t calls = atom_load_rlx(&cells[i].calls);
		const struct function *function =
			&states->functions[states->owner[i]];

		/* Otherwise recorded calls are the complete count, without
		 * paused ones. */
		if (calls && function->muted)
			(*out)[count++] = (struct states_calls){
				.address = function->address,
				.number = i,
				.generation = function->generation,
				.calls = calls,
				.apart = states_are_gated(states),
			};
	}
	lock_release(&states->lock);
	if (count) {
		qsort(*out, count, sizeof(**out), compare_function_calls);
		return merge_parts(*out, count);
	}
	free(*out);
	*out = NULL;
	return 0;
}

void states_slot_ended(struct arena *arena, uint32_t index, bool gone)
{
	struct states *states = arena_setup(arena)->states;
	struct count_cell *cells = arena_counts(arena, index);

	if (!states || !gone)
		return;
	lock_acquire(&states->lock);
	for (uint32_t i = 1; i < states->next_number; i++) {
		/* relaxed, all: the owner is gone; FREE comes after */
		uint64_t calls = atom_load_rlx(&cells[i].calls);

		states->ended_calls[i] += calls;
		if (calls || atom_load_rlx(&cells[i].recorded)) {
			atom_store_rlx(&cells[i].calls, 0);
			atom_store_rlx(&cells[i].recorded, 0);
		}
	}
	lock_release(&states->lock);
}

/* --- changes ------------------------------------------------------------- */

/* Returns true if the trace shows this start or end of an episode: an end only
 * if it has the start. Thread perfrec-states. */
static bool tells_episode(struct states *states, struct function *function)
{
	bool told = function->episode_told;

	if (function->state != FUNCTION_SPAN) {
		function->episode_told = false;
		return told;
	}
	function->episode_told = states->episodes_told < EPISODES_TOLD;
	states->episodes_told += function->episode_told;
	return function->episode_told;
}

void states_note_change(struct states *states, struct function *function,
			enum function_state from, uint64_t ns, bool connected)
{
	struct states_change change;

	if (from == function->state)
		return;
	states_name(states, function);
	change = (struct states_change){
		.ns = ns,
		.address = function->address,
		.name = function->name,
		.from = from,
		.to = function->state,
		.share = function->share,
		.mean_ns = function->mean_ns,
		.by_hand = function->by_hand || function->excluded,
		.entry_build = function->entry_build,
		.connected = connected,
		.episode = function->episode,
	};
	lock_acquire(&states->lock);
	states->change_count++;
	lock_release(&states->lock);
	if (change.episode && !tells_episode(states, function))
		return;
	change.last_episode = states->episodes_told == EPISODES_TOLD;
	states_trace_change(states, &change);
}

/* --- durations ----------------------------------------------------------- */

bool states_want_durations(const struct states *states)
{
	/* relaxed: a hint */
	return states && atom_load_rlx(&states->want_durations);
}

void states_add_durations(struct states *states,
			  const struct states_durations *durations,
			  size_t count)
{
	lock_acquire(&states->lock);
	for (size_t i = 0; i < count; i++) {
		struct function *function =
			states_find(states, durations[i].address);

		if (!function) {
			states->has_unknown = true;
			continue;
		}
		function->ended += durations[i].ended;
		function->ended_ns += durations[i].ended_ns;
	}
	lock_release(&states->lock);
}

/* --- for people ---------------------------------------------------------- */

/* A function recorded for an episode counts as counted. */
static enum function_state state_told(const struct function *function)
{
	if (function->state == FUNCTION_DRAINING ||
	    (function->state == FUNCTION_SPAN && function->episode))
		return FUNCTION_COUNTED;
	return (enum function_state)function->state;
}

/* Under the lock. */
static void copy_function(const struct states *states, const uint64_t *sums,
			  const struct function *function,
			  struct states_function *out)
{
	const struct controller_cost cost =
		states_cost(states, function->entry_build);

	*out = (struct states_function){
		.address = function->address,
		.name = function->name,
		.module = function->module,
		.number = function->connected
				  ? states->parts[function->parts].number
				  : 0,
		.state = state_told(function),
		.by_hand = function->by_hand || function->excluded,
		.gated = (states_are_gated(states) &&
			  function->state == FUNCTION_OFF) ||
			 (function->excluded && !function->connected),
		.entry_build = function->entry_build,
		.sites = function->sites,
		.refused = function->refused || states->gate
				   ? function->refused
				   : states->unwritable,
		.counted = function->connected,
		.late = function->late,
		.ended = function->ended,
		.ended_ns = function->ended_ns,
	};
	if (function->excluded)
		out->state = FUNCTION_OFF;
	for (uint32_t at = function->parts; out->counted && at != NONE;
	     at = states->parts[at].next)
		out->calls += sums[states->parts[at].number];
	out->cost_each_ns = out->state == FUNCTION_SPAN	     ? cost.span
			    : out->gated		     ? GATE_NS
			    : out->state == FUNCTION_COUNTED ? cost.counted
							     : 0;
	out->cost_ns = (uint64_t)function->cost_ns;
	if (!out->cost_ns && out->counted)
		out->cost_ns = (uint64_t)((double)out->calls *
					  (double)out->cost_each_ns);
	else if (!out->cost_ns)
		out->cost_ns =
			(uint64_t)((double)out->ended * (double)cost.span);
}

static int compare_cost(const void *a, const void *b)
{
	const struct states_function *one = a, *other = b;

	if (one->cost_ns != other->cost_ns)
		return one->cost_ns > other->cost_ns ? -1 : 1;
	if (one->calls != other->calls)
		return one->calls > other->calls ? -1 : 1;
	return one->address < other->address ? -1
					     : one->address > other->address;
}

static uint64_t *sums_of_arena(struct states *states, struct arena *arena)
{
	uint64_t *sums = calloc(states->numbers, sizeof(*sums));

	if (sums)
		states_sum(states, arena, sums);
	return sums;
}

size_t states_list(struct arena *arena, struct states_function **out)
{
	struct states *states = states_of(arena);
	uint64_t *sums = states ? sums_of_arena(states, arena) : NULL;
	uint64_t cpu_ns;
	size_t count = 0;
	struct timespec now;

	*out = NULL;
	if (!sums) {
		states_put(&states);
		return 0;
	}
	lock_acquire(&states->lock);
	*out = calloc(states->function_count + STATES_UNPLANNED_MAX,
		      sizeof(**out));
	for (size_t i = 0; *out && i < states->function_count; i++)
		if (states->functions[i].parts != NONE)
			copy_function(states, sums, &states->functions[i],
				      &(*out)[count++]);
	for (size_t i = 0; *out && i < STATES_UNPLANNED_MAX; i++)
		if (states->unplanned[i].path)
			(*out)[count++] = (struct states_function){
				.name = states->unplanned[i].path,
				.refused = states->unplanned[i].why,
			};
	cpu_ns = 0;
	for (const struct states_process *process = states->processes; process;
	     process = process->next)
		if (process->has_clock &&
		    clock_gettime(process->clock, &now) == 0)
			cpu_ns += (uint64_t)now.tv_sec * 1000000000 +
				  (uint64_t)now.tv_nsec;
	lock_release(&states->lock);
	states_put(&states);
	free(sums);
	for (size_t i = 0; i < count && cpu_ns; i++)
		(*out)[i].cost_share = (float)(*out)[i].cost_ns / (float)cpu_ns;
	if (*out)
		qsort(*out, count, sizeof(**out), compare_cost);
	return count;
}

/* Under the lock. */
static void add_summed_function(const struct states *states,
				const struct function *function,
				struct states_summary *out)
{
	out->late += function->late;
	if (function->parts == NONE) { /* unloaded */
		out->patched += function->hookless && !function->refused;
		out->unpatched += function->hookless && function->refused;
		return;
	}
	out->functions++;
	if (function->hookless) {
		out->patched += function->connected;
		out->unpatched += !function->connected;
	} else if (function->called) {
		out->called += function->connected;
		out->uncalled += !function->connected;
	} else if (function->refused) {
		struct states_refusal *refusal;
		struct states_refusal *last;

		out->refused++;
		refusal = out->refusals;
		last = refusal + ARRAY_SIZE(out->refusals) - 1;
		while (refusal < last && refusal->why &&
		       refusal->why != function->refused)
			refusal++;
		if (refusal != last) {
			refusal->why = function->refused;
			refusal->functions++;
			refusal->unheard += function->entry_build;
		}
	}
	out->unheard += states->unwritable && function->entry_build;
	out->gated += (function->excluded && !function->connected) ||
		      (states_are_gated(states) && function->connected);
	if (!function->connected)
		return;
	out->hooked += !function->entry_build;
	out->counted += state_told(function) == FUNCTION_COUNTED;
	out->off += function->state == FUNCTION_OFF;
}

/* Returns true if a request or option needs states other than span, or if
 * functions are recorded only through thunks. Under the lock. */
static bool is_wanted(const struct states *states)
{
	const struct collect_options *options =
		states->thread->collector->options;

	if (!states->function_count)
		return false;
	return states->controller || states->pattern_count ||
	       collect_options_add_calls(options) ||
	       filter_is_active(&options->filter) ||
	       arena_setup(states->arena)->entry_build;
}

/* Returns true if all functions of all modules are known, or if no request
 * needs them. Under the lock. */
static bool knows_all(const struct states *states)
{
	if (!states->wants_plans)
		return true;
	for (size_t i = 0; i < states->module_count; i++)
		if (!states->modules[i].listed)
			return false;
	/* A program without hooks may end before its first visit. */
	return states->evaluated || !states->function_count;
}

void states_tell_matches(struct arena *arena)
{
	const struct arena_setup *setup = arena_setup(arena);
	struct states *states = setup->states;
	struct filter_matches *matches =
		recording_setup(setup->recording)->matches;
	size_t counts = recording_setup(setup->recording)->options->count_count;

	if (!states)
		return;
	lock_acquire(&states->lock);
	if (!knows_all(states))
		filter_matches_give_up(matches);
	/* Patterns of options come first. */
	for (size_t i = 0; i < counts; i++)
		if (states->patterns[i].matched)
			filter_matches_mark(matches, FILTER_COUNT, i);
	lock_release(&states->lock);
}

static int compare_heard(const void *a, const void *b)
{
	const struct states_heard *one = a, *other = b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	return (one->start > other->start) - (one->start < other->start);
}

/* Takes the entry of @event from the sorted @list. Returns false if there is
 * none, or none left. */
static bool take_heard(const struct states_heard *list, bool *taken,
		       size_t count, const struct map_event *event)
{
	const struct states_heard wanted = { event->pid, event->start };
	size_t low =
		search_first(i, count, compare_heard(&list[i], &wanted) >= 0);

	/* An entry starts at the code of the module. */
	for (; low < count && list[low].pid == event->pid &&
	       list[low].start < event->end;
	     low++)
		if (!taken[low])
			return taken[low] = true;
	return false;
}

static int compare_late(const void *a, const void *b)
{
	const struct states_late *one = a, *other = b;
	int paths = strcmp(one->path, other->path);

	if (!one->ns != !other->ns)
		return one->ns ? 1 : -1;
	if (one->slots != other->slots)
		return one->slots ? 1 : -1;
	return paths ? paths
		     : (one->pid > other->pid) - (one->pid < other->pid);
}

static struct states_module_told *find_told(struct states_modules_told *out,
					    const struct states_late *late)
{
	struct states_module_told *module = out->list;
	struct states_module_told *end = module + out->count;

	while (module < end &&
	       (!module->ns != !late->ns || module->slots != late->slots ||
		strcmp(module->path, late->path) != 0))
		module++;
	if (module == out->list + ARRAY_SIZE(out->list))
		return NULL;
	out->count += module == end;
	return module;
}

static void add_modules(struct states_modules_told *out,
			struct states_late *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), compare_late);
	for (size_t i = 0; i < count; i++) {
		struct states_module_told *module = find_told(out, &list[i]);

		if (!module)
			continue;
		module->path = list[i].path;
		module->slots = list[i].slots;
		module->ns = MAX(module->ns, list[i].ns);
		module->loads++;
		module->processes += !i || list[i].pid != list[i - 1].pid ||
				     module->loads == 1;
	}
}

/* Adds modules that were loaded late and never connected. @heard is a copy.
 * @calls: with --calls-to. */
static void find_missed(struct map_log *log, bool calls,
			struct states_heard *heard, size_t count,
			struct states_modules_told *out)
{
	size_t events = map_log_read(log), missed = 0;
	bool *taken = calloc(count + 1, sizeof(*taken));
	struct states_late *list = calloc(events + 1, sizeof(*list));
	struct map_event event;

	if (count)
		qsort(heard, count, sizeof(*heard), compare_heard);
	for (size_t i = 0; taken && list && i < events; i++) {
		if (!map_log_event(log, i, &event) ||
		    event.kind == MAP_UNLOAD ||
		    (!event.entry_build &&
		     (!calls || collect_options_never_patch(event.path))) ||
		    take_heard(heard, taken, count, &event))
			continue;
		list[missed++] = (struct states_late){ event.path, 0, event.pid,
						       !event.entry_build };
		out->missed += event.entry_build;
	}
	add_modules(out, list, missed);
	free(list);
	free(taken);
}

static void tell_modules(struct arena *arena, struct states *states,
			 struct states_modules_told *out)
{
	struct map_log *log = arena_setup(arena)->map_log;
	struct states_late late[STATES_LATE_MAX];
	struct states_heard *heard;
	size_t count;

	lock_acquire(&states->lock);
	count = states->heard_count;
	heard = calloc(count + 1, sizeof(*heard));
	for (size_t i = 0; heard && i < count; i++)
		heard[i] = states->heard[i];
	out->late = states->late_count;
	out->late_ns = states->late_ns;
	memcpy(late, states->late, sizeof(late));
	lock_release(&states->lock);
	add_modules(out, late, MIN(out->late, STATES_LATE_MAX));
	if (heard && log) {
		out->log = map_log_get(log);
		find_missed(log,
			    states->thread->collector->options->calls_to !=
				    NULL,
			    heard, count, out);
	}
	free(heard);
}

void states_summary_release(struct states_summary *summary)
{
	map_log_put(&summary->modules.log);
}

void states_summary(struct arena *arena, struct states_summary *out)
{
	struct states *states = arena_setup(arena)->states;

	*out = (struct states_summary){ 0 };
	if (!states)
		return;
	lock_acquire(&states->lock);
	for (size_t i = 0; i < states->function_count; i++)
		add_summed_function(states, &states->functions[i], out);
	memcpy(out->unplanned, states->unplanned, sizeof(out->unplanned));
	out->unplanned_files = states->unplanned_files;
	out->changes = states->change_count;
	out->unpatched_processes = states->unpatched_processes;
	out->patch_ns = states->patch_ns;
	out->held_ns = states->held_ns;
	out->recalled = states->recalled;
	out->unwritable = is_wanted(states) ? states->unwritable : NULL;
	out->unmet = states->reached.unmet;
	out->cost_ns = states->reached.cost_ns;
	out->counting_ns = states->reached.counting_ns;
	out->cpu_ns = states->reached.cpu_ns;
	lock_release(&states->lock);
	tell_modules(arena, states, &out->modules);
}
