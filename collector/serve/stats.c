/* SPDX-License-Identifier: Apache-2.0
 *
 * stats - gathers the figures. It holds locks only while it copies a few words.
 * It reads shared memory by relaxed loads, so a program can only falsify its
 * own figures.
 */
#include "collector/serve/stats.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "collector/base/proc.h"
#include "collector/drain/drain.h"
#include "collector/files/flight_recorder.h"
#include "collector/names/helper.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/serve/on_finish.h"
#include "collector/serve/retention.h"
#include "collector/serve/session.h"
#include "collector/serve/stats_inner.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* --- the table ----------------------------------------------------------- */

#define ROW(of, member, metric, kind, help)    \
	{ #member, metric, help, STATS_##kind, \
	  offsetof(struct stats_##of, member) },

const struct stats_row stats_daemon_rows[] = {
#define DAEMON(member, metric, kind, help) \
	ROW(daemon, member, metric, kind, help)
#define RECORDING(member, metric, kind, help)
#include "collector/serve/stats.def"
#undef DAEMON
#undef RECORDING
};
const size_t stats_daemon_row_count = ARRAY_SIZE(stats_daemon_rows);

const struct stats_row stats_recording_rows[] = {
#define DAEMON(member, metric, kind, help)
#define RECORDING(member, metric, kind, help) \
	ROW(recording, member, metric, kind, help)
#include "collector/serve/stats.def"
#undef DAEMON
#undef RECORDING
};
const size_t stats_recording_row_count = ARRAY_SIZE(stats_recording_rows);

uint64_t stats_value(const struct stats_row *row, const void *of)
{
	uint64_t value;

	memcpy(&value, (const char *)of + row->offset, sizeof(value));
	return value;
}

const char *stats_refusal(const struct stats *stats, size_t index,
			  uint64_t *programs)
{
	const struct refusal *refusal = stats->collector->limits->refusal;
	size_t count = ARRAY_SIZE(stats->collector->limits->refusal);

	if (index >= count || !refusal[index].why)
		return NULL;
	*programs = refusal[index].programs;
	return index + 1 < count ? refusal[index].why : "other reasons";
}

/* --- one recording ------------------------------------------------------- */

static void add_arena(const struct collector *collector,
		      struct stats_recording *row, struct arena *arena)
{
	struct arena_live live = arena_live(arena);
	const struct arena_setup *setup;
	uint64_t most;

	row->threads += live.threads;
	row->spans += live.spans;
	row->lost += live.lost;
	setup = arena_setup(arena);
	most = setup->ring_cells;
	for (uint32_t i = 0; i < setup->slot_count; i++) {
		const struct slot_shm *slot = arena_slot_shm(arena, i);
		/* relaxed: a figure for a person */
		uint64_t read = atom_load_rlx(&slot->read);
		/* relaxed: the same; the program may have written anything */
		uint64_t unread = atom_load_rlx(&slot->head) - read;

		/* relaxed: claimers take the lowest slot that is free */
		if (!atom_load_rlx(&slot->claims))
			break;
		unread = MIN(unread, most) * sizeof(struct record);
		row->unread_bytes += unread;
		row->fullest_bytes = MAX(row->fullest_bytes, unread);
	}
	row->ring_bytes = MAX(row->ring_bytes, most * sizeof(struct record));
	arena_lock(arena);
	for (const struct process *process = arena_first_process(arena);
	     process; process = process_next(process)) {
		row->processes++;
		snprintf(row->program, sizeof(row->program), "%s",
			 process_setup(process)->entry->name);
	}
	arena_unlock(arena);
	if (collector->drain)
		row->lag_ns =
			MAX(row->lag_ns, drain_lag_ns(collector->drain, arena));
}

static struct stats_recording *stats_row_of(struct stats *stats, size_t *room,
					    struct recording *recording)
{
	struct stats_recording *row;
	const struct recording_setup *setup;
	const struct totals *totals;
	struct recording_use use[BUDGET_KINDS];
	struct flight_recorder_sums sums;

	/* Programs of one recording are adjacent. */
	for (size_t i = stats->count; i-- > 0;)
		if (stats->recordings[i].recording == recording)
			return &stats->recordings[i];
	if (grow_array(stats->recordings, *room, stats->count + 1))
		return NULL;
	row = &stats->recordings[stats->count++];
	*row = (struct stats_recording){ 0 };
	setup = recording_setup(recording);
	totals = recording_lock(recording);
	row->stacks = totals->sampled.unwound;
	row->stacks_cached = totals->sampled.cached;
	recording_unlock(recording);
	row->recording = recording;
	recording_uses(recording, use);
	row->memory_bytes = use[BUDGET_MEMORY].used;
	row->memory_bytes_max = use[BUDGET_MEMORY].most;
	row->names_bytes = use[BUDGET_NAMES].used;
	row->tables_bytes = use[BUDGET_TABLES].used;
	row->lagging = trace_file_lags(setup->trace);
	row->trace_bytes = trace_file_bytes(setup->trace);
	row->trace_bytes_max = setup->max_bytes;
	if (setup->flight) {
		row->flight_bytes_max = setup->options->flight.bytes;
		sums = flight_recorder_seen(recording);
		row->flight_bytes = sums.memory_bytes;
		row->flight_kept_ns = sums.kept_ns;
		row->triggers = sums.triggers;
		row->lost_triggers = sums.lost;
		row->snapshots = sums.folder.written;
		row->removed_snapshots = sums.folder.removed;
		row->unwritten_snapshots = sums.unwritten;
		row->snapshot_bytes = sums.folder.bytes;
	}
	return row;
}

static int gather_recordings(const struct collector *collector,
			     struct stats *stats)
{
	size_t room = 0;

	if (collector->recording &&
	    !stats_row_of(stats, &room, collector->recording))
		return -ENOMEM;
	for (struct arena *arena = collector->arenas; arena;
	     arena = arena_next(arena)) {
		struct stats_recording *row = stats_row_of(
			stats, &room, arena_setup(arena)->recording);

		if (!row)
			return -ENOMEM;
		add_arena(collector, row, arena);
	}
	return 0;
}

/* --- the collector ------------------------------------------------------- */

static void gather_sums(struct collector *collector, struct stats *stats)
{
	const struct session_limits *limits = collector->limits;
	struct stats_daemon *daemon = &stats->daemon;
	uint64_t programs;

	lock_acquire(&collector->lock);
	daemon->finishing = collector->recording_count;
	daemon->disk_bytes = limits->finished_bytes;
	lock_release(&collector->lock);
	daemon->going_on = stats->count;
	daemon->finishing -= MIN(daemon->finishing, stats->count);
	daemon->programs = limits->begun;
	daemon->disk_bytes_max = limits->max_total;
	daemon->spans = limits->left_spans;
	daemon->lost = limits->left_lost;
	for (size_t i = 0; stats_refusal(stats, i, &programs); i++)
		daemon->refused += programs;
	for (size_t i = 0; i < stats->count; i++) {
		const struct stats_recording *row = &stats->recordings[i];

		daemon->processes += row->processes;
		daemon->spans += row->spans;
		daemon->lost += row->lost;
		daemon->disk_bytes += row->trace_bytes;
		daemon->lag_ns = MAX(daemon->lag_ns, row->lag_ns);
	}
	daemon->workers =
		collector->drain ? drain_workers(collector->drain) : 0;
}

static void gather_daemon(const struct collector *collector,
			  struct stats_daemon *daemon)
{
	const struct symbol_cache_use use =
		symbol_cache_use_all(collector->symbols);
	const struct helper_counts helpers = helper_counts();
	const struct retention_counts removed =
		retention_counts(collector->retention);
	const struct on_finish_counts finish =
		on_finish_counts(collector->on_finish);
	struct timespec cpu = { 0 };
	struct rlimit files = { 0 };
	DIR *dir = opendir("/proc/self/fd");
	uint64_t count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	getrlimit(RLIMIT_NOFILE, &files);
	daemon->uptime_ns = clock_boottime_ns() - collector->start_ns;
	daemon->cpu_ns =
		(uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
	daemon->rss_bytes = proc_resident_bytes(getpid());
	/* Without ".", ".." and the folder. */
	daemon->open_files = count > 3 ? count - 3 : 0;
	daemon->open_files_max = files.rlim_cur;
	daemon->names_bytes = use.names;
	daemon->names_bytes_max = SYMBOL_NAMES_MAX;
	daemon->tables_bytes = use.tables;
	daemon->tables_bytes_max = SYMBOL_TABLES_MAX;
	daemon->helpers = helpers.running;
	daemon->helpers_started = helpers.started;
	daemon->helpers_failed = helpers.failed;
	daemon->removed = removed.removed;
	daemon->removed_bytes = removed.removed_bytes;
	daemon->stuck = removed.stuck;
	daemon->on_finish_run = finish.run;
	daemon->on_finish_failed = finish.failed;
	daemon->on_finish_skipped = finish.skipped;
	daemon->on_finish_waiting = finish.waiting;
}

int stats_gather(struct collector *collector, struct stats *out)
{
	int err;

	*out = (struct stats){ .collector = collector };
	err = gather_recordings(collector, out);
	if (err) {
		stats_release(out);
		return err;
	}
	gather_daemon(collector, &out->daemon);
	gather_sums(collector, out);
	stats_gather_push(out);
	return 0;
}

void stats_release(struct stats *stats)
{
	free(stats->recordings);
	*stats = (struct stats){ 0 };
}
