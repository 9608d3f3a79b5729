/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/export.h"

#include <stddef.h>
#include <string.h>

#include "shared/compiler.h"

static const struct export_format formats[] = {
	{ .name = "folded", .profile = export_folded },
	{ .name = "flamechart", .calls = export_flamechart },
	{ .name = "flamegraph", .profile = export_flamegraph },
	{ .name = "chrome", .calls = export_chrome, .sched = true },
	{ .name = "speedscope",
	  .calls = export_speedscope_calls,
	  .profile = export_speedscope_profile },
	{ .name = "firefox",
	  .calls = export_firefox,
	  .binary = true,
	  .instants = true,
	  .sched = true },
	{ .name = "callgrind", .profile = export_callgrind },
	{ .name = "csv",
	  .calls = export_csv_calls,
	  .self_times = true,
	  .summary = export_csv_functions },
	{ .name = "parquet", .folder = true },
	{ .name = "perfetto", .trace = true, .binary = true },
};

const struct export_format *export_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (strcmp(name, formats[i].name) == 0)
			return &formats[i];
	return NULL;
}
