/* SPDX-License-Identifier: Apache-2.0
 *
 * states_steps - the wanted state of each function, and the steps to it
 * (docs/OVERHEAD.md):
 *
 *   span ->            path DRAIN; when none of its recorded calls is open, or
 *                      after DRAIN_NS, its exits go off, and its entries unless
 *                      it will be counted; then path COUNT
 *   -> span            its bits are cleared, its exits go on, then its entries;
 *                      then path RECORD
 *   counted <-> off    its entries go on or off
 *   connect            at once while the program is held. Otherwise, and for a
 *                      part of the function that comes later, through off
 *
 * The function log of the arena gets each change a moment ahead, before the
 * first byte is written (replay/function_log.h).
 */
#include <poll.h>
#include <stdlib.h>

#include "collector/base/clock.h"
#include "collector/code/patch.h"
#include "collector/code/thunks.h"
#include "collector/names/filter.h"
#include "collector/names/filter_matches.h"
#include "collector/names/name_pattern.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/recording.h"
#include "collector/replay/function_log.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/wire.h"

#define AHEAD_NS 1000000

static bool is_function_gone(const struct function *function)
{
	return function->parts == NONE;
}

/* --- wanted states -------------------------------------------------------- */

static void obey_pattern(struct function *function,
			 struct states_pattern *pattern)
{
	pattern->matched = true;
	function->by_hand = true;
	function->episode = false;
	function->wanted = pattern->letter == 's'   ? FUNCTION_SPAN
			   : pattern->letter == 'c' ? FUNCTION_COUNTED
						    : FUNCTION_OFF;
}

struct filter_matches *states_matches(const struct states *states)
{
	const struct recording *recording =
		arena_setup(states->arena)->recording;

	return recording ? recording_setup(recording)->matches : NULL;
}

static void evaluate_function(struct states *states, struct function *function)
{
	const struct collect_options *options =
		states->thread->collector->options;
	bool named = function->name;

	if (named)
		filter_matches_function(states_matches(states), function->name,
					function->module);
	function->excluded =
		named && filter_excludes(&options->filter, function->name,
					 function->module);
	for (size_t i = 0; named && i < states->pattern_count; i++)
		if (name_pattern_matches(states->patterns[i].glob,
					 function->name, function->module))
			obey_pattern(function, &states->patterns[i]);
	if (function->excluded)
		function->wanted = FUNCTION_OFF;
	/* The obstacle may be gone. */
	function->again = function->connected && function->refused &&
			  function->wanted == FUNCTION_OFF;
	/* Before it is connected its hooks are nops, so the gate never sees its
	 * calls. */
	if (states->unwritable && function->entry_build && !function->refused)
		function->refused = "its hooks could not be switched on";
	if (states->area && !thunk_area_takes_calls(states->area) &&
	    !function->entry_build && !function->refused)
		function->refused = "another library's hooks hear of its calls";
	function->wants_connection =
		!function->connected && !function->refused &&
		(states_are_gated(states) ||
		 (states->area && !states->unwritable)) &&
		(function->excluded || states->controller ||
		 function->entry_build ||
		 (function->by_hand && function->wanted != FUNCTION_SPAN));
}

void states_evaluate(struct states *states)
{
	bool names =
		states->pattern_count || states->asked ||
		states->thread->collector->options->args_count ||
		filter_is_active(&states->thread->collector->options->filter);

	for (size_t i = 0; i < states->function_count; i++) {
		struct function *function = &states->functions[i];

		if (is_function_gone(function))
			continue;
		if (names)
			states_name(states, function);
		lock_acquire(&states->lock);
		evaluate_function(states, function);
		lock_release(&states->lock);
	}
	lock_acquire(&states->lock);
	states->evaluated = true;
	lock_release(&states->lock);
}

/* --- paths and states ---------------------------------------------------- */

static void choose_thunk_path(struct states *states,
			      const struct function *function,
			      enum thunk_path path)
{
	for (uint32_t at = function->parts; states->area && at != NONE;
	     at = states->parts[at].next)
		if (states->parts[at].number)
			thunk_area_choose(states->area,
					  states->parts[at].number, path);
}

static void set_function_state(struct states *states, struct function *function,
			       enum function_state state)
{
	enum function_state from = function->state;

	lock_acquire(&states->lock);
	function->state = (uint8_t)state;
	function->muted = function->muted || state != FUNCTION_SPAN;
	lock_release(&states->lock);
	/* An excluded function does not appear in the trace. */
	if (state != FUNCTION_DRAINING && !function->excluded)
		states_note_change(states, function,
				   from == FUNCTION_DRAINING ? FUNCTION_SPAN
							     : from,
				   clock_boottime_ns(), false);
}

static void wait_until(uint64_t ns)
{
	while (clock_boottime_ns() < ns)
		poll(NULL, 0, 1);
}

/* --- slots --------------------------------------------------------------- */

/* Calls @visit for the cells of each slot that was ever claimed, until it
 * returns true. Returns true if it did. */
static bool each_slot(struct states *states,
		      bool (*visit)(struct count_cell *cells, void *context),
		      void *context)
{
	const struct arena_setup *setup = arena_setup(states->arena);

	for (uint32_t i = 0; i < setup->slot_count; i++) {
		const struct slot_shm *slot = arena_slot_shm(states->arena, i);

		/* relaxed: a thread that claims it now has no open call */
		if (!atom_load_rlx(&slot->claims))
			return false;
		if (visit(arena_counts(states->arena, i), context))
			return true;
	}
	return false;
}

struct open_search {
	const struct states *states;
	const struct function *function;
};

static bool has_open_call(struct count_cell *cells, void *context)
{
	const struct open_search *search = context;
	const struct states_part *parts = search->states->parts;

	for (uint32_t at = search->function->parts; at != NONE;
	     at = parts[at].next)
		/* relaxed: a hint; replay handles the remaining calls */
		if (parts[at].number &&
		    atom_load_rlx(&cells[parts[at].number].recorded))
			return true;
	return false;
}

static bool clear_open_calls(struct count_cell *cells, void *context)
{
	const struct open_search *search = context;
	const struct states_part *parts = search->states->parts;

	for (uint32_t at = search->function->parts; at != NONE;
	     at = parts[at].next)
		/* relaxed: no thread uses it while the function is off */
		if (parts[at].number)
			atom_store_rlx(&cells[parts[at].number].recorded, 0);
	return false;
}

/* With the gate no cell tracks open recorded calls, so there is no wait. */
static bool is_function_drained(struct states *states,
				const struct function *function)
{
	struct open_search search = { states, function };

	return states_are_gated(states) ||
	       clock_boottime_ns() - function->draining_ns > DRAIN_NS ||
	       !each_slot(states, has_open_call, &search);
}

/* --- quieter and louder -------------------------------------------------- */

static void set_wanted(struct states *states, struct function *function,
		       enum function_state wanted, const char *refused)
{
	lock_acquire(&states->lock);
	function->wanted = (uint8_t)wanted;
	function->refused = refused;
	lock_release(&states->lock);
}

/* Removes functions of @list without room in the gate; they stay recorded.
 * Returns the number of functions left. */
static size_t drop_ungated(struct states *states, uint32_t *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct function *function = &states->functions[list[i]];
		const char *why = states_stuck(states, function, false);

		if (!why) {
			list[kept++] = list[i];
			continue;
		}
		set_wanted(states, function, FUNCTION_SPAN, why);
		lock_acquire(&states->lock);
		function->state = FUNCTION_SPAN;
		lock_release(&states->lock);
	}
	return kept;
}

/* Some sites of @function cannot be switched on: it records no calls until the
 * next request. */
static void stay_off(struct states *states, struct function *function,
		     const char *why)
{
	choose_thunk_path(states, function, THUNK_COUNT);
	(void)function_log_off(arena_setup(states->arena)->functions,
			       function->address, clock_boottime_ns());
	set_wanted(states, function, FUNCTION_OFF, why);
	if (function->state != FUNCTION_OFF)
		set_function_state(states, function, FUNCTION_OFF);
}

/* Keeps @function recorded after a failed change. */
static void stay_loud(struct states *states, struct function *function)
{
	lock_acquire(&states->lock);
	function->wanted = FUNCTION_SPAN;
	function->episode = false;
	function->joins = false;
	lock_release(&states->lock);
}

/* Changes functions whose recorded calls have ended to @state, counted or off.
 * Writes the log before the state changes. */
static void go_quiet(struct states *states, uint32_t *list, size_t count,
		     enum function_state state)
{
	struct function_log *log = arena_setup(states->arena)->functions;
	bool gated = states_are_gated(states), ahead = false;
	size_t kept = 0;
	uint64_t ns;

	/* The log has the others as off already. */
	for (size_t i = 0; i < count && !gated; i++)
		ahead |= states->functions[list[i]].state == FUNCTION_DRAINING;
	ns = clock_boottime_ns() + (ahead ? AHEAD_NS : 0);
	/* No recorded begin may be later than the entry "off" of the log, or it
	 * would not be counted. Thunks record no begin by now; the gate still
	 * does. */
	if (gated) {
		states_switch(states, list, count, PATCH_NEITHER);
		count = drop_ungated(states, list, count);
		ns = clock_boottime_ns();
	}
	for (size_t i = 0; i < count; i++) {
		struct function *function = &states->functions[list[i]];

		if (function_log_off(log, function->address, ns) == 0)
			list[kept++] = list[i];
		else
			stay_loud(states, function);
	}
	wait_until(ns);
	if (!gated)
		states_switch(states, list, kept, states_sites_of(state));
	for (size_t i = 0; i < kept; i++) {
		struct function *function = &states->functions[list[i]];
		const char *why = states_stuck(states, function, false);

		if (why && state == FUNCTION_COUNTED) {
			stay_off(states, function, why);
			continue;
		}
		choose_thunk_path(states, function, THUNK_COUNT);
		set_wanted(states, function, function->wanted, why);
		set_function_state(states, function, state);
	}
}

static void go_loud(struct states *states, const uint32_t *list, size_t count)
{
	struct function_log *log = arena_setup(states->arena)->functions;
	uint64_t ns = clock_boottime_ns();

	for (size_t i = 0; i < count; i++) {
		struct open_search search = { states,
					      &states->functions[list[i]] };

		each_slot(states, clear_open_calls, &search);
		function_log_on(log, search.function->address, ns);
	}
	states_switch(states, list, count, PATCH_BOTH);
	for (size_t i = 0; i < count; i++) {
		struct function *function = &states->functions[list[i]];
		const char *why = function->connected
					  ? states_stuck(states, function, true)
					  : function->refused;

		if (why && function->connected) {
			stay_off(states, function, why);
			continue;
		}
		set_wanted(states, function, function->wanted, why);
		choose_thunk_path(states, function, THUNK_RECORD);
		set_function_state(states, function, FUNCTION_SPAN);
	}
}

/* Returns the next state of @function. The gate counts all calls that it leaves
 * out, so counted is off. A function with a new part goes off first. */
static enum function_state goes_to(const struct states *states,
				   const struct function *function)
{
	if (states_are_gated(states))
		return function->wanted == FUNCTION_SPAN ? FUNCTION_SPAN
							 : FUNCTION_OFF;
	return function->joins ? FUNCTION_OFF
			       : (enum function_state)function->wanted;
}

static void switch_off_again(struct states *states, uint32_t index)
{
	struct function *function = &states->functions[index];

	states_switch(states, &index, 1, PATCH_NEITHER);
	set_wanted(states, function, FUNCTION_OFF,
		   states_stuck(states, function, false));
	function->again = false;
}

static void start_connected(struct states *states, const uint32_t *list,
			    size_t count, bool held);

static void join_function_parts(struct states *states, uint32_t index)
{
	struct function *function = &states->functions[index];

	function->joins = false;
	states_give_numbers(states, &index, 1);
	states_connect_functions(states, &index, 1, NULL);
	/* The connected parts stay recorded. */
	if (!function->connected)
		start_connected(states, &index, 1, false);
}

struct due {
	uint32_t list[FUNCTION_OFF + 1][BATCH];
	size_t count[FUNCTION_OFF + 1];
};

static bool add_due(struct due *due, enum function_state state, uint32_t index)
{
	if (due->count[state] == BATCH)
		return false;
	due->list[state][due->count[state]++] = index;
	return true;
}

static void go_due(struct states *states, struct due *due)
{
	for (int state = FUNCTION_COUNTED; state <= FUNCTION_OFF; state++)
		if (due->count[state])
			go_quiet(states, due->list[state], due->count[state],
				 (enum function_state)state);
	if (due->count[FUNCTION_SPAN])
		go_loud(states, due->list[FUNCTION_SPAN],
			due->count[FUNCTION_SPAN]);
	for (int state = FUNCTION_SPAN; state <= FUNCTION_OFF; state++)
		due->count[state] = 0;
}

/* Takes the steps that concern function @index alone. Adds it to @due if its
 * sites must be switched. Returns true if it needs no more steps. */
static bool take_step(struct states *states, uint32_t index, struct due *due)
{
	struct function *function = &states->functions[index];
	enum function_state to = goes_to(states, function);

	if (!function->connected || is_function_gone(function))
		return true;
	if (function->again && function->state == FUNCTION_OFF &&
	    function->wanted == FUNCTION_OFF)
		switch_off_again(states, index);
	if ((!function->joins || states_are_gated(states)) &&
	    function->state == goes_to(states, function))
		return true;
	if (function->joins && function->state == FUNCTION_OFF) {
		join_function_parts(states, index);
		return false;
	}
	if (to == FUNCTION_SPAN && function->state == FUNCTION_DRAINING) {
		choose_thunk_path(states, function, THUNK_RECORD);
		set_function_state(states, function, FUNCTION_SPAN);
		return true;
	}
	if (function->state == FUNCTION_SPAN) {
		choose_thunk_path(states, function, THUNK_DRAIN);
		function->draining_ns = clock_boottime_ns();
		set_function_state(states, function, FUNCTION_DRAINING);
	}
	if (function->state != FUNCTION_DRAINING ||
	    is_function_drained(states, function))
		(void)add_due(due, to, index);
	return false;
}

static bool change_states(struct states *states)
{
	struct due due = { 0 };
	bool done = true;

	for (uint32_t i = 0; i < states->function_count; i++)
		if (!take_step(states, i, &due))
			done = false;
	go_due(states, &due);
	return done;
}

/* --- connecting ---------------------------------------------------------- */

/* Logs the connection of the functions of @list and, unless the program is
 * held, that they are off meanwhile. Removes functions without room in the log.
 * Returns the number of functions left. */
static size_t tell_connecting(struct states *states, uint32_t *list,
			      size_t count, bool held)
{
	struct function_log *log = arena_setup(states->arena)->functions;
	uint64_t ns = clock_boottime_ns() + (held ? 0 : AHEAD_NS);
	size_t kept = 0;

	function_log_expect(log, count);
	for (size_t i = 0; i < count; i++) {
		struct function *function = &states->functions[list[i]];

		if (!function_log_connect(log, function->address,
					  function->entry_build, ns) &&
		    ((held && function->wanted == FUNCTION_SPAN) ||
		     !function_log_off(log, function->address, ns))) {
			list[kept++] = list[i];
			continue;
		}
		lock_acquire(&states->lock);
		function->refused = "there are too many functions";
		function->wants_connection = false;
		lock_release(&states->lock);
	}
	wait_until(ns);
	return kept;
}

/* After states_connect_functions(): puts the connected functions of @list into
 * their wanted states if held, else first off. */
static void start_connected(struct states *states, const uint32_t *list,
			    size_t count, bool held)
{
	struct due due = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct function *function = &states->functions[list[i]];

		if (function->refused == patch_reason_text(PATCH_STUCK)) {
			stay_off(states, function, function->refused);
			continue;
		}
		if (!function->connected) {
			/* The connected parts stay recorded. */
			lock_acquire(&states->lock);
			function->wanted = FUNCTION_SPAN;
			lock_release(&states->lock);
		}
		if (function->connected &&
		    (held || function->wanted == FUNCTION_OFF)) {
			choose_thunk_path(states, function,
					  function->wanted == FUNCTION_SPAN
						  ? THUNK_RECORD
						  : THUNK_COUNT);
			set_function_state(states, function, function->wanted);
		} else if (!add_due(&due, function->wanted, list[i])) {
			go_due(states, &due);
			(void)add_due(&due, function->wanted, list[i]);
		}
	}
	go_due(states, &due);
}

static void start_gated(struct states *states, const uint32_t *list,
			size_t count)
{
	lock_acquire(&states->lock);
	for (size_t i = 0; i < count; i++) {
		struct function *function = &states->functions[list[i]];

		function->wants_connection = false;
		function->connected = states->parts[function->parts].number;
		if (!function->connected)
			function->refused = "there are too many functions";
	}
	lock_release(&states->lock);
}

/* Returns true if @function can be connected now, with @hold. Functions of a
 * dlopen() that waits are moved only with its hold. */
static bool is_connectable(const struct states *states,
			   const struct function *function,
			   const struct states_hold *hold, uint32_t opening)
{
	bool opens;

	if (!function->wants_connection || is_function_gone(function))
		return false;
	opens = opening && function->moved &&
		states->modules[states->parts[function->parts].module]
				.opening == opening;
	return opens == (hold && hold->opening);
}

static bool connect_some(struct states *states, const struct states_hold *hold)
{
	const bool held = hold;
	const uint32_t opening = states_opening_now(states);
	size_t room = held ? BATCH_HELD : BATCH, count = 0;
	uint32_t *list = states_calloc(states, room, sizeof(*list));

	for (uint32_t i = 0; list && i < states->function_count && count < room;
	     i++)
		if (is_connectable(states, &states->functions[i], hold,
				   opening))
			list[count++] = i;
	if (count) {
		states_give_numbers(states, list, count);
		if (states_are_gated(states)) {
			start_gated(states, list, count);
			states_free(states, list);
			return true;
		}
		for (size_t i = 0; states->controller && i < count; i++)
			states_recall(states, list[i]);
		states_find_words(states, list, count);
		count = tell_connecting(states, list, count, held);
		states_connect_functions(states, list, count, hold);
		start_connected(states, list, count, held);
	}
	states_free(states, list);
	return count;
}

static void let_go(struct states *states)
{
	/* order: sc, UNHELD: what was written is written */
	atom_store_sc(&arena_setup(states->arena)->page->writing_text, 0);
}

/* Sets *@hold and returns true if the held program still waits. Then it waits
 * until let_go(), but no longer than its own time limit. */
static bool hold_still(struct states *states, struct states_hold *hold)
{
	struct page_shm *page = arena_setup(states->arena)->page;

	*hold = (struct states_hold){
		.process = states_leader(states),
		.text = { .word = &page->flags, .mask = PAGE_UNHELD },
	};
	/* order: sc, UNHELD: the program sees it, or we see that it has left */
	atom_store_sc(&page->writing_text, 1);
	/* order: sc, UNHELD: as above */
	if (!(atom_load_sc(&page->flags) & PAGE_UNHELD))
		return true;
	let_go(states);
	return false;
}

/* As connect_some(), with the program held if @held and it still waits. */
static bool connect_more(struct states *states, bool held)
{
	struct states_hold hold;
	bool still = held && hold_still(states, &hold);
	bool any = connect_some(states, still ? &hold : NULL);

	if (still)
		let_go(states);
	return any;
}

/* Moves functions of a dlopen() that waits. Returns true if it moved some: more
 * may follow. */
static bool connect_opening(struct states *states)
{
	struct states_hold hold;
	bool any;

	if (!states_opening_write(states, &hold))
		return false;
	any = connect_some(states, &hold);
	if (!any)
		states_connect_opened(states, &hold);
	states_opening_written(states);
	return any;
}

bool states_take_steps(struct states *states, uint64_t until_ns, bool held)
{
	if (!states->area && !states->gate)
		return states_opening_finish(states);
	while (connect_opening(states))
		if (clock_boottime_ns() >= until_ns)
			return false;
	if (!states_opening_finish(states))
		return false;
	while (connect_more(states, held))
		if (clock_boottime_ns() >= until_ns)
			return false;
	return change_states(states);
}
