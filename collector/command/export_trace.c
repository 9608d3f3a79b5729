/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/export_trace.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#include "collector/base/log.h"
#include "collector/command/range_command.h"
#include "collector/command/trace_command.h"
#include "collector/export/path_track.h"
#include "collector/output/kept_trace.h"
#include "collector/read/critical_path.h"

/* Returns 0, -EDOM or -errno as range_command_part(). */
static int read_exported_path(struct call_command *call,
			      const char file[PATH_MAX], FILE *out,
			      struct critical_path **path)
{
	struct path_wish wish = { .thread = call->choice.thread,
				  .keeps_slices = true };
	const struct read_progress tell = { progress_tell, &call->progress };
	int err =
		range_command_part(&call->range, call->dir, file, &wish.range);

	if (err)
		return err;
	progress_begin(&call->progress, "reading the trace",
		       progress_fits(out));
	err = critical_path_read(file, &wish, &tell, path);
	progress_end(&call->progress);
	return err;
}

/* A recording with --keep last drops its oldest packets while it goes on, and moves
 * the others when it ends. */
static bool has_moved(const char file[PATH_MAX],
		      const struct kept_trace *before)
{
	struct kept_trace now;
	bool moved;

	if (kept_trace_open(file, &now))
		return true;
	moved = now.gone != before->gone ||
		now.head_bytes != before->head_bytes;
	kept_trace_close(&now);
	return moved;
}

/* Packets can only be added behind whole packets. */
static int write_trace_and_path(const struct call_command *call,
				const char file[PATH_MAX],
				const struct kept_trace *trace,
				const struct path_list *list, FILE *out)
{
	const struct trace_read_totals *totals = &list->path->totals;
	int err = kept_trace_copy(trace, totals->size - totals->cut, out);

	/* errno is that of the write. */
	if (ferror(out))
		return -EIO;
	if (has_moved(file, trace)) {
		log_err("'%.2000s' dropped its oldest part while perfrec read "
			"it (--keep last): export it when the recording has "
			"ended",
			call->dir);
		return OPTS_FAILED;
	}
	if (err) {
		trace_command_log_open(call->dir, err);
		return OPTS_FAILED;
	}
	err = path_track_write(list, out);
	return err ? err : ferror(out) ? -EIO : 0;
}

int export_trace_write(struct call_command *call, FILE *out)
{
	struct path_list list = { 0 };
	struct kept_trace trace = { .fd = -1, .head_fd = -1 };
	char file[PATH_MAX];
	int err = trace_command_path(call->dir, file), status;

	if (!err)
		err = kept_trace_open(file, &trace);
	if (!err)
		err = read_exported_path(call, file, out, &list.path);
	if (err) {
		kept_trace_close(&trace);
		if (err != -EDOM)
			trace_command_log_open(call->dir, err);
		return OPTS_FAILED;
	}
	status = trace_command_check(call->dir, list.path->err,
				     &list.path->totals);
	/* The rest of a cut trace is whole, the rest of a damaged one is not. */
	if (list.path->err) {
		err = status;
	} else if (!list.path->met_thread) {
		log_err("--thread '%.200s': no thread has that number or name",
			call->choice.thread);
		err = OPTS_FAILED;
	} else if (!list.path->chains) {
		log_err("'%.2000s' has no calls of threads%s, so it has no "
			"path",
			call->dir,
			range_command_option(&call->range, call->choice.thread)
				? " in the chosen part"
				: "");
		err = OPTS_FAILED;
	} else {
		err = write_trace_and_path(call, file, &trace, &list, out)
			      ?: status == OPTS_OK ? 0
						   : status;
	}
	critical_path_free(&list.path);
	kept_trace_close(&trace);
	return err;
}
