/* SPDX-License-Identifier: Apache-2.0
 *
 * states - the lifetime of the states of an arena, and requests of other
 * threads. The thread perfrec-states does all slow work.
 */
#include "collector/states/states.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/proc.h"
#include "collector/code/patch.h"
#include "collector/code/thunks.h"
#include "collector/names/filter_table.h"
#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/options/cpu_rate.h"
#include "collector/options/trigger.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/watches.h"
#include "collector/states/controller.h"
#include "collector/states/states_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* Limit of known children of an arena that record nothing. More are ignored. */
#define STRANGERS_MAX 256

bool states_are_wanted(const struct collect_options *options)
{
	return options->overhead || options->count_count ||
	       collect_options_add_calls(options) ||
	       filter_is_active(&options->filter);
}

/* --- life ---------------------------------------------------------------- */

static int add_pattern(struct states *states, char letter, const char *glob)
{
	char *copy = strdup(glob);

	if (!copy || grow_array(states->patterns, states->pattern_room,
				states->pattern_count + 1) < 0) {
		free(copy);
		return -ENOMEM;
	}
	states->patterns[states->pattern_count++] =
		(struct states_pattern){ .letter = letter, .glob = copy };
	return 0;
}

/* A call that is not recorded cannot fire a trigger, so functions with triggers
 * stay recorded. */
static int add_triggers(struct states *states,
			const struct flight_options *flight)
{
	int err = 0;

	for (size_t i = 0; i < MIN(flight->trigger_count, TRIGGERS_MAX) && !err;
	     i++)
		if (flight->triggers[i].kind == TRIGGER_CALL ||
		    flight->triggers[i].kind == TRIGGER_P99)
			err = add_pattern(states, 's',
					  flight->triggers[i].name);
	return err;
}

/* Samples of CPU time are paid from the same budget. */
static double budget_of_hooks(const struct collector *collector)
{
	const struct collect_options *options = collector->options;

	return cpu_rate_rest(options->overhead / 100000.0, options->cpu_hz,
			     collector->sample_ns);
}

static int add_options(struct states *states)
{
	const struct collect_options *options =
		states->thread->collector->options;
	int err = 0;

	for (size_t i = 0; i < options->count_count && !err; i++)
		err = add_pattern(states, 'c', options->count[i]);
	if ((options->overhead || options->count_count) && !err)
		err = add_triggers(states, &options->flight);
	if (options->overhead && !err) {
		states->controller = controller_new(
			budget_of_hooks(states->thread->collector));
		err = states->controller ? 0 : -ENOMEM;
		/* relaxed: a hint, as are all stores to it */
		atom_store_rlx(&states->want_durations, !err);
	}
	return err;
}

int states_begin(struct states_thread *thread, struct arena *arena)
{
	struct states *states = calloc(1, sizeof(*states));

	if (!states)
		return -ENOMEM;
	states->refs = 1;
	states->thread = thread;
	states_thread_get(thread);
	lock_init(&states->lock, LOCK_STATES);
	states->numbers = arena_setup(arena)->functions_max;
	states->next_number = 1;
	states->event = -1;
	states->owner = calloc(states->numbers, sizeof(*states->owner));
	states->ended_calls =
		calloc(states->numbers, sizeof(*states->ended_calls));
	states->sums = calloc(states->numbers, sizeof(*states->sums));
	if (!states->owner || !states->ended_calls || !states->sums ||
	    add_options(states) < 0) {
		states_put(&states);
		return -ENOMEM;
	}
	states->arena = arena_get(arena);
	states->hello_ns = clock_boottime_ns();
	arena_change_setup(arena)->states = states;
	states_get(states);
	lock_acquire(&thread->lock);
	states->next = thread->first;
	thread->first = states;
	lock_release(&thread->lock);
	return 0;
}

struct states *states_get(struct states *states)
{
	/* relaxed: the caller already has a reference */
	atom_add_rlx(&states->refs, 1);
	return states;
}

void states_put(struct states **states)
{
	struct states *old = *states;

	*states = NULL;
	/* order: sc, REFS: all uses of it come before its end */
	if (!old || atom_add_sc(&old->refs, -1u) != 1)
		return;
	states_processes_free(old);
	thunk_area_unmap(old->area);
	filter_table_free(old->gate);
	controller_free(old->controller);
	for (size_t i = 0; i < old->pattern_count; i++)
		free(old->patterns[i].glob);
	free(old->patterns);
	for (size_t i = 0; i < old->module_count; i++)
		states_cache_release(&old->modules[i].known);
	free(old->modules);
	free(old->functions);
	free(old->table);
	free(old->parts);
	for (size_t i = 0; i < STATES_UNPLANNED_MAX; i++)
		free(old->unplanned[i].path);
	free(old->owner);
	free(old->ended_calls);
	free(old->sums);
	free(old->heard);
	text_map_release(&old->map);
	if (old->event >= 0)
		close(old->event);
	lock_destroy(&old->lock);
	states_thread_put(old->thread);
	free(old);
}

struct states *states_of(struct arena *arena)
{
	struct states *states;

	arena_lock(arena);
	states = arena_setup(arena)->states;
	if (states)
		states_get(states);
	arena_unlock(arena);
	return states;
}

void states_connect(struct arena *arena, void (*ready)(struct arena *arena))
{
	struct states *states = states_of(arena);
	int err;

	if (!states)
		return;
	lock_acquire(&states->lock);
	states->ready = ready;
	states->ready_asked_ns = clock_boottime_ns();
	states->wants_plans = true;
	/* relaxed: see add_options() */
	atom_store_rlx(&states->want_durations, true);
	lock_release(&states->lock);
	err = states_start(states);
	if (err) {
		lock_acquire(&states->lock);
		states->ready = NULL;
		lock_release(&states->lock);
	} else {
		states_wake(states);
	}
	states_put(&states);
	if (err && ready)
		ready(arena);
}

void states_look(struct arena *arena, bool entry_build)
{
	struct states *states = states_of(arena);
	bool wanted;

	if (!states)
		return;
	lock_acquire(&states->lock);
	wanted = states->wants_plans;
	lock_release(&states->lock);
	if (wanted)
		states_wake(states);
	else if (entry_build)
		states_connect(arena, NULL);
	states_put(&states);
}

static void ask_for_end(struct states *states, bool end)
{
	bool over;

	if (!states)
		return;
	lock_acquire(&states->lock);
	states->wants_restore = true;
	if (!states->end_ns)
		states->end_ns = clock_boottime_ns();
	states->wants_end = states->wants_end || end;
	over = !states->has_thread;
	/* Without a thread no text was ever written. */
	if (over) {
		states->restored = true;
		states->answered = states->asked;
	}
	lock_release(&states->lock);
	if (!over)
		states_wake(states);
	else if (end)
		states_unlist(states);
}

void states_restore(struct arena *arena)
{
	ask_for_end(arena_setup(arena)->states, false);
}

void states_end(struct arena *arena)
{
	struct arena_setup *setup = arena_change_setup(arena);
	struct states *states = setup->states;

	ask_for_end(states, true);
	arena_lock(arena);
	setup->states = NULL;
	arena_unlock(arena);
	states_put(&states);
}

/* --- processes ----------------------------------------------------------- */

static struct states_process *new_process(const struct process_setup *setup)
{
	const struct arena_setup *shared = setup->arena_setup;
	struct states_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->list = process->mem = -1;
	process->pid = setup->pid;
	process->inner_pid = setup->inner_pid;
	process->parent = setup->entry->parent;
	process->uuid = setup->uuid;
	process->root = !setup->forked;
	process->unwatched = !setup->watched;
	process->modules = modules_get(setup->modules);
	if (process->root && shared->mem_fd >= 0)
		process->mem = fcntl(shared->mem_fd, F_DUPFD_CLOEXEC, 0);
	else if (!process->unwatched)
		process->mem = patch_mem_open(setup->pid, shared->uid);
	return process;
}

/* Turns a known stranger with the ids of @new into a normal process, which gets
 * the modules of @new. Returns true if there was one. Under the lock. */
static bool adopt_stranger(struct states *states, struct states_process *new)
{
	for (struct states_process *one = states->processes; one;
	     one = one->next)
		if (one->stranger && !one->ended && one->pid == new->pid &&
		    one->inner_pid == new->inner_pid) {
			one->stranger = false;
			one->uuid = new->uuid;
			one->adopted = new->modules;
			new->modules = NULL;
			return true;
		}
	return false;
}

void states_process_begin(struct process *process)
{
	const struct process_setup *setup = process_setup(process);
	struct states *states = setup->arena_setup->states;
	struct states_process *new;

	if (!states)
		return;
	new = new_process(setup);
	if (!new)
		return;
	states_drop_unvisited(states);
	lock_acquire(&states->lock);
	if (!adopt_stranger(states, new)) {
		new->next = states->processes;
		states->processes = new;
		new = NULL;
	}
	lock_release(&states->lock);
	if (new)
		states_process_free(new);
	states_wake(states);
}

void states_process_end(struct process *process)
{
	const struct process_setup *setup = process_setup(process);
	struct states *states = setup->arena_setup->states;

	/* The text of a process that goes on unrecorded must be restored. */
	if (!states || !process_is_gone(process))
		return;
	lock_acquire(&states->lock);
	for (struct states_process *one = states->processes; one;
	     one = one->next)
		if (one->pid == setup->pid &&
		    one->inner_pid == setup->inner_pid)
			one->ended = true;
	lock_release(&states->lock);
	states_wake(states);
}

/* Returns the modules of the parent of @process, or of the root, with a
 * reference, and sets the generation of the load map. Returns NULL without any.
 * Takes the lock. */
static struct modules *modules_of_parent(struct states *states,
					 struct states_process *process)
{
	struct modules *modules = NULL;
	bool found = false;

	lock_acquire(&states->lock);
	for (const struct states_process *one = states->processes;
	     one && !found; one = one->next) {
		found = one->pid == process->parent;
		if (!one->modules || (!found && !one->root))
			continue;
		modules_put(&modules);
		modules = modules_get(one->modules);
		process->generation = one->generation;
	}
	lock_release(&states->lock);
	return modules;
}

static uint32_t count_watched(struct states *states)
{
	uint32_t count = 0;

	lock_acquire(&states->lock);
	for (const struct states_process *one = states->processes; one;
	     one = one->next)
		count += !one->unwatched;
	lock_release(&states->lock);
	return count;
}

/* Makes a process that has recorded nothing yet. Returns NULL without memory or
 * descriptors. Takes the lock. */
static struct states_process *new_stranger(struct states *states, pid_t pid,
					   pid_t inner_pid, int mem)
{
	struct collector *collector = states->thread->collector;
	struct states_process *process;
	char status[PROC_STATUS_BYTES];
	struct modules *parent;

	if (!watches_take(collector, count_watched(states)))
		return NULL;
	process = calloc(1, sizeof(*process));
	if (!process) {
		watches_give(collector);
		return NULL;
	}
	process->list = -1;
	process->pid = pid;
	process->inner_pid = inner_pid;
	if (proc_read(pid, "status", status, sizeof(status)))
		process->parent = (pid_t)proc_status_number(status, "PPid:");
	parent = modules_of_parent(states, process);
	if (parent)
		(void)modules_fork(parent, pid, inner_pid, process->generation,
				   &process->modules);
	modules_put(&parent);
	process->stranger = true;
	process->watched_by = collector;
	process->mem = mem;
	return process;
}

/* Passes @mem to the known child, if it needs it; then sets *@taken. Returns
 * false if the child is unknown. Under the lock. */
static bool give_memory(struct states *states, pid_t pid, pid_t inner_pid,
			int mem, bool *taken)
{
	for (struct states_process *one = states->processes; one;
	     one = one->next) {
		if (one->pid != pid || one->inner_pid != inner_pid ||
		    one->ended)
			continue;
		*taken = !one->has_image && one->mem < 0 && !one->unwatched;
		if (*taken) {
			one->mem = mem;
			one->met = false;
		}
		return true;
	}
	return false;
}

bool states_add_child(struct states *states, pid_t pid, pid_t inner_pid,
		      int mem_fd, bool proven)
{
	struct states_process *stranger;
	uint32_t strangers = 0;
	bool taken = false;

	stranger = new_stranger(states, pid, inner_pid, mem_fd);
	if (stranger)
		stranger->unproven = !proven;
	lock_acquire(&states->lock);
	for (struct states_process *one = states->processes; one;
	     one = one->next)
		strangers += one->stranger;
	if (!give_memory(states, pid, inner_pid, mem_fd, &taken) && stranger &&
	    strangers < STRANGERS_MAX) {
		taken = true;
		stranger->next = states->processes;
		states->processes = stranger;
		stranger = NULL;
	}
	lock_release(&states->lock);
	if (stranger) {
		stranger->mem = -1;
		states_process_free(stranger);
	}
	if (!taken)
		close(mem_fd);
	return taken;
}

/* Returns true if a process with a long map has recently claimed the arena
 * falsely. */
static bool is_lied_to(struct states *states)
{
	uint64_t until_ns;

	lock_acquire(&states->lock);
	until_ns = states->lied_until_ns;
	lock_release(&states->lock);
	return clock_boottime_ns() < until_ns;
}

void states_child_memory(struct arena *arena, pid_t pid, pid_t inner_pid,
			 int mem_fd, bool proven)
{
	struct states *states = arena_setup(arena)->states;

	/* close() of any other file may block. */
	if (!states || !patch_mem_is_good(mem_fd) ||
	    (!proven && is_lied_to(states)))
		return;
	mem_fd = fcntl(mem_fd, F_DUPFD_CLOEXEC, 0);
	if (mem_fd < 0)
		return;
	states_drop_unvisited(states);
	if (states_add_child(states, pid, inner_pid, mem_fd, proven))
		states_wake(states);
}

/* --- requests ------------------------------------------------------------ */

/* Returns the index of the requested pattern with that glob, or pattern_count.
 * Patterns of options come first and stay. Under the lock. */
static size_t find_asked(const struct states *states, const char *glob)
{
	size_t at = states->thread->collector->options->count_count;

	while (at < states->pattern_count &&
	       strcmp(states->patterns[at].glob, glob) != 0)
		at++;
	return at;
}

/* Replaces an earlier request for the same glob. Under the lock. */
static int ask_pattern(struct states *states, char letter, const char *glob)
{
	size_t at = find_asked(states, glob);
	bool matched = false;
	int err;

	if (states->pattern_count >= STATES_GLOBS_MAX &&
	    at == states->pattern_count)
		return -E2BIG;
	err = add_pattern(states, letter, glob);
	if (err || at == states->pattern_count - 1)
		return err;
	matched = states->patterns[at].matched;
	free(states->patterns[at].glob);
	states->pattern_count--;
	for (; at < states->pattern_count; at++)
		states->patterns[at] = states->patterns[at + 1];
	states->patterns[at - 1].matched = matched;
	return 0;
}

static int ask_patterns(struct states_ask *ask, const char *const *globs,
			size_t count)
{
	int err = 0;

	ask->globs = calloc(count + 1, sizeof(*ask->globs));
	if (!ask->globs)
		return -ENOMEM;
	for (; ask->count < count && !err; ask->count++) {
		ask->globs[ask->count] = strdup(globs[ask->count] + 1);
		err = ask->globs[ask->count]
			      ? ask_pattern(ask->states, globs[ask->count][0],
					    globs[ask->count] + 1)
			      : -ENOMEM;
	}
	return err;
}

int states_ask_start(struct arena *arena, const char *const *globs,
		     size_t count, struct states_ask **out)
{
	struct states *states = arena_setup(arena)->states;
	struct states_ask *ask = calloc(1, sizeof(*ask));
	bool starts;
	int err = 0;

	if (!ask)
		return -ENOMEM;
	if (!states) {
		*out = ask;
		return 0;
	}
	ask->states = states_get(states);
	lock_acquire(&states->lock);
	err = ask_patterns(ask, globs, count);
	/* A program that waits for states_connect() may have modules whose files
	 * are not open yet. Whoever plans them now finds no functions. */
	starts = arena_session(arena)->waits_for_text && !states->wants_plans;
	states->wants_plans |= !starts;
	/* relaxed: see add_options() */
	atom_store_rlx(&states->want_durations, true);
	ask->number = ++states->asked;
	lock_release(&states->lock);
	if (!err && !starts)
		err = states_start(states);
	if (err) {
		states_ask_end(&ask);
		return err;
	}
	states_wake(states);
	*out = ask;
	return 0;
}

bool states_ask_is_done(struct states_ask *ask)
{
	struct states *states = ask->states;
	bool done;

	if (!states)
		return true;
	lock_acquire(&states->lock);
	done = states->answered >= ask->number || states->wants_restore;
	if (!done)
		done = ask->stuck = states_are_stuck(states);
	lock_release(&states->lock);
	return done;
}

const char *states_ask_trouble(const struct states_ask *ask)
{
	return ask->stuck ? STATES_STUCK : NULL;
}

bool states_ask_has_matched(struct states_ask *ask, size_t index)
{
	struct states *states = ask->states;
	bool matched;
	size_t at;

	if (!states)
		return false;
	lock_acquire(&states->lock);
	at = index < ask->count ? find_asked(states, ask->globs[index])
				: states->pattern_count;
	matched = at < states->pattern_count && states->patterns[at].matched;
	lock_release(&states->lock);
	return matched;
}

void states_ask_end(struct states_ask **ask)
{
	struct states_ask *old = *ask;

	*ask = NULL;
	if (!old)
		return;
	states_put(&old->states);
	for (size_t i = 0; i < old->count; i++)
		free(old->globs[i]);
	free(old->globs);
	free(old);
}
