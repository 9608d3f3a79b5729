/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_ticks - the main thread looks at the clock and posts one job at most.
 * While that job waits or runs, it posts no other. So ticks are left out when
 * the jobs thread is busy, and nothing piles up.
 */
#include "collector/serve/heap_ticks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/lock.h"
#include "collector/record/arena.h"
#include "collector/base/clock.h"
#include "collector/options/collect_options.h"
#include "collector/record/collector.h"
#include "collector/flight/triggers.h"
#include "collector/heap/heap_files.h"
#include "collector/base/jobs.h"
#include "collector/base/log.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"
#include "collector/base/proc.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/files/snapshot.h"
#include "collector/serve/session.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define RSS_NS 100000000
#define PACKET_BYTES 512
/* In one tick, as each takes some 10 us. If there are more processes, they take
 * turns, so that one program with very many leaves out no other. */
#define PROCESSES_MAX 256

struct heap_ticks {
	struct job job;
	struct collector *collector;
	uint32_t posted; /* the jobs thread clears it */
	uint64_t rss_ns, snapshot_ns; /* when they are due */
	uint32_t next; /* whose turn it is; the jobs thread's */
	bool snapshot; /* of this job */
};

/* A process to look at. */
struct seen {
	struct recording *recording; /* a reference */
	pid_t pid;
	uint64_t uuid, rss_uuid;
	bool first; /* its track is not there yet */
};

/* --- resident size ----------------------------------------------------------
 */

/* The next PROCESSES_MAX of those that go on. */
static size_t list_processes(struct heap_ticks *ticks, struct seen *seen)
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

/* The resident size of @pid in bytes; 0: the process is gone. */
static uint64_t resident_bytes(pid_t pid)
{
	unsigned long long pages;
	char text[128];

	if (!proc_read(pid, "statm", text, sizeof(text)) ||
	    sscanf(text, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void fire_resident(const struct seen *seen, double bytes)
{
	struct triggers *triggers = recording_setup(seen->recording)->triggers;
	const struct trigger_place place = { .ns = clock_boottime_ns(),
					     .pid = seen->pid };
	uint32_t set = triggers_of_counter(triggers, "RSS");

	if (set)
		triggers_counter(triggers, set, seen->rss_uuid, &place, "RSS",
				 bytes);
}

static void write_resident(const struct seen *seen)
{
	struct trace_file *trace = recording_setup(seen->recording)->trace;
	uint32_t sequence = recording_value_sequence(seen->recording);
	const struct out_counter counter = { .uuid = seen->rss_uuid,
					     .parent = seen->uuid,
					     .name = "RSS",
					     .description = "resident memory",
					     .unit = UNIT_BYTES,
					     .multiplier = 1 };
	uint64_t bytes = resident_bytes(seen->pid);
	uint8_t packet[PACKET_BYTES];

	if (bytes)
		fire_resident(seen, (double)bytes);
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

static void write_all_resident(struct heap_ticks *ticks)
{
	struct seen *seen = calloc(PROCESSES_MAX, sizeof(*seen));
	size_t count;

	if (!seen)
		return;
	count = list_processes(ticks, seen);
	for (size_t i = 0; i < count; i++) {
		write_resident(&seen[i]);
		recording_put(&seen[i].recording);
	}
	free(seen);
}

/* --- snapshots --------------------------------------------------------------
 */

/* On the way to the thread of its recording. */
struct heap_snapshot {
	struct job job;
	struct recording *recording; /* a reference */
};

static void snapshot_job(struct job *job)
{
	/* The job is the first member. */
	struct heap_snapshot *snapshot = (struct heap_snapshot *)job;
	struct recording *recording = snapshot->recording;
	char name[SNAPSHOT_NAME_BYTES];

	snapshot_make_name("heap", name);
	/* What is wrong, the log has. */
	(void)heap_files_snapshot(recording, name);
	/* order: rel, TICK: this one is over */
	atom_store_rel(recording_heap_busy(recording), 0);
	recording_put(&snapshot->recording);
	free(snapshot);
}

/* Nothing piles up where the last one is not over. */
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

static void snapshot_all(struct collector *collector)
{
	struct recording *recording;

	if (collector->recording)
		snapshot_one(collector->recording);
	for (size_t i = 0; (recording = session_open_recording(collector, i));
	     i++) {
		snapshot_one(recording);
		recording_put(&recording);
	}
}

/* --- ticks ------------------------------------------------------------------
 */

static void heap_tick_job(struct job *job)
{
	/* The job is the first member. */
	struct heap_ticks *ticks = (struct heap_ticks *)job;

	write_all_resident(ticks);
	if (ticks->snapshot)
		snapshot_all(ticks->collector);
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
