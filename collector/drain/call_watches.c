/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/call_watches.h"

#include <stddef.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/base/histogram.h"
#include "collector/base/pool.h"
#include "collector/drain/process_durations.h"
#include "collector/names/modules.h"
#include "collector/record/arena.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/triggers.h"
#include "collector/replay/cct.h"
#include "collector/replay/histograms.h"
#include "shared/compiler.h"

/* The slowest 1 % of fewer calls is too small a sample. */
#define P99_CALLS 1000
#define P99_PER_MILLE 990
#define LOOK_NS 100000000
/* A pause lasts this many times the work between two pauses. */
#define PAUSE 20

struct watch {
	uint64_t address, generation;
	uint32_t set; /* of triggers; 0: not watched */
	const char *name; /* the recording's */
	struct histogram *histogram; /* NULL: no relative bound */
	uint64_t p99_ns; /* 0: unknown */
	uint64_t slow_ns;
};

struct call_watches {
	struct triggers *triggers;
	struct modules *modules;
	struct histograms *histograms; /* NULL: none */
	struct pool pool; /* of struct watch */
	uint32_t *relative; /* numbers of watches with relative bounds */
	uint32_t relative_count, relative_room;
	uint64_t due_ns; /* the next look */
	uint64_t spent_ns; /* since the last look */
	uint32_t version;
};

static struct watch *watch_at(const struct call_watches *watches,
			      uint32_t number)
{
	return (struct watch *)watches->pool.items + number;
}

static struct call_watches *new_watches(struct process *process,
					uint32_t worker,
					const struct recording_setup *recording)
{
	struct call_watches *watches = calloc(1, sizeof(*watches));

	if (!watches)
		return NULL;
	watches->triggers = recording->triggers;
	watches->modules = process_setup(process)->modules;
	watches->histograms = process_durations(process, worker);
	pool_init(&watches->pool, recording->budget, sizeof(struct watch),
		  offsetof(struct watch, set));
	return watches;
}

struct call_watches *call_watches_of(struct process *process, uint32_t worker)
{
	struct process_parts *parts = process_parts(process);
	const struct recording_setup *recording =
		recording_setup(process_setup(process)->arena_setup->recording);

	if (!parts->watches[worker] && triggers_of_calls(recording->triggers))
		parts->watches[worker] =
			new_watches(process, worker, recording);
	return parts->watches[worker];
}

void call_watches_finish(struct process *process)
{
	struct process_parts *parts = process_parts(process);

	for (uint32_t i = 0; i < DRAIN_WORKERS_MAX; i++) {
		struct call_watches *watches = parts->watches[i];

		if (!watches)
			continue;
		pool_release(&watches->pool);
		free(watches->relative);
		free(watches);
		parts->watches[i] = NULL;
	}
}

static void ask_triggers(struct call_watches *watches, uint32_t number)
{
	struct watch *watch = watch_at(watches, number);
	struct symbol symbol;

	watch->slow_ns = UINT64_MAX;
	if (!modules_resolve_read(watches->modules, watch->address,
				  (uint32_t)watch->generation, &symbol))
		return;
	watch->name = symbol.name;
	watch->set = triggers_of_function(watches->triggers, symbol.name,
					  symbol.module);
	watch->slow_ns = triggers_slow_ns(watches->triggers, watch->set, 0);
	if (!triggers_relative(watches->triggers, watch->set) ||
	    !watches->histograms ||
	    grow_array(watches->relative, watches->relative_room,
		       watches->relative_count + 1))
		return;
	watch->histogram = histograms_find(watches->histograms, watch->address,
					   (uint32_t)watch->generation);
	watches->relative[watches->relative_count++] = number;
}

uint64_t call_watches_slow_ns(struct call_watches *watches, uint64_t address,
			      uint32_t generation)
{
	const struct watch new = { .address = address,
				   .generation = generation };
	uint32_t number;
	int added = pool_intern(&watches->pool, &new, &number);

	if (added < 0)
		return UINT64_MAX;
	if (added)
		ask_triggers(watches, number);
	return watch_at(watches, number)->slow_ns;
}

bool call_watches_fire(struct call_watches *watches,
		       const struct cct_function *function,
		       struct trigger_call *call)
{
	const struct watch key = { .address = function->address,
				   .generation = function->generation };
	const struct watch *watch;
	uint32_t number;

	if (!pool_find(&watches->pool, &key, &number))
		return false;
	watch = watch_at(watches, number);
	call->set = watch->set;
	call->function = watch->name;
	call->p99_ns = watch->p99_ns;
	return triggers_call(watches->triggers, call);
}

uint32_t call_watches_look(struct call_watches *watches, uint64_t ns)
{
	if (!watches->relative_count || ns < watches->due_ns)
		return watches->version;
	for (uint32_t i = 0; i < watches->relative_count; i++) {
		struct watch *watch = watch_at(watches, watches->relative[i]);
		uint64_t p99_ns;

		if (!watch->histogram ||
		    histogram_total(watch->histogram) < P99_CALLS)
			continue;
		/* The p99 of calls that take no time is 1 ns: 0 means
		 * unknown. */
		p99_ns = MAX(
			histogram_quantile(watch->histogram, P99_PER_MILLE), 1);
		if (p99_ns == watch->p99_ns)
			continue;
		watch->p99_ns = p99_ns;
		watch->slow_ns =
			triggers_slow_ns(watches->triggers, watch->set, p99_ns);
		watches->version++;
	}
	watches->due_ns =
		ns + MAX((uint64_t)LOOK_NS, PAUSE * watches->spent_ns);
	watches->spent_ns = 0;
	return watches->version;
}

void call_watches_set(const struct call_watches *watches, struct cct *tree)
{
	for (uint32_t i = 0; i < watches->relative_count; i++) {
		const struct watch *watch =
			watch_at(watches, watches->relative[i]);
		struct cct_function *function =
			cct_find_function(tree, watch->address);

		if (function && function->generation == watch->generation)
			function->slow_ns = watch->slow_ns;
	}
}

void call_watches_took(struct call_watches *watches, uint64_t ns)
{
	watches->spent_ns += ns;
}
