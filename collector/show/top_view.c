/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/top_view.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"

const char *top_order_name(enum top_order order)
{
	static const char *const names[TOP_ORDERS] = {
		"self time now", "calls a second", "self time since the start",
		"calls since the start", "name"
	};

	return names[order];
}

/* Returns the sort value; the largest comes first. */
static uint64_t order_value(const struct top_row *row, enum top_order order)
{
	switch (order) {
	case TOP_BY_SELF:
		return row->new_ns;
	case TOP_BY_CALLS:
		return row->new_calls;
	case TOP_BY_ALL_SELF:
		return row->self_ns;
	case TOP_BY_ALL_CALLS:
		return row->calls;
	default:
		return 0;
	}
}

struct sorting {
	const struct top_view *view;
	const struct top_rates *rates;
};

/* Ties are sorted by name, so rows do not jump. */
static int by_order(const void *a, const void *b, void *context)
{
	const struct sorting *sorting = context;
	const size_t i = *(const size_t *)a, k = *(const size_t *)b;
	uint64_t left =
		order_value(&sorting->rates->rows[i], sorting->view->order);
	uint64_t right =
		order_value(&sorting->rates->rows[k], sorting->view->order);
	int names;

	if (left != right)
		return left < right ? 1 : -1;
	names = strcmp(top_view_name(sorting->view, i),
		       top_view_name(sorting->view, k));
	return names ? names : (i > k) - (i < k);
}

static bool is_row_shown(const struct top_view *view,
			 const struct top_rates *rates, size_t which)
{
	const struct top_row *row = &rates->rows[which];

	if (!row->calls && !row->self_ns)
		return false;
	return strstr(top_view_name(view, which), view->filter) ||
	       strstr(row->name, view->filter);
}

/* Finds the new place of the selected function, which may be gone. */
static void find_chosen(struct top_view *view, const struct top_rates *rates)
{
	for (size_t i = 0; view->name && i < view->count; i++) {
		const struct top_row *row = &rates->rows[view->shown[i]];

		if (!strcmp(row->name, view->name) &&
		    !strcmp(row->module, view->module)) {
			view->place = i;
			return;
		}
	}
	if (!view->name)
		view->place = 0;
	view->place = MIN(view->place, view->count ? view->count - 1 : 0);
}

int top_view_fill(struct top_view *view, const struct top_rates *rates)
{
	struct sorting sorting = { view, rates };
	int err;
	const char **full = calloc(rates->count + 1, sizeof(*full));

	if (!full) {
		err = -ENOMEM;
	} else {
		for (size_t i = 0; i < rates->count; i++)
			full[i] = rates->rows[i].name;
		short_names_free(&view->names);
		view->names = (struct short_names){ 0 };
		err = short_names_make(&view->names, full, rates->count,
				       view->full_names);
		free(full);
	}
	view->count = 0;
	free(view->shown);
	view->shown = calloc(rates->count + 1, sizeof(*view->shown));
	if (err || !view->shown)
		return -ENOMEM;
	for (size_t i = 0; i < rates->count; i++)
		if (is_row_shown(view, rates, i))
			view->shown[view->count++] = i;
	qsort_r(view->shown, view->count, sizeof(*view->shown), by_order,
		&sorting);
	find_chosen(view, rates);
	return 0;
}

int top_view_move(struct top_view *view, const struct top_rates *rates, long by)
{
	const struct top_row *row;
	size_t steps = (size_t)(by < 0 ? -by : by);

	if (!view->count)
		return 0;
	if (by < 0)
		view->place -= MIN(steps, view->place);
	else
		view->place += MIN(steps, view->count - 1 - view->place);
	row = top_view_chosen(view, rates);
	free(view->name);
	free(view->module);
	view->name = strdup(row->name);
	view->module = strdup(row->module);
	if (view->name && view->module)
		return 0;
	free(view->name);
	view->name = NULL;
	return -ENOMEM;
}

const struct top_row *top_view_chosen(const struct top_view *view,
				      const struct top_rates *rates)
{
	return view->count ? &rates->rows[view->shown[view->place]] : NULL;
}

const char *top_view_name(const struct top_view *view, size_t which)
{
	return short_names_get(&view->names, which);
}

void top_view_release(struct top_view *view)
{
	short_names_free(&view->names);
	free(view->shown);
	free(view->name);
	free(view->module);
	*view = (struct top_view){ 0 };
}
