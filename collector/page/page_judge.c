/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/page/page_judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/path.h"
#include "collector/compare/diff.h"
#include "shared/compiler.h"

/* Returns RUNS_NONE if the runs lack it. Calls are their own total. */
static uint32_t metric_of_key(const struct runs *runs, enum page_key key,
			      bool total)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s", page_keys[key].key,
		 total && key != PAGE_CALLS ? ".total" : "");
	return runs_find_metric(runs, name);
}

/* Returns the function of @row under its name on side B; NULL: it has two
 * names, and the page has two functions. */
static const struct runs_function *shown_function(const struct runs *runs,
						  size_t row)
{
	const struct runs_function *function = runs_frame(runs, row, 0);

	if (function->match == RUNS_RENAMED)
		return NULL;
	return function->other == RUNS_NONE
		       ? function
		       : runs_function(runs, function->other);
}

/* Functions of the page by name. */
struct page_names {
	uint32_t *first; /* by text; 0: none */
	uint32_t *next; /* by function; 0: none */
};

static uint32_t find_page_function(const struct page_data *data,
				   const struct page_names *names,
				   uint32_t text, const char *module)
{
	uint32_t first = names->first[text];

	for (uint32_t i = first; i; i = names->next[i])
		if (!strcmp(path_name(module),
			    path_name(trace_texts_get(
				    &data->texts,
				    page_data_function_at(data, i)->module))))
			return i;
	return first && !names->next[first] ? first : 0;
}

/* Sets @row_of, by function of the page, to the number of its row + 1. */
static int find_judged_rows(struct page_data *data, const struct runs *runs,
			    uint32_t *row_of)
{
	uint32_t texts = data->texts.pool.count + 1;
	uint32_t functions = data->functions.count;
	struct page_names names = {
		.first = calloc(texts, sizeof(*names.first)),
		.next = calloc(functions, sizeof(*names.next)),
	};
	int err = names.first && names.next ? 0 : -ENOMEM;

	for (uint32_t i = functions; !err && i-- > 1;) {
		uint32_t text = page_data_function_at(data, i)->name;

		names.next[i] = names.first[text];
		names.first[text] = i;
	}
	for (size_t row = 0; !err && row < runs_row_count(runs); row++) {
		const struct runs_function *from = shown_function(runs, row);
		uint32_t text = from ? page_data_text(data, from->name) : 0;

		if (text && text < texts)
			row_of[find_page_function(data, &names, text,
						  from->module)] =
				(uint32_t)row + 1;
	}
	row_of[0] = 0;
	free(names.first);
	free(names.next);
	return err;
}

static const struct judge_cell *judge_cell_of(const struct diff *diff,
					      const uint32_t *row_of,
					      uint32_t function,
					      uint32_t metric)
{
	static const struct judge_cell none;

	return row_of[function] ? judged_cell(&diff->judged,
					      row_of[function] - 1, metric)
				: &none;
}

static void set_medians(struct page_data *data, const struct diff *diff,
			const uint32_t *row_of, enum page_key key, bool total)
{
	uint32_t metric = metric_of_key(diff->runs, key, total);

	for (uint32_t i = 1; i < data->functions.count; i++) {
		const struct judge_cell *cell =
			judge_cell_of(diff, row_of, i, metric);
		struct page_sums *sums = page_data_sums(data, key, i);
		uint64_t *to = sums ? total ? sums->total : sums->self : NULL;

		if (!to || !row_of[i])
			continue;
		to[PAGE_BASE] = (uint64_t)MAX(cell->a, 0);
		to[PAGE_SELF] = (uint64_t)MAX(cell->b, 0);
	}
}

static void put_verdicts(struct page_data *data, const struct diff *diff,
			 const uint32_t *row_of, enum page_key key, bool total,
			 struct page_columns *columns)
{
	uint32_t metric = metric_of_key(diff->runs, key, total);
	const char *part = total ? "total_" : "";

	page_columns_begin(columns, "u", "function.%s.%sverdict",
			   page_keys[key].key, part);
	for (uint32_t i = 0; i < data->functions.count; i++) {
		const struct judge_cell *cell =
			judge_cell_of(diff, row_of, i, metric);

		page_columns_put(columns, cell->changed		   ? 2
					  : cell->may_have_changed ? 1
								   : 0);
	}
	if (diff->runs->count == 2)
		return;
	PAGE_COLUMN(columns, i, data->functions.count,
		    (uint64_t)(1000 * judge_half_range(judge_cell_of(
					      diff, row_of, i, metric)) +
			       0.5),
		    "u", "function.%s.%sspread", page_keys[key].key, part);
}

int page_judge_put(struct page_data *data, const struct diff *diff,
		   struct page_columns *columns)
{
	uint32_t *row_of = calloc(data->functions.count, sizeof(*row_of));
	int err = row_of ? find_judged_rows(data, diff->runs, row_of) : -ENOMEM;

	for (int key = 0; key < PAGE_KEYS && !err; key++) {
		for (int total = 0; total < 2; total++) {
			if (!data->value[key].known ||
			    metric_of_key(diff->runs, (enum page_key)key,
					  total) == RUNS_NONE)
				continue;
			put_verdicts(data, diff, row_of, (enum page_key)key,
				     total, columns);
			if (diff->runs->count > 2)
				set_medians(data, diff, row_of,
					    (enum page_key)key, total);
		}
	}
	free(row_of);
	return err;
}

char *page_judge_text(const struct diff *diff, enum page_key key)
{
	uint32_t metric = metric_of_key(diff->runs, key, false);
	char *text = NULL;
	size_t bytes;
	FILE *out = metric == RUNS_NONE ? NULL : open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	diff_print_judgement(diff, metric, out);
	fclose(out);
	return text;
}
