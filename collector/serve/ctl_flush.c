/* SPDX-License-Identifier: Apache-2.0
 *
 * A flush has two steps for each recording. First the drain workers empty its
 * rings and copy its trees. Then its jobs thread waits until the trace has all
 * of that, and writes the profiles. Recordings do not wait for each other; the
 * sessions of one recording are flushed together.
 *
 * A recording has one snapshot at a time (snapshot.h). Before its first step a
 * flush waits for the snapshot of another flush or of `perfrec top`. So a
 * recording with a hung disk has one flush under way, however many were
 * requested.
 */
#include "collector/serve/ctl_flush.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/log.h"
#include "collector/drain/drain.h"
#include "collector/files/snapshot.h"
#include "collector/heap/heap_files.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/recording.h"
#include "collector/samples/cpu_samples.h"
#include "collector/serve/ctl_answer.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"

enum step {
	WAITS, /* for the snapshot of another request */
	READS, /* the drain workers are at work */
	WRITES, /* the jobs thread is at work */
	LEFT, /* the client left before it began */
};

struct ctl_flush {
	struct ctl_flush *next; /* list of flushes without clients */
	struct collector *collector;
	uint64_t deadline_ns; /* CLOCK_BOOTTIME */
	size_t count;
	struct flushed {
		struct job job; /* must be first */
		enum step step;
		uint32_t done; /* set last, by the jobs thread */
		int done_fd; /* owned by the collector */
		struct recording *recording; /* a reference until done */
		struct drain_wait wait;
		struct snapshot *snapshot; /* until done; may be NULL */
		char profile[SNAPSHOT_NAME_BYTES]; /* "": none */
		char heap[SNAPSHOT_NAME_BYTES]; /* "": none */
		char *path;
		uint64_t bytes;
		bool flight; /* no trace */
	} item[];
};

static void flush_files(struct job *job)
{
	struct flushed *item = (struct flushed *)job;
	int done_fd = item->done_fd;
	uint64_t one = 1;
	struct trace_file *trace = recording_setup(item->recording)->trace;

	trace_file_flush(trace);
	item->bytes = trace_file_bytes(trace);
	if (item->snapshot &&
	    snapshot_write(&item->snapshot, item->profile) < 0)
		item->profile[0] = '\0';
	snapshot_make_name("heap", item->heap);
	if (heap_files_snapshot(item->recording, item->heap) < 0)
		item->heap[0] = '\0';
	/* If it is the last reference, the recording ends here. */
	recording_put(&item->recording);
	/* order: rel, FLUSH: the files are written. The main thread may free
	 * the item from now on. */
	atom_store_rel(&item->done, 1);
	if (write(done_fd, &one, sizeof(one)) < 0)
		log_err("cannot wake the main thread: %m");
}

/* --- on the main thread -------------------------------------------------- */

static void add_flushed_recording(struct ctl_flush *flush,
				  struct recording *recording)
{
	struct flushed *item;

	for (item = flush->item; item < flush->item + flush->count; item++)
		if (item->recording == recording)
			return;
	item->recording = recording_get(recording);
	item->path = strdup(recording_setup(recording)->path);
	item->flight = recording_setup(recording)->flight;
	item->done_fd = flush->collector->done_fd;
	flush->count++;
}

static bool is_flushed(const void *context, const struct recording *recording)
{
	return context == recording;
}

static void begin_item(const struct collector *collector, struct flushed *item)
{
	int err = snapshot_begin(item->recording, false, &item->snapshot);

	if (err == -EBUSY)
		return;
	if (err)
		item->snapshot = NULL;
	if (drain_wait_begin(&item->wait, collector->drain, collector->arenas,
			     is_flushed, item->recording) < 0)
		log_err("out of memory: a flush may leave something out");
	item->step = READS;
}

/* Begins the next step if possible. Returns true after the last step. */
static bool step_item(const struct collector *collector, struct flushed *item)
{
	/* `perfrec top` has priority for snapshots. */
	if (item->step == WAITS && !collector->top)
		begin_item(collector, item);
	if (item->step == READS &&
	    drain_wait_is_over(&item->wait, collector->drain)) {
		cpu_sampler_flush(collector->cpu, item->recording);
		item->step = WRITES;
		item->job.run = flush_files;
		jobs_post(recording_setup(item->recording)->jobs, &item->job);
	}
	/* order: acq, FLUSH: the files are written */
	return item->step == LEFT ||
	       (item->step == WRITES && atom_load_acq(&item->done));
}

static bool step_items(struct ctl_flush *flush)
{
	bool done = true;

	for (size_t i = 0; i < flush->count; i++)
		done &= step_item(flush->collector, &flush->item[i]);
	return done;
}

int ctl_flush_start(struct collector *collector, struct arena *const *arena,
		    size_t count, uint64_t wait_ns, struct ctl_flush **out)
{
	struct ctl_flush *flush = calloc(
		1, sizeof(*flush) + (count + 1) * sizeof(flush->item[0]));

	if (!flush)
		return -ENOMEM;
	flush->collector = collector;
	flush->deadline_ns = clock_boottime_ns() + wait_ns;
	for (size_t i = 0; i < count; i++)
		add_flushed_recording(flush, arena_setup(arena[i])->recording);
	/* A common recording exists before and after its programs. */
	if (collector->recording)
		add_flushed_recording(flush, collector->recording);
	(void)step_items(flush);
	*out = flush;
	return 0;
}

bool ctl_flush_is_over(struct ctl_flush *flush)
{
	return step_items(flush) || clock_boottime_ns() >= flush->deadline_ns;
}

static json_t *folder_of(const struct flushed *item)
{
	json_t *row = json_object();

	ctl_answer_set_path(row, "folder", item->path ? item->path : "");
	return row;
}

static json_t *files_of(const struct flushed *item)
{
	json_t *row = folder_of(item);

	json_object_set_new(row, "files",
			    json_pack("[s*, s*, s*]",
				      item->flight ? NULL : "trace.pftrace",
				      *item->profile ? item->profile : NULL,
				      *item->heap ? item->heap : NULL));
	json_object_set_new(row, "bytes",
			    json_integer((json_int_t)item->bytes));
	return row;
}

static json_t *why_not_flushed(const struct flushed *item)
{
	static const char *const why[] = {
		[WAITS] = "an earlier flush or perfrec top of it goes on",
		[READS] = "its rings are not read yet (its disk or its names "
			  "may be behind)",
		[WRITES] = "its files are not written yet (its disk or its "
			   "names may be behind)",
	};
	json_t *row = folder_of(item);

	json_object_set_new(row, "why", json_string(why[item->step]));
	return row;
}

void ctl_flush_tell(struct ctl_flush *flush, json_t *answer)
{
	json_t *rows = json_array(), *others = json_array();

	for (size_t i = 0; i < flush->count; i++) {
		struct flushed *item = &flush->item[i];

		if (step_item(flush->collector, item))
			json_array_append_new(rows, files_of(item));
		else
			json_array_append_new(others, why_not_flushed(item));
	}
	json_object_set_new(answer, "flushed", rows);
	json_object_set_new(answer, "not_flushed", others);
}

void ctl_flush_leave(struct ctl_flush **flush, struct ctl_flush **list)
{
	struct ctl_flush *old = *flush;

	*flush = NULL;
	for (size_t i = 0; i < old->count; i++) {
		struct flushed *item = &old->item[i];

		if (item->step != WAITS)
			continue;
		item->step = LEFT;
		recording_put(&item->recording);
	}
	old->next = *list;
	*list = old;
}

void ctl_flush_reap(struct ctl_flush **list)
{
	while (*list) {
		struct ctl_flush *flush = *list;

		if (!step_items(flush)) {
			list = &flush->next;
			continue;
		}
		*list = flush->next;
		for (size_t i = 0; i < flush->count; i++) {
			drain_wait_release(&flush->item[i].wait);
			free(flush->item[i].path);
		}
		free(flush);
	}
}
