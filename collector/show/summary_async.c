/* SPDX-License-Identifier: Apache-2.0
 *
 * Unknown values are shown as "-": busy and idle time of slices that no thread
 * entered, and on-CPU time if no switches were recorded.
 */
#include "collector/show/summary_async.h"

#include "collector/base/size.h"
#include "collector/show/table.h"
#include "shared/compiler.h"

static const struct table_column async_columns[] = {
	{ "count", 11, false, 0 }, { "total", 9, false, 0 },
	{ "busy", 9, false, 1 },   { "on CPU", 9, false, 3 },
	{ "idle", 9, false, 2 },
};

static const char *format_known(bool known, uint64_t ns, char text[SIZE_TEXT])
{
	return known ? size_format_ns(ns, text) : "-";
}

static void add_async(struct table *table, const struct summary_async *async)
{
	char count[SIZE_TEXT], total[SIZE_TEXT], busy[SIZE_TEXT],
		on_cpu[SIZE_TEXT], idle[SIZE_TEXT];
	bool knows_cpu = async->unknown_sched_ns < async->busy_ns;
	const char *const cells[] = {
		size_format_count(async->count, count),
		size_format_ns(async->total_ns, total),
		format_known(async->entered, async->busy_ns, busy),
		format_known(knows_cpu, async->on_cpu_ns, on_cpu),
		format_known(async->entered, async->idle_ns, idle),
	};

	table_add(table, cells, async->name, NULL);
}

int summary_async_print(const struct summary *summary, size_t limit,
			bool full_names, const struct terminal *terminal,
			FILE *out)
{
	size_t count = summary->async_count;
	size_t shown = limit ? MIN(count, limit) : count;
	struct table table;
	int err;

	if (!count)
		return 0;
	table_init(&table, async_columns, ARRAY_SIZE(async_columns),
		   "asynchronous slice");
	table.full_names = full_names;
	for (size_t i = 0; i < shown; i++)
		add_async(&table, &summary->async[i]);
	fputc('\n', out);
	err = terminal ? table_print(&table, terminal, out)
		       : table_print_markdown(&table, out);
	table_release(&table);
	if (shown < count && terminal)
		fprintf(out,
			"  (%zu of %zu asynchronous slices; all: --limit 0)\n",
			shown, count);
	return err;
}
