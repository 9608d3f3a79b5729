/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/report_trace.h"

#include <string.h>

#include "collector/command/report_io.h"
#include "collector/command/report_lock.h"
#include "shared/compiler.h"

static const struct report_trace_view trace_views[] = {
	{ "io", (const char *const[]){ "total", "calls", "name", NULL },
	  "total, calls or name", false, true, report_io_print },
	{ "lock",
	  (const char *const[]){ "blocked", "waits", "max", "name", NULL },
	  "blocked, waits, max or name", true, false, report_lock_print },
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
