/* SPDX-License-Identifier: Apache-2.0
 *
 * The first trigger of a recording creates the recorder's state. A snapshot has
 * a hidden name until its files are on the disk, so a failed or interrupted one
 * never looks like a snapshot.
 */
#include "collector/files/flight_recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/log.h"
#include "collector/files/summary_why.h"
#include "collector/options/collect_options.h"
#include "collector/output/own_files.h"
#include "collector/output/unwritten.h"
#include "collector/record/flight_queue.h"
#include "collector/record/flight_write.h"
#include "collector/record/recording.h"
#include "collector/trace/flight_memory.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"

#define REMEMBERED 16

struct flight_recorder {
	struct flight_windows windows;
	struct flight_folder *folder;
	struct jobs *jobs; /* NULL: not needed yet */
	uint64_t triggers;
	uint64_t read_ns; /* rings were read up to then */
	int said; /* unwritten_say() */
	uint64_t unwritten, lost; /* the windows', and events of windows that
				   * could not be written */
	struct flight_recorder_sums seen; /* when nothing was written last */
	struct flight_written last[REMEMBERED];
	uint32_t noted; /* in all */
};

static struct flight_recorder *recorder_of(struct recording *recording)
{
	return *recording_flight(recording);
}

static struct flight_recorder *make_recorder(struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct flight_options *options = &setup->options->flight;
	struct flight_recorder *recorder = recorder_of(recording);

	if (recorder)
		return recorder;
	recorder = calloc(1, sizeof(*recorder));
	if (!recorder)
		return NULL;
	if (flight_folder_new(setup->dir_fd, options->snapshots,
			      options->disk_bytes, &recorder->folder) < 0) {
		free(recorder);
		return NULL;
	}
	/* At most half of the memory's time, so that the start of a window is
	 * still in memory at its end. */
	flight_windows_init(&recorder->windows, options->margin_ns,
			    options->keep_ns / 2);
	*recording_flight(recording) = recorder;
	return recorder;
}

/* Without memory they stay in the queue, which counts what finds no room. */
static void take_events(struct recording *recording)
{
	struct flight_queue *queue = recording_setup(recording)->flight;
	struct flight_recorder *recorder = recorder_of(recording);
	struct flight_event event;
	struct flight_rest rest;

	if (!recorder && flight_queue_is_empty(queue))
		return;
	recorder = make_recorder(recording);
	if (!recorder)
		return;
	while (flight_queue_take(queue, &event)) {
		recorder->triggers++;
		flight_windows_add(&recorder->windows, &event);
	}
	if (!flight_queue_rest(queue, &rest))
		return;
	recorder->triggers += rest.count;
	flight_windows_add_rest(&recorder->windows, &rest);
}

/* Returns the time before which a full memory soon drops events; 0: none. */
static uint64_t hurry_before(struct recording *recording, uint64_t now_ns)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct flight_memory *memory = trace_file_flight(setup->trace);
	struct flight_reach reach = { 0 };

	if (memory)
		flight_memory_reach(memory, &reach);
	if (!reach.first_ns || reach.first_ns > now_ns || !reach.nearly_full)
		return 0;
	return now_ns - (now_ns - reach.first_ns) / 2;
}

static bool take_window(struct recording *recording, uint64_t now_ns,
			uint64_t hurry_ns, struct flight_written *out)
{
	struct flight_recorder *recorder = recorder_of(recording);

	out->drained = true;
	out->err = 0;
	out->name[0] = '\0';
	return recorder && flight_windows_take(&recorder->windows, now_ns,
					       hurry_ns, &out->window);
}

bool flight_recorder_is_due(struct recording *recording, uint64_t now_ns)
{
	struct flight_recorder *recorder;

	if (!recording_setup(recording)->flight)
		return false;
	take_events(recording);
	recorder = recorder_of(recording);
	return recorder &&
	       flight_windows_are_due(&recorder->windows, now_ns,
				      hurry_before(recording, now_ns));
}

bool flight_recorder_next(struct recording *recording, uint64_t now_ns,
			  struct flight_written *out)
{
	take_events(recording);
	return recorder_of(recording) &&
	       take_window(recording, now_ns, hurry_before(recording, now_ns),
			   out);
}

void flight_recorder_was_read(struct recording *recording, uint64_t ns)
{
	recorder_of(recording)->read_ns = ns;
}

uint64_t flight_recorder_read_ns(struct recording *recording)
{
	const struct flight_recorder *recorder = recorder_of(recording);

	return recorder ? recorder->read_ns : 0;
}

struct jobs *flight_recorder_jobs(struct recording *recording)
{
	struct flight_recorder *recorder = recorder_of(recording);

	if (!recorder->jobs) {
		if (jobs_new("perfrec-flight", NULL, &recorder->jobs) < 0)
			return NULL;
		jobs_set_nice(recorder->jobs, recording_setup(recording)->nice);
	}
	return recorder->jobs;
}

/* --- writing --- */

static int write_snapshot_trace(struct recording *recording,
				const struct flight_window *window,
				const struct flight_draft *draft,
				struct flight_result *result)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct flight_wish wish = {
		.memory = trace_file_flight(setup->trace),
		.from_ns = window->from_ns,
		.to_ns = window->to_ns,
		.of = setup->path,
		.compress = true,
	};
	int fd = own_files_create(draft->fd, TRACE_NAME, 0), err;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file) {
		err = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	err = flight_write(&wish, file, result);
	if (fclose(file) && !err)
		err = -errno;
	return err;
}

static int write_snapshot_files(struct recording *recording,
				const struct flight_written *now,
				const struct flight_draft *draft)
{
	struct flight_result result = { 0 };
	const struct flight_taken taken = {
		.window = &now->window,
		.result = &result,
		.of = recording_setup(recording)->path,
		.drained = now->drained,
	};
	int err = write_snapshot_trace(recording, &now->window, draft, &result);

	if (!err && result.totals.refused)
		log_warn("out of memory: a snapshot is incomplete, it lacks "
			 "%" PRIu64 " parts (free memory)",
			 result.totals.refused);
	return err ? err : summary_why_write(&taken, draft);
}

static void say_snapshot_written(struct recording *recording,
				 const struct flight_written *now)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct flight_recorder *recorder = recorder_of(recording);
	char text[FLIGHT_SENTENCE_BYTES];

	if (now->err != -E2BIG)
		unwritten_say(&recorder->said, setup->path, "a snapshot",
			      now->err);
	if (now->err == -E2BIG)
		log_warn("removed a snapshot because it is larger than "
			 "--snapshot-bytes: %s",
			 summary_why_say(&now->window, text));
	else if (!now->err)
		log_info("snapshot '%s/" SNAPSHOTS_NAME "/%s': %s", setup->path,
			 now->name, summary_why_say(&now->window, text));
}

void flight_recorder_write(struct recording *recording,
			   struct flight_written *now)
{
	struct flight_recorder *recorder = recorder_of(recording);
	struct flight_draft draft;

	trace_file_flush(recording_setup(recording)->trace);
	now->err = flight_folder_begin(
		recorder->folder,
		flight_cause_name(now->window.listed
					  ? now->window.event[0].cause
					  : FLIGHT_CALL),
		&draft);
	if (!now->err) {
		now->err = write_snapshot_files(recording, now, &draft);
		if (now->err)
			flight_folder_discard(recorder->folder, &draft);
		else
			now->err = flight_folder_keep(recorder->folder, &draft);
		memcpy(now->name, draft.name, sizeof(now->name));
	}
	if (now->err) {
		recorder->unwritten++;
		recorder->lost += now->window.events;
	}
	say_snapshot_written(recording, now);
}

void flight_recorder_note(struct recording *recording,
			  const struct flight_written *now)
{
	struct flight_recorder *recorder = recorder_of(recording);

	recorder->last[recorder->noted++ % REMEMBERED] = *now;
	recorder->seen = flight_recorder_sums(recording);
}

bool flight_recorder_find(struct recording *recording, uint64_t ns,
			  struct flight_written *out)
{
	const struct flight_recorder *recorder = recorder_of(recording);

	for (uint32_t i = 0; recorder && i < REMEMBERED && i < recorder->noted;
	     i++) {
		const struct flight_written *one =
			&recorder->last[(recorder->noted - 1 - i) % REMEMBERED];

		if (ns < one->window.from_ns || ns >= one->window.to_ns)
			continue;
		*out = *one;
		return true;
	}
	return false;
}

/* --- the end --- */

void flight_recorder_finish(struct recording *recording)
{
	struct flight_recorder *recorder;
	struct flight_written now;

	if (!recording_setup(recording)->flight)
		return;
	take_events(recording);
	recorder = recorder_of(recording);
	if (!recorder)
		return;
	jobs_free(&recorder->jobs);
	while (take_window(recording, UINT64_MAX, 0, &now))
		flight_recorder_write(recording, &now);
}

static void add_memory(const struct recording *recording,
		       struct flight_recorder_sums *sums)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct flight_memory *memory =
		setup->trace ? trace_file_flight(setup->trace) : NULL;
	struct flight_reach reach;

	if (!memory)
		return;
	flight_memory_reach(memory, &reach);
	sums->memory_bytes = reach.bytes;
	sums->kept_ns =
		reach.last_ns -
		MIN(reach.last_ns, MAX(reach.first_ns, setup->start_ns));
}

struct flight_recorder_sums flight_recorder_sums(struct recording *recording)
{
	const struct flight_recorder *recorder = recorder_of(recording);
	struct flight_recorder_sums sums = { 0 };

	if (recorder)
		sums = (struct flight_recorder_sums){
			.folder = flight_folder_sums(recorder->folder),
			.triggers = recorder->triggers,
			.lost = recorder->lost + recorder->windows.lost,
			.unwritten = recorder->unwritten,
		};
	add_memory(recording, &sums);
	return sums;
}

struct flight_recorder_sums flight_recorder_seen(struct recording *recording)
{
	const struct flight_recorder *recorder = recorder_of(recording);
	struct flight_recorder_sums sums = { 0 };

	if (recorder) {
		sums = recorder->seen;
		sums.triggers = recorder->triggers;
	}
	add_memory(recording, &sums);
	return sums;
}

const char *flight_recorder_name(struct recording *recording, uint32_t at)
{
	return flight_folder_name(recorder_of(recording)->folder, at);
}

void flight_recorder_forget(struct recording *recording)
{
	struct flight_recorder *recorder = recorder_of(recording);

	if (!recorder)
		return;
	*recording_flight(recording) = NULL;
	jobs_free(&recorder->jobs);
	flight_folder_free(&recorder->folder);
	free(recorder);
}
