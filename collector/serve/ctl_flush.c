/* SPDX-License-Identifier: Apache-2.0
 *
 * A flush has two steps. First the drain workers read what is in the rings now,
 * and copy their trees. Then the jobs thread of each recording waits until all
 * of that is in the trace, and writes the profiles. The sessions of one
 * recording are flushed together.
 */
#include "collector/serve/ctl_flush.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/serve/ctl_answer.h"
#include "collector/drain/drain.h"
#include "collector/heap/heap_files.h"
#include "collector/base/jobs.h"
#include "collector/base/log.h"
#include "collector/record/recording.h"
#include "collector/files/snapshot.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"

struct ctl_flush {
	struct collector *collector;
	struct drain_wait wait;
	bool begun, posted;
	uint32_t left; /* recordings that are not flushed */
	size_t count;
	struct flushed {
		struct job job;
		struct ctl_flush *flush;
		struct recording *recording; /* a reference, until done */
		struct snapshot *snapshot; /* until done; NULL: none */
		char profile[SNAPSHOT_NAME_BYTES]; /* "": none */
		char heap[SNAPSHOT_NAME_BYTES]; /* the same */
		char *path;
		uint64_t bytes;
	} item[];
};

/* Also gives the reference back: it may be the last, and then the recording
 * ends. */
static void flush_recording(struct flushed *item)
{
	struct trace_file *trace = recording_setup(item->recording)->trace;

	trace_file_flush(trace);
	item->bytes = trace_file_bytes(trace);
	if (item->snapshot &&
	    snapshot_write(&item->snapshot, item->profile) < 0)
		item->profile[0] = '\0';
	snapshot_make_name("heap", item->heap);
	if (heap_files_snapshot(item->recording, item->heap) < 0)
		item->heap[0] = '\0';
	recording_put(&item->recording);
}

static void flush_files(struct job *job)
{
	/* The job is the first member. */
	struct flushed *item = (struct flushed *)job;
	struct ctl_flush *flush = item->flush;
	int done_fd = flush->collector->done_fd;
	uint64_t one = 1;

	flush_recording(item);
	/* order: sc, FLUSH: the files are written */
	(void)atom_add_sc(&flush->left, -1u);
	if (write(done_fd, &one, sizeof(one)) < 0)
		log_err("cannot wake the main thread: %m");
}

/* Each recording on its own thread: none waits for the names of another. */
static void post_items(struct ctl_flush *flush)
{
	struct flushed *item;

	/* relaxed: jobs_post() orders it */
	atom_store_rlx(&flush->left, (uint32_t)flush->count);
	for (item = flush->item; item < flush->item + flush->count; item++) {
		item->job.run = flush_files;
		item->flush = flush;
		jobs_post(recording_setup(item->recording)->jobs, &item->job);
	}
}

static void add_recording(struct ctl_flush *flush, struct recording *recording)
{
	struct flushed *item;

	for (item = flush->item; item < flush->item + flush->count; item++)
		if (item->recording == recording)
			return;
	item->recording = recording_get(recording);
	item->path = strdup(recording_setup(recording)->path);
	flush->count++;
}

static bool is_flushed(const void *context, const struct recording *recording)
{
	const struct ctl_flush *flush = context;

	for (size_t i = 0; i < flush->count; i++)
		if (flush->item[i].recording == recording)
			return true;
	return false;
}

/* Begins the snapshots, when no `perfrec top` has one under way. */
static void begin_snapshots(struct ctl_flush *flush)
{
	struct flushed *item;

	if (flush->collector->top)
		return;
	/* While a snapshot of a recording is under way there is no other. */
	for (item = flush->item; item < flush->item + flush->count; item++)
		if (snapshot_begin(item->recording, &item->snapshot) < 0)
			item->snapshot = NULL;
	if (drain_wait_begin(&flush->wait, flush->collector->drain,
			     flush->collector->arenas, is_flushed, flush) < 0)
		log_err("out of memory: a flush may leave something out");
	flush->begun = true;
}

int ctl_flush_start(struct collector *collector, struct arena *const *arena,
		    size_t count, struct ctl_flush **out)
{
	struct ctl_flush *flush = calloc(
		1, sizeof(*flush) + (count + 1) * sizeof(flush->item[0]));

	if (!flush)
		return -ENOMEM;
	flush->collector = collector;
	for (size_t i = 0; i < count; i++)
		add_recording(flush, arena_setup(arena[i])->recording);
	/* One recording for all is there before and after its programs. */
	if (collector->recording)
		add_recording(flush, collector->recording);
	begin_snapshots(flush);
	*out = flush;
	return 0;
}

bool ctl_flush_is_done(struct ctl_flush *flush)
{
	if (!flush->begun)
		begin_snapshots(flush);
	if (flush->begun && !flush->posted &&
	    drain_wait_is_over(&flush->wait, flush->collector->drain)) {
		flush->posted = true;
		post_items(flush);
	}
	/* order: acq, FLUSH: the files are written */
	return flush->posted && !atom_load_acq(&flush->left);
}

static json_t *files_of(const struct flushed *item)
{
	json_t *row = json_object();

	ctl_answer_set_path(row, "folder", item->path ? item->path : "");
	json_object_set_new(row, "files",
			    json_pack("[s, s*, s*]", "trace.pftrace",
				      *item->profile ? item->profile : NULL,
				      *item->heap ? item->heap : NULL));
	json_object_set_new(row, "bytes",
			    json_integer((json_int_t)item->bytes));
	return row;
}

void ctl_flush_end(struct ctl_flush **flush, json_t *answer)
{
	struct ctl_flush *old = *flush;
	json_t *rows = json_array();

	*flush = NULL;
	for (size_t i = 0; i < old->count; i++) {
		json_array_append_new(rows, files_of(&old->item[i]));
		free(old->item[i].path);
	}
	json_object_set_new(answer, "flushed", rows);
	drain_wait_release(&old->wait);
	free(old);
}
