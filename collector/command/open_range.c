/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/open_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/command/cut_threads.h"
#include "collector/command/trace_command.h"
#include "collector/cut/trace_cut.h"
#include "collector/show/progress.h"

const char *open_range_given(const struct open_range *wish)
{
	return range_command_option(&wish->range, wish->thread);
}

/* Returns 0, -EDOM after one line in the log, or another -errno. */
static int find_range(const struct open_range *wish, const char *dir,
		      const char *path, struct cut_ranges *ranges,
		      struct trace_bounds *bounds)
{
	struct time_range range;
	int err = range_command_read(&wish->range, dir, path, NULL, true,
				     bounds, &range);

	return err ? err : cut_ranges_add(ranges, range.from_ns, range.to_ns);
}

/* Cuts into @file. Returns 0, -EDOM or -ESRCH after one line in the log, or
 * another -errno. */
static int cut_to(const struct open_range *wish, const char *dir,
		  const char *trace, FILE *file)
{
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	struct trace_bounds bounds = { 0 };
	struct cut_ranges ranges = { 0 };
	struct cut_threads threads = { 0 };
	int err = find_range(wish, dir, trace, &ranges, &bounds);
	const struct trace_cut_wish cut = {
		.path = trace,
		.of = dir,
		.ranges = &ranges,
		.origin_ns = bounds.first_ns,
		.threads = wish->thread ? &threads : NULL,
		.thread = wish->thread,
		.progress = &tell,
	};

	if (!err && wish->thread)
		err = cut_threads_find(wish->thread, trace, &threads);
	if (!err) {
		struct trace_cut_result result;

		progress_begin(&progress, "cutting", true);
		err = trace_cut_write(&cut, file, &result);
		if (!err && fflush(file))
			err = -errno;
		progress_end(&progress);
	}
	free(threads.tids);
	cut_ranges_release(&ranges);
	return err;
}

int open_range_cut(const struct open_range *wish, const char *dir, FILE **out,
		   char path[PATH_MAX], uint64_t *size)
{
	char trace[PATH_MAX];
	FILE *file = tmpfile();
	int err = file ? trace_command_path(dir, trace) : -errno;

	if (!err)
		err = cut_to(wish, dir, trace, file);
	if (!err) {
		*out = file;
		*size = (uint64_t)ftello(file);
		snprintf(path, PATH_MAX, "/proc/self/fd/%d", fileno(file));
		return OPTS_GO_ON;
	}
	if (err != -EDOM && err != -ESRCH)
		log_err("cannot cut '%.2000s': %s", dir, strerror(-err));
	if (file)
		fclose(file);
	return OPTS_FAILED;
}
