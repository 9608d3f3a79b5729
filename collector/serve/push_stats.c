/* SPDX-License-Identifier: Apache-2.0
 *
 * push_stats - the counters of perfrec-push. perfrec-push replaces their file
 * in the spool by rename, at most once a second.
 */
#include <jansson.h>
#include <stdio.h>

#include "collector/files/push_spool.h"
#include "collector/record/collector.h"
#include "collector/serve/stats_inner.h"
#include "shared/compiler.h"

static uint64_t push_counter_of(const json_t *counters, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(counters, name));

	return (uint64_t)MAX(value, 0);
}

static void take_refusals(json_t *refused, struct stats *stats)
{
	const char *why;
	json_t *requests;

	json_object_foreach(refused, why, requests)
	{
		struct push_refusal *row =
			&stats->push_refusals[stats->push_refusal_count];

		if (stats->push_refusal_count == PUSH_REFUSALS_MAX)
			break;
		snprintf(row->why, sizeof(row->why), "%s", why);
		row->requests = push_counter_of(refused, why);
		stats->daemon.push_refused += row->requests;
		stats->push_refusal_count++;
	}
}

void stats_gather_push(struct stats *stats)
{
	struct push_spool *spool = stats->collector->push;
	struct stats_daemon *daemon = &stats->daemon;
	struct push_spool_counts counts;
	json_t *counters;

	if (!spool)
		return;
	counts = push_spool_counts(spool);
	daemon->push_windows = counts.windows;
	daemon->push_full = counts.full;
	daemon->push_failed = counts.failed;
	counters = push_spool_read_counters(spool);
	daemon->pushes = push_counter_of(counters, "pushes");
	daemon->pushed_windows = push_counter_of(counters, "pushed_windows");
	daemon->pushed_bytes = push_counter_of(counters, "pushed_bytes");
	daemon->push_retries = push_counter_of(counters, "retries");
	daemon->push_dropped_windows =
		push_counter_of(counters, "dropped_windows");
	daemon->push_spooled_windows =
		push_counter_of(counters, "spooled_windows");
	daemon->push_spooled_bytes = push_counter_of(counters, "spooled_bytes");
	daemon->push_success_ns =
		push_counter_of(counters, "last_success_unix_ns");
	take_refusals(json_object_get(counters, "refused"), stats);
	json_decref(counters);
}
