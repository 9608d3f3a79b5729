/* SPDX-License-Identifier: Apache-2.0
 *
 * filter_names - the map log gets a module before any of its functions can be
 * called. So once the head of a ring has been read, the log has the modules of
 * all its cells: only then is the number of events of the log read.
 */
#include "collector/drain/filter_names.h"

#include <stddef.h>

#include "collector/base/jobs.h"
#include "collector/names/map_log.h"
#include "collector/names/modules.h"
#include "collector/record/arena.h"
#include "collector/record/process.h"
#include "shared/atomic.h"

static struct arena_names *names_of(struct arena *arena)
{
	return &arena_drain(arena)->names;
}

void filter_names_begin(struct arena *arena)
{
	struct arena_names *names = names_of(arena);

	/* relaxed, both: no worker has a slot of the arena that needs names yet
	 */
	atom_store_rlx(&names->events,
		       map_log_read(arena_setup(arena)->map_log));
	atom_store_rlx(&names->pending, 1);
}

void filter_names_done(struct arena *arena)
{
	/* order: rel, TABLES: the tables are read */
	atom_store_rel(&names_of(arena)->pending, 0);
}

bool filter_names_lag(struct arena *arena)
{
	/* order: acq, TABLES: the tables are read */
	return atom_load_acq(&names_of(arena)->pending);
}

/* Returns a reference to the load map of the process of @arena at position
 * @after in its list. NULL: the list is shorter. */
static struct modules *modules_after(struct arena *arena, size_t after)
{
	struct modules *modules = NULL;
	const struct process *process;

	arena_lock(arena);
	process = arena_first_process(arena);
	while (process && after--)
		process = process_next(process);
	if (process && process_setup(process)->modules)
		modules = modules_get(process_setup(process)->modules);
	arena_unlock(arena);
	return modules;
}

static void read_filter_tables(struct job *job)
{
	struct arena_names *names =
		(struct arena_names *)((char *)job -
				       offsetof(struct arena_names, job));
	struct arena *arena = names->arena;
	struct modules *modules;

	for (size_t i = 0; (modules = modules_after(arena, i)); i++) {
		modules_read_tables(modules);
		modules_put(&modules);
	}
	filter_names_done(arena);
	arena_put(&arena);
}

bool filter_names_lag_now(struct arena *arena)
{
	struct arena_names *names = names_of(arena);
	size_t events = map_log_read(arena_setup(arena)->map_log);
	bool post;

	/* order: acq, TABLES: pending is current for these events */
	if (events == atom_load_acq(&names->events))
		return filter_names_lag(arena);
	arena_lock(arena);
	/* relaxed, both: only holders of the lock store this value */
	post = events != atom_load_rlx(&names->events) &&
	       !atom_load_rlx(&names->pending);
	if (post) {
		names->arena = arena;
		names->job.run = read_filter_tables;
		/* relaxed: before the events */
		atom_store_rlx(&names->pending, 1);
		/* order: rel, TABLES: pending is set */
		atom_store_rel(&names->events, events);
	}
	arena_unlock(arena);
	if (post) {
		arena_get(arena);
		jobs_post(arena_setup(arena)->jobs, &names->job);
	}
	return filter_names_lag(arena);
}
