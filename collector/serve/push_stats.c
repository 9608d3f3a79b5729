/* SPDX-License-Identifier: Apache-2.0
 *
 * push_stats - the counters of perfrec-push. The file system of the spool may
 * not answer, so a thread of its own reads them. The main thread waits for it
 * for WAIT_MS, but not again for a thread that it has waited for in vain. Then
 * it has the counters of the last reading.
 */
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collector/base/jobs.h"
#include "collector/files/push_spool.h"
#include "collector/record/collector.h"
#include "collector/serve/stats_inner.h"
#include "shared/compiler.h"

#define WAIT_MS 50

static struct reader {
	struct job job; /* the first member */
	struct jobs *jobs; /* NULL: there is no thread yet */
	char *spool;
	int read_fd; /* eventfd: the thread has set @latest */
	json_t *latest; /* the thread's, while @reads */
	bool reads;
	json_t *counters; /* may be NULL */
} g_reader;

static void read_push_counters(struct job *job)
{
	struct reader *reader = (struct reader *)job;
	uint64_t one = 1;

	reader->latest = push_spool_read_counters(reader->spool);
	(void)!write(reader->read_fd, &one, sizeof(one));
}

/* Takes the counters that the thread has read, if it has within @wait_ms. */
static void take_counters(struct reader *reader, int wait_ms)
{
	struct pollfd ready = { .fd = reader->read_fd, .events = POLLIN };
	uint64_t count;

	if (!reader->reads || poll(&ready, 1, wait_ms) <= 0)
		return;
	(void)!read(reader->read_fd, &count, sizeof(count));
	json_decref(reader->counters);
	reader->counters = reader->latest;
	reader->reads = false;
}

static const json_t *latest_counters(const struct push_spool *spool)
{
	struct reader *reader = &g_reader;

	if (!reader->jobs) {
		reader->spool = strdup(push_spool_path(spool));
		reader->read_fd = eventfd(0, EFD_CLOEXEC);
		reader->job.run = read_push_counters;
		if (!reader->spool || reader->read_fd < 0 ||
		    jobs_new("perfrec-spool", NULL, &reader->jobs) < 0) {
			if (reader->read_fd >= 0)
				close(reader->read_fd);
			free(reader->spool);
			reader->jobs = NULL;
			return NULL;
		}
	}
	take_counters(reader, 0);
	if (!reader->reads) {
		reader->reads = true;
		jobs_post(reader->jobs, &reader->job);
		take_counters(reader, WAIT_MS);
	}
	return reader->counters;
}

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
	const json_t *counters;

	if (!spool)
		return;
	counts = push_spool_counts(spool);
	daemon->push_windows = counts.windows;
	daemon->push_full = counts.full;
	daemon->push_failed = counts.failed;
	counters = latest_counters(spool);
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
}
