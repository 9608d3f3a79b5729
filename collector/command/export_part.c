/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/export_part.h"

#include <errno.h>
#include <limits.h>

#include "collector/base/log.h"
#include "collector/command/trace_command.h"
#include "collector/export/part_profile.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_sums.h"
#include "collector/show/progress.h"

/* Returns 0, -EDOM or -errno as range_command_read(). The caller frees *@sums
 * and then *@index. */
static int read_part(const struct export_part *part, FILE *out,
		     struct trace_index **index, struct trace_sums **sums)
{
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	struct window_choice choice = { .thread = part->thread,
					.calls_only = true };
	struct trace_bounds bounds;
	char path[PATH_MAX];
	int err = trace_command_path(part->dir, path);

	if (!err)
		trace_index_read_beside(path, index);
	choice.index = *index;
	if (!err)
		err = range_command_read(&part->range, part->dir, path, *index,
					 progress_fits(out), &bounds,
					 &choice.range);
	if (err)
		return err;
	progress_begin(&progress, "reading the trace", progress_fits(out));
	err = trace_sums_read(path, &choice, &tell, sums);
	progress_end(&progress);
	return err;
}

static int write_sums(const struct export_part *part,
		      const struct trace_sums *sums, FILE *out)
{
	struct part_profile made;
	struct export_profile profile = { .title = part->title };
	int err = part_profile_make(sums, &made);

	profile.profile = &made.pprof;
	profile.value = pprof_find_type(&made.pprof, part->value);
	if (!err)
		err = part->write(&profile, out);
	part_profile_release(&made);
	return err;
}

static int write_exported_part(const struct export_part *part,
			       const struct trace_sums *sums, FILE *out)
{
	int status, err;

	if (!window_met_thread(sums->tree.window)) {
		trace_command_say_thread(part->thread, sums->tree.reader);
		return OPTS_FAILED;
	}
	if (!sums->spans) {
		log_err("'%.2000s' has no calls in the chosen range and thread",
			part->dir);
		return OPTS_FAILED;
	}
	err = write_sums(part, sums, out);
	if (err)
		return err;
	trace_command_say_index(
		part->dir, trace_index_told(window_index(sums->tree.window)),
		sums->tree.totals.size);
	status = trace_command_check(part->dir, sums->tree.err,
				     &sums->tree.totals);
	return status == OPTS_OK ? 0 : status;
}

int export_part_write(const struct export_part *part, FILE *out)
{
	struct trace_index *index = NULL;
	struct trace_sums *sums = NULL;
	int result, err = read_part(part, out, &index, &sums);

	if (err && err != -EDOM)
		trace_command_log_open(part->dir, err);
	result = err ? OPTS_FAILED : write_exported_part(part, sums, out);
	trace_sums_free(&sums);
	trace_index_free(&index);
	return result;
}
