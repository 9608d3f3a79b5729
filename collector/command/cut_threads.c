/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cut_threads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/command/trace_command.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_parts.h"
#include "collector/read/trace_read.h"
#include "collector/show/progress.h"

static int add_threads(const char *word, const struct trace_reader *reader,
		       struct cut_threads *threads)
{
	const struct trace_track *track;

	for (uint32_t i = 0; (track = trace_reader_track(reader, i)) != NULL;
	     i++) {
		char tid[32];

		if (track->kind != TRACE_TRACK_THREAD)
			continue;
		snprintf(tid, sizeof(tid), "%" PRId64, track->tid);
		if (strcmp(word, tid) != 0 &&
		    strcmp(word, trace_reader_text(reader, track->name)) != 0)
			continue;
		if (grow_array(threads->tids, threads->room,
			       threads->count + 1))
			return -ENOMEM;
		threads->tids[threads->count++] = track->tid;
	}
	if (threads->count)
		qsort(threads->tids, threads->count, sizeof(*threads->tids),
		      cut_threads_compare);
	return 0;
}

static int find_threads(const char *word, const char *path,
			const struct trace_index *index,
			struct cut_threads *threads)
{
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	/* The index describes threads, so only the rest is read. */
	const struct parts_choice choice = { .calls_only = true };
	struct trace_reader *reader;
	struct trace_event event;
	int err = trace_reader_open_parts(path, index, &choice, &reader);

	if (err)
		return err;
	progress_begin(&progress, "looking for the thread", true);
	trace_reader_set_progress(reader, &tell);
	/* The cut reports damage. */
	while (trace_reader_next(reader, &event) > 0)
		;
	progress_end(&progress);
	err = add_threads(word, reader, threads);
	if (!err && !threads->count) {
		trace_command_say_thread(word, reader);
		err = -ESRCH;
	}
	trace_reader_close(&reader);
	return err;
}

int cut_threads_find(const char *word, const char *path,
		     struct cut_threads *threads)
{
	struct trace_index *index = NULL;
	int err;

	trace_index_read_beside(path, &index);
	err = find_threads(word, path, index, threads);
	trace_index_free(&index);
	return err;
}
