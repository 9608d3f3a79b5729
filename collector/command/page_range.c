/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/page_range.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "collector/command/cut_threads.h"
#include "collector/command/trace_command.h"
#include "collector/page/page.h"
#include "collector/read/trace_index.h"

int page_range_write(const struct range_command *range, const char *thread,
		     const char *dir, const char *file)
{
	struct trace_index *index = NULL;
	struct page_part part = { .thread = thread };
	const struct page_options page = { .dir = dir,
					   .file = file,
					   .part = &part };
	char path[PATH_MAX];
	int err = trace_command_path(dir, path);

	if (!err)
		trace_index_read_beside(path, &index);
	part.index = index;
	if (!err)
		err = range_command_read(range, dir, path, index, true,
					 &part.bounds, &part.range);
	if (!err && thread) {
		struct cut_threads threads = { 0 };

		err = cut_threads_find(thread, path, &threads);
		free(threads.tids);
	}
	if (err && err != -EDOM && err != -ESRCH)
		trace_command_log_open(dir, err);
	if (!err)
		err = page_write(&page);
	trace_index_free(&index);
	return err;
}
