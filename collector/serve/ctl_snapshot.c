/* SPDX-License-Identifier: Apache-2.0
 *
 * A request goes through the queue of triggers like any other trigger. So it
 * may be merged with a slow call of the same time.
 */
#include "collector/serve/ctl_snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/base/utf8.h"
#include "collector/files/flight_recorder.h"
#include "collector/options/collect_options.h"
#include "collector/output/own_files.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/flight_queue.h"
#include "collector/record/recording.h"
#include "collector/serve/ctl_answer.h"

struct ctl_snapshot {
	uint64_t asked_ns, deadline_ns; /* CLOCK_BOOTTIME */
	size_t count;
	struct asked {
		struct recording *recording; /* a reference */
		bool done; /* written is valid */
		struct flight_written written;
	} item[];
};

static void add_snapshot_recording(struct ctl_snapshot *snapshot,
				   struct recording *recording)
{
	if (!recording_setup(recording)->flight)
		return;
	for (size_t i = 0; i < snapshot->count; i++)
		if (snapshot->item[i].recording == recording)
			return;
	snapshot->item[snapshot->count++].recording = recording_get(recording);
}

int ctl_snapshot_start(struct collector *collector, struct arena *const *arena,
		       size_t count, const char *why, uint64_t wait_ns,
		       struct ctl_snapshot **out)
{
	struct ctl_snapshot *snapshot = calloc(
		1, sizeof(*snapshot) + (count + 1) * sizeof(snapshot->item[0]));
	struct flight_event event = { .cause = FLIGHT_ASKED };

	if (!snapshot)
		return -ENOMEM;
	snapshot->asked_ns = clock_boottime_ns();
	snapshot->deadline_ns = snapshot->asked_ns + wait_ns;
	for (size_t i = 0; i < count; i++)
		add_snapshot_recording(snapshot,
				       arena_setup(arena[i])->recording);
	/* A common recording exists before and after its programs. */
	if (collector->recording)
		add_snapshot_recording(snapshot, collector->recording);
	if (!collector->options->flight.on) {
		free(snapshot);
		return -EINVAL;
	}
	event.begin_ns = event.end_ns = snapshot->asked_ns;
	snprintf(event.what, sizeof(event.what), "%s", why);
	event.what[utf8_valid_bytes(event.what, strlen(event.what))] = '\0';
	for (size_t i = 0; i < snapshot->count; i++)
		flight_queue_put(
			recording_setup(snapshot->item[i].recording)->flight,
			&event);
	*out = snapshot;
	return 0;
}

bool ctl_snapshot_is_over(struct ctl_snapshot *snapshot)
{
	bool over = true;

	for (size_t i = 0; i < snapshot->count; i++) {
		struct asked *item = &snapshot->item[i];

		if (!item->done)
			item->done = flight_recorder_find(item->recording,
							  snapshot->asked_ns,
							  &item->written);
		over &= item->done;
	}
	return over || clock_boottime_ns() >= snapshot->deadline_ns;
}

static json_t *snapshot_row_of(const struct asked *item)
{
	const char *path = recording_setup(item->recording)->path;
	bool written = item->done && !item->written.err;
	json_t *row = json_object();
	char *folder = NULL;

	if (written && asprintf(&folder, "%s/" SNAPSHOTS_NAME "/%s", path,
				item->written.name) < 0)
		folder = NULL;
	ctl_answer_set_path(row, "folder", folder ? folder : path);
	free(folder);
	return row;
}

static const char *why_not_written(const struct asked *item)
{
	if (!item->done)
		return "it is not written yet (its margin, or its disk)";
	return item->written.err == -E2BIG
		       ? "it is larger than --snapshot-bytes"
		       : strerror(-item->written.err);
}

static void tell_snapshots(const struct ctl_snapshot *snapshot, json_t *answer)
{
	json_t *rows = json_array(), *others = json_array();

	for (size_t i = 0; i < snapshot->count; i++) {
		const struct asked *item = &snapshot->item[i];
		json_t *row = snapshot_row_of(item);

		if (item->done && !item->written.err) {
			json_array_append_new(rows, row);
			continue;
		}
		json_object_set_new(row, "why",
				    json_string(why_not_written(item)));
		json_array_append_new(others, row);
	}
	json_object_set_new(answer, "snapshots", rows);
	json_object_set_new(answer, "not_written", others);
}

void ctl_snapshot_end(struct ctl_snapshot **snapshot, json_t *answer)
{
	struct ctl_snapshot *old = *snapshot;

	*snapshot = NULL;
	if (!old)
		return;
	if (answer)
		tell_snapshots(old, answer);
	for (size_t i = 0; i < old->count; i++)
		recording_put(&old->item[i].recording);
	free(old);
}
