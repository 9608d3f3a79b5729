/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/report_trace.h"

#include <string.h>

#include "collector/command/report_io.h"
#include "collector/command/report_lock.h"
#include "collector/command/report_path.h"
#include "shared/compiler.h"

static const struct report_trace_view trace_views[] = {
	{ .name = "io",
	  .keys = (const char *const[]){ "total", "calls", "name", NULL },
	  .key_text = "total, calls or name",
	  .has_markdown = true,
	  .print = report_io_print },
	{ .name = "lock",
	  .keys = (const char *const[]){ "blocked", "waits", "max", "name",
					 NULL },
	  .key_text = "blocked, waits, max or name",
	  .has_range = true,
	  .has_stacks = true,
	  .print = report_lock_print },
	{ .name = "path",
	  .keys = (const char *const[]){ "total", "on-cpu", "name", NULL },
	  .key_text = "total, on-cpu or name",
	  .has_range = true,
	  .has_function = true,
	  .print = report_path_print },
};

const struct report_trace_view *report_trace_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(trace_views); i++)
		if (!strcmp(name, trace_views[i].name))
			return &trace_views[i];
	return NULL;
}

bool report_trace_has_key(const struct report_trace_view *view, const char *key)
{
	for (const char *const *known = view->keys; *known; known++)
		if (!strcmp(key, *known))
			return true;
	return false;
}
