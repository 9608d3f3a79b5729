/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_ticks - the main thread checks the time and posts at most one job. It
 * posts no other while that job waits or runs, so a busy jobs thread skips
 * ticks and the queue stays short.
 */
#include "collector/serve/heap_ticks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/proc.h"
#include "collector/files/snapshot.h"
#include "collector/heap/heap_files.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/triggers.h"
#include "collector/serve/session.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"

#define RSS_NS 100000000
#define PACKET_BYTES 512
/* Limit of processes in a tick; each takes about 10 us. More processes take
 * turns, so a program with very many of them excludes no other. */
#define PROCESSES_MAX 256

struct heap_ticks {
	struct job job; /* must be first */
	struct collector *collector;
	uint32_t posted; /* cleared by the jobs thread */
	uint64_t rss_ns, snapshot_ns; /* due times */
	uint32_t next; /* next process in turn; jobs thread only */
	bool snapshot; /* of this job */
};

struct seen {
	struct recording *recording; /* a reference */
	pid_t pid;
	uint64_t uuid, rss_uuid;
	bool first; /* its track does not exist yet */
};

/* --- resident size ------------------------------------------------------- */

static size_t list_seen_processes(struct heap_ticks *ticks, struct seen *seen)
{
	struct collector *collector = ticks->collector;
	uint32_t first, at = 0;
	size_t count = 0;

	lock_acquire(&collector->lock);
	first = ticks->next < collector->process_count ? ticks->next : 0;
	ticks->next = first + PROCESSES_MAX;
	for (struct process *process = collector->processes;
	     process && count < PROCESSES_MAX;
	     process = process_next_all(process)) {
		const struct process_setup *setup = process_setup(process);
		struct seen *now;

		if (at++ < first || process_is_ending(process))
			continue;
		now = &seen[count];
		*now = (struct seen){
			.recording =
				recording_get(setup->arena_setup->recording),
			.pid = setup->pid,
			.uuid = setup->uuid,
		};
		now->rss_uuid = process_rss_track(process, &now->first);
		count++;
	}
	lock_release(&collector->lock);
	return count;
}

static void write_resident(const struct seen *seen)
{
	struct trace_file *trace = recording_setup(seen->recording)->trace;
	uint32_t sequence = recording_jobs_sequence(seen->recording);
	const struct out_counter counter = { .uuid = seen->rss_uuid,
					     .parent = seen->uuid,
					     .name = "RSS",
					     .description = "resident memory",
					     .unit = UNIT_BYTES,
					     .multiplier = 1 };
	uint64_t bytes = proc_resident_bytes(seen->pid);
	uint8_t packet[PACKET_BYTES];

	if (bytes) {
		struct triggers *triggers =
			recording_setup(seen->recording)->triggers;
		const struct trigger_place place = { .ns = clock_boottime_ns(),
						     .pid = seen->pid };
		uint32_t set = triggers_of_counter(triggers, "RSS");

		if (set)
			triggers_counter(triggers, set, seen->rss_uuid, &place,
					 "RSS", (double)bytes);
	}
	if (seen->first)
		trace_file_append(
			trace, OUT_SEQUENCE_GLOBAL, packet,
			out_track_counter(packet, sizeof(packet), &counter));
	if (bytes && trace_file_admits(trace))
		trace_file_append(trace, sequence, packet,
				  out_track_value(packet, sizeof(packet),
						  sequence, seen->rss_uuid,
						  clock_boottime_ns(),
						  (int64_t)bytes));
}

/* --- snapshots ----------------------------------------------------------- */

struct heap_snapshot {
	struct job job; /* must be first */
	struct recording *recording; /* a reference */
};

static void snapshot_job(struct job *job)
{
	struct heap_snapshot *snapshot = (struct heap_snapshot *)job;
	struct recording *recording = snapshot->recording;
	char name[SNAPSHOT_NAME_BYTES];

	snapshot_make_name("heap", name);
	/* It logs its errors. */
	(void)heap_files_snapshot(recording, name);
	/* order: rel, TICK: this one is over */
	atom_store_rel(recording_heap_busy(recording), 0);
	recording_put(&snapshot->recording);
	free(snapshot);
}

/* Skips a recording whose last snapshot is not finished. */
static void snapshot_one(struct recording *recording)
{
	struct heap_snapshot *snapshot;

	/* order: acq, TICK: the last one is over */
	if (atom_load_acq(recording_heap_busy(recording)))
		return;
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return;
	/* relaxed: jobs_post() orders it */
	atom_store_rlx(recording_heap_busy(recording), 1);
	snapshot->job.run = snapshot_job;
	snapshot->recording = recording_get(recording);
	jobs_post(recording_setup(recording)->jobs, &snapshot->job);
}

/* --- ticks --------------------------------------------------------------- */

static void heap_tick_job(struct job *job)
{
	struct heap_ticks *ticks = (struct heap_ticks *)job;
	struct seen *seen = calloc(PROCESSES_MAX, sizeof(*seen));
	size_t seen_count;

	if (seen) {
		seen_count = list_seen_processes(ticks, seen);
		for (size_t i = 0; i < seen_count; i++) {
			write_resident(&seen[i]);
			recording_put(&seen[i].recording);
		}
		free(seen);
	}
	if (ticks->snapshot) {
		struct recording **list;
		size_t count = session_open_recordings(ticks->collector, &list);

		if (ticks->collector->recording)
			snapshot_one(ticks->collector->recording);
		for (size_t i = 0; i < count; i++)
			snapshot_one(list[i]);
		session_put_recordings(&list, count);
	}
	/* order: rel, TICK: the job is done with it */
	atom_store_rel(&ticks->posted, 0);
}

void heap_ticks_beat(struct heap_ticks *ticks)
{
	uint64_t now = clock_boottime_ns(), every;

	/* order: acq, TICK: the last job is done */
	if (!ticks || atom_load_acq(&ticks->posted) || now < ticks->rss_ns)
		return;
	every = ticks->collector->options->snapshot_ns;
	ticks->rss_ns = now + RSS_NS;
	ticks->snapshot = every && now >= ticks->snapshot_ns;
	if (ticks->snapshot)
		ticks->snapshot_ns = now + every;
	ticks->posted = 1;
	jobs_post(ticks->collector->jobs, &ticks->job);
}

int heap_ticks_new(struct collector *collector, struct heap_ticks **out)
{
	const struct collect_options *options = collector->options;
	struct heap_ticks *ticks;

	*out = NULL;
	if (options->alloc == ALLOC_OFF)
		return 0;
	ticks = calloc(1, sizeof(*ticks));
	if (!ticks)
		return -ENOMEM;
	ticks->job.run = heap_tick_job;
	ticks->collector = collector;
	ticks->snapshot_ns = clock_boottime_ns() + options->snapshot_ns;
	*out = ticks;
	return 0;
}

void heap_ticks_free(struct heap_ticks **ticks)
{
	free(*ticks);
	*ticks = NULL;
}
