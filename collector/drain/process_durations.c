/* SPDX-License-Identifier: Apache-2.0
 *
 * process_durations - a histogram has one writer, because the hot loop takes no
 * lock. One drain worker owns a slot for the life of its arena (worker.c), and
 * a thread stays in its slot, with all its contexts. So a process has one set
 * of histograms per worker, which all its threads of that worker share: a
 * thousand threads need no more memory than one. Two processes of one arena
 * have separate sets, because an address is a different function in each.
 */
#include "collector/drain/process_durations.h"

#include "collector/record/arena.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/replay/histograms.h"

static size_t unloaded(void *context, uint32_t after, uint32_t upto,
		       struct address_range *out, size_t room)
{
	return process_unloaded(context, after, upto, out, room);
}

struct histograms *process_durations(struct process *process, uint32_t worker)
{
	struct process_parts *parts = process_parts(process);
	const struct process_setup *setup = process_setup(process);
	struct budget *budget = recording_setup(setup->arena_setup->recording)
					->histogram_budget;

	if (!parts->histograms[worker] && budget)
		(void)histograms_new(unloaded, process, budget,
				     &parts->histograms[worker]);
	return parts->histograms[worker];
}

static void add_one(void *context, const char *name, const char *module,
		    struct histogram *histogram)
{
	recording_add_durations(context, name, module, histogram);
}

void process_durations_finish(struct process *process)
{
	struct process_parts *parts = process_parts(process);
	struct recording *recording =
		process_setup(process)->arena_setup->recording;

	for (uint32_t i = 0; i < DRAIN_WORKERS_MAX; i++) {
		if (parts->histograms[i])
			histograms_each(parts->histograms[i], add_one,
					recording);
		histograms_free(&parts->histograms[i]);
	}
}
