/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/top_rates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/base/size.h"
#include "collector/names/name_fold.h"
#include "collector/options/ctl_wire.h"
#include "collector/show/table.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

/* --- reading ------------------------------------------------------------- */

static const char *rate_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static uint64_t rate_number(const json_t *object, const char *key)
{
	json_int_t number = json_integer_value(json_object_get(object, key));

	return (uint64_t)MAX(number, 0);
}

/* Sums may decrease slightly, because perfrec's own time is estimated. */
static uint64_t growth(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static uint64_t growth_of_member(const json_t *before, const json_t *after,
				 const char *key)
{
	return growth(rate_number(before, key), rate_number(after, key));
}

static int by_name(const void *a, const void *b)
{
	const struct top_row *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : strcmp(left->module, right->module);
}

static int by_new(const void *a, const void *b)
{
	const struct top_row *left = a, *right = b;

	if (left->new_ns != right->new_ns)
		return left->new_ns < right->new_ns ? 1 : -1;
	if (left->new_calls != right->new_calls)
		return left->new_calls < right->new_calls ? 1 : -1;
	return by_name(left, right);
}

/* Returns the rows of @top by name, or NULL without memory. */
static struct top_row *read_rows(const json_t *top, size_t *count)
{
	const json_t *list = json_object_get(top, "functions");
	struct top_row *rows;

	*count = json_array_size(list);
	rows = calloc(*count + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < *count; i++) {
		const json_t *json = json_array_get(list, i);

		rows[i] = (struct top_row){
			.name = rate_text(json, "name"),
			.module = rate_text(json, "module"),
			.state = rate_text(json, "state"),
			.calls = rate_number(json, "calls"),
			.self_ns = rate_number(json, "self_ns"),
			.on_cpu_ns = rate_number(json, "on_cpu_self_ns"),
			.blocked_ns = rate_number(json, "blocked_self_ns")
		};
	}
	if (rows)
		qsort(rows, *count, sizeof(*rows), by_name);
	return rows;
}

/* @is_cut: @before had more than @count functions. The growth of a function
 * outside these is unknown. */
static void subtract(struct top_rates *rates, const struct top_row *before,
		     size_t count, bool is_cut)
{
	for (size_t i = 0; i < rates->count; i++) {
		struct top_row *row = &rates->rows[i];
		const struct top_row *old =
			bsearch(row, before, count, sizeof(*before), by_name);

		if (!old && is_cut)
			continue;
		row->new_calls = growth(old ? old->calls : 0, row->calls);
		row->new_ns = growth(old ? old->self_ns : 0, row->self_ns);
		row->new_on_cpu_ns =
			growth(old ? old->on_cpu_ns : 0, row->on_cpu_ns);
		row->new_blocked_ns =
			growth(old ? old->blocked_ns : 0, row->blocked_ns);
	}
}

int top_rates_make(const json_t *before, const json_t *after,
		   struct top_rates *out)
{
	const json_t *old = json_object_get(before, "top");
	const json_t *new = json_object_get(after, "top");
	const json_t *programs = json_object_get(after, "programs");
	struct top_row *rows;
	size_t count;

	*out = (struct top_rates){ .programs = json_array_size(programs) };
	if (!json_is_object(new))
		return -EPROTO;
	out->ns = MAX(growth_of_member(old, new, "ns"), 1);
	out->calls = growth_of_member(old, new, "calls");
	out->self_ns = growth_of_member(old, new, "self_ns");
	out->own_ns = growth_of_member(old, new, "own_ns");
	out->all_lost = rate_number(new, "lost");
	out->rss_bytes = rate_number(new, "rss_bytes");
	out->sched = json_object_get(
		json_array_get(json_object_get(new, "functions"), 0),
		"on_cpu_self_ns");
	for (size_t i = 0; i < json_array_size(programs); i++)
		out->threads +=
			rate_number(json_array_get(programs, i), "threads");
	rows = read_rows(old, &count);
	out->rows = read_rows(new, &out->count);
	if (rows && out->rows) {
		subtract(out, rows, count, rate_number(old, "known") > count);
		qsort(out->rows, out->count, sizeof(*rows), by_new);
	}
	free(rows);
	if (rows && out->rows)
		return 0;
	top_rates_release(out);
	return -ENOMEM;
}

void top_rates_release(struct top_rates *rates)
{
	free(rates->rows);
	*rates = (struct top_rates){ 0 };
}

/* --- printing ------------------------------------------------------------ */

static double a_second(const struct top_rates *rates, uint64_t number)
{
	return (double)number * 1e9 / (double)rates->ns;
}

static uint64_t whole_a_second(const struct top_rates *rates, uint64_t number)
{
	return (uint64_t)MIN(a_second(rates, number) + 0.5, 1e18);
}

void top_rates_head(const struct top_rates *rates, char *text, size_t size)
{
	char calls[SIZE_TEXT], memory[SIZE_TEXT], lost[SIZE_TEXT];

	snprintf(text, size,
		 "%llu program%s, %llu thread%s; %s calls/s; memory %s; "
		 "lost %s; cost %.1f%%",
		 (unsigned long long)rates->programs,
		 size_plural(rates->programs),
		 (unsigned long long)rates->threads,
		 size_plural(rates->threads),
		 size_format_count(whole_a_second(rates, rates->calls), calls),
		 size_format_bytes(rates->rss_bytes, memory),
		 size_format_count(rates->all_lost, lost),
		 100 * (double)rates->own_ns / (double)rates->ns);
}

enum { SELF, ON_CPU, BLOCKED, CALLS, ALL_SELF, ALL_CALLS, STATE, COLUMNS };

static const struct table_column columns[COLUMNS] = {
	[SELF] = { "SELF", 7, false, 0 },
	[ON_CPU] = { "ON CPU", 7, false, 4 },
	[BLOCKED] = { "BLOCKED", 7, false, 3 },
	[CALLS] = { "CALLS/S", 11, false, 0 },
	[ALL_SELF] = { "ALL SELF", 9, false, 1 },
	[ALL_CALLS] = { "ALL CALLS", 13, false, 2 },
	[STATE] = { "STATE", 7, true, 5 },
};

static bool has_column(const struct top_rates *rates, size_t column)
{
	return rates->sched || (column != ON_CPU && column != BLOCKED);
}

const char *top_rates_share(const struct top_rates *rates, uint64_t ns,
			    char text[TOP_SHARE_TEXT])
{
	snprintf(text, TOP_SHARE_TEXT, "%.1f%%",
		 100 * (double)ns / (double)rates->ns);
	return text;
}

static void add_rate_row(struct table *table, const struct top_rates *rates,
			 const struct top_row *row)
{
	char self[TOP_SHARE_TEXT], on_cpu[TOP_SHARE_TEXT];
	char blocked[TOP_SHARE_TEXT];
	char calls[SIZE_TEXT], all[SIZE_TEXT], total[SIZE_TEXT];
	const char *const cells[COLUMNS] = {
		[SELF] = top_rates_share(rates, row->new_ns, self),
		[ON_CPU] = top_rates_share(rates, row->new_on_cpu_ns, on_cpu),
		[BLOCKED] =
			top_rates_share(rates, row->new_blocked_ns, blocked),
		[CALLS] = size_format_count(
			whole_a_second(rates, row->new_calls), calls),
		[ALL_SELF] = size_format_ns(row->self_ns, all),
		[ALL_CALLS] = size_format_count(row->calls, total),
		[STATE] = row->state,
	};
	const char *shown[COLUMNS];
	size_t count = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		if (has_column(rates, i))
			shown[count++] = cells[i];
	table_add(table, shown, row->name, row->module);
}

/* Sets @out to the visible columns. Returns their number. */
static size_t choose_rate_columns(const struct top_rates *rates,
				  struct table_column out[COLUMNS])
{
	size_t count = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		if (has_column(rates, i))
			out[count++] = columns[i];
	return count;
}

int top_rates_print(const struct top_rates *rates, size_t limit,
		    bool full_names, FILE *out)
{
	const struct terminal terminal = terminal_of(out);
	size_t count = 0;
	struct table_column shown[COLUMNS];
	struct table table;
	int err;
	char text[512];

	/* Rows are sorted, so idle functions are last. */
	while (count < rates->count && (!limit || count < limit) &&
	       (rates->rows[count].new_ns || rates->rows[count].new_calls))
		count++;
	top_rates_head(rates, text, sizeof(text) - 1);
	strcat(text, "\n");
	terminal_wrap(&terminal, text, 2, out);
	table_init(&table, shown, choose_rate_columns(rates, shown),
		   "FUNCTION");
	table.indent = "";
	table.full_names = full_names;
	for (size_t i = 0; i < count; i++)
		add_rate_row(&table, rates, &rates->rows[i]);
	err = table_print(&table, &terminal, out);
	table_release(&table);
	return err;
}

static void set_rate_number(json_t *object, const char *key, uint64_t number)
{
	json_object_set_new(object, key, json_integer((json_int_t)number));
}

static json_t *describe_rate(const struct top_rates *rates,
			     const struct top_row *row)
{
	const struct ctl_function function = {
		.name = row->name,
		.module = row->module,
		.state = row->state,
		.calls = row->calls,
		.self_ns = row->self_ns,
	};
	json_t *json = ctl_function_json(&function);
	char text[NAME_FOLD_BYTES];

	name_fold(row->name, text);
	json_object_set_new(json, "short", json_text(text));
	json_object_set_new(json, "calls_per_s",
			    json_real(a_second(rates, row->new_calls)));
	json_object_set_new(json, "self_ns_per_s",
			    json_real(a_second(rates, row->new_ns)));
	if (!rates->sched)
		return json;
	set_rate_number(json, "on_cpu_self_ns", row->on_cpu_ns);
	set_rate_number(json, "blocked_self_ns", row->blocked_ns);
	json_object_set_new(json, "on_cpu_self_ns_per_s",
			    json_real(a_second(rates, row->new_on_cpu_ns)));
	json_object_set_new(json, "blocked_self_ns_per_s",
			    json_real(a_second(rates, row->new_blocked_ns)));
	return json;
}

void top_rates_print_json(const struct top_rates *rates, size_t limit,
			  FILE *out)
{
	json_t *json = json_object(), *rows = json_array();

	set_rate_number(json, "version", TOP_JSON_VERSION);
	set_rate_number(json, "interval_ns", rates->ns);
	set_rate_number(json, "programs", rates->programs);
	set_rate_number(json, "threads", rates->threads);
	set_rate_number(json, "rss_bytes", rates->rss_bytes);
	set_rate_number(json, "lost", rates->all_lost);
	json_object_set_new(json, "calls_per_s",
			    json_real(a_second(rates, rates->calls)));
	json_object_set_new(json, "self_ns_per_s",
			    json_real(a_second(rates, rates->self_ns)));
	json_object_set_new(json, "own_ns_per_s",
			    json_real(a_second(rates, rates->own_ns)));
	for (size_t i = 0; i < rates->count && (!limit || i < limit); i++)
		json_array_append_new(rows,
				      describe_rate(rates, &rates->rows[i]));
	json_object_set_new(json, "functions", rows);
	json_text_write(json, JSON_COMPACT, out);
	fputc('\n', out);
	json_decref(json);
}
