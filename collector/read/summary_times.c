/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/summary_times.h"

#include <jansson.h>
#include <string.h>

#include "collector/read/summary_read.h"

static void check_thread(json_t *item, struct summary_times *times)
{
	struct summary_thread thread = { .sched = NULL };

	/* perfrec wrote no wall time before 2026-11-27. */
	if (counters_from_json(COUNTERS_THREAD, item, &thread) ||
	    !thread.sched || !json_object_get(item, "sched_wall_ns"))
		return;
	times->threads++;
	if (time_sums_make_up(
		    thread.on_cpu_ns + thread.runnable_ns + thread.blocked_ns +
			    thread.unknown_sched_ns + thread.stolen_ns,
		    thread.sched_wall_ns))
		return;
	if (!times->odd_threads++)
		times->odd_tid = (int)thread.tid;
}

static void check_threads(const struct summary *summary,
			  struct summary_times *times)
{
	const json_t *processes =
		json_object_get(summary->document, "processes");

	for (size_t i = 0; i < json_array_size(processes); i++) {
		const json_t *list = json_object_get(
			json_array_get(processes, i), "threads");

		for (size_t n = 0; n < json_array_size(list); n++)
			check_thread(json_array_get(list, n), times);
	}
}

struct summary_times summary_check_times(const struct summary *summary)
{
	const struct summary_settings *settings = &summary->settings;
	const struct summary_totals *totals = &summary->totals;
	bool sampled = settings->cpu_hz && settings->cpu_engine &&
		       strcmp(settings->cpu_engine, "perf") == 0;
	struct summary_times times = { .threads = 0 };

	if (!settings->sched)
		return times;
	times.sums = (struct time_sums){
		.threads_ns = totals->on_cpu_ns,
		.stolen_ns = totals->stolen_ns,
		.silent_ns = totals->silent_on_cpu_ns,
		.cpu_ns = time_sums_cpu_ns(
			summary->knows_cpu ? summary->user_ns + summary->sys_ns
					   : 0,
			totals->cpu_ns, sampled),
	};
	for (size_t i = 0; i < summary->function_count; i++)
		times.sums.functions_ns += summary->functions[i].on_cpu_self_ns;
	times.surplus = time_sums_check(&times.sums);
	check_threads(summary, &times);
	return times;
}
