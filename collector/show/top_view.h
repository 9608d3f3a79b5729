/* SPDX-License-Identifier: Apache-2.0
 *
 * top_view - the visible functions of perfrec top, their order and the
 * selection. Independent of the terminal.
 */
#ifndef PERFREC_COLLECTOR_SHOW_TOP_VIEW_H
#define PERFREC_COLLECTOR_SHOW_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/show/short_name.h"
#include "collector/show/top_rates.h"

enum top_order {
	TOP_BY_SELF, /* in the last interval */
	TOP_BY_CALLS, /* in the last interval */
	TOP_BY_ALL_SELF, /* since the start of the recording */
	TOP_BY_ALL_CALLS, /* since the start of the recording */
	TOP_BY_NAME,
	TOP_ORDERS,
};

#define TOP_FILTER_BYTES 64 /* with the NUL */

/* All zero at first, except full_names. One thread. */
struct top_view {
	enum top_order order;
	bool full_names;
	char filter[TOP_FILTER_BYTES]; /* "": all functions */
	struct short_names names; /* of all rows of the rates */
	size_t *shown; /* row numbers in order */
	size_t count;
	size_t place; /* index of the selected function in shown */
	char *name, *module; /* of the selected function; NULL: the first */
};

const char *top_order_name(enum top_order order);

/*
 * Rebuilds the list for new rates, another order or another filter. Shows
 * functions that were called, if their full or short name contains the filter.
 * Keeps the selection if it is still visible. Returns 0, or -ENOMEM with an
 * empty list.
 */
int top_view_fill(struct top_view *view, const struct top_rates *rates);
/* Moves the selection down by @by places, at most to the last function. Returns
 * 0 or -ENOMEM. */
int top_view_move(struct top_view *view, const struct top_rates *rates,
		  long by);
/* Returns the selected function, or NULL for an empty list. @rates must be
 * those of the last top_view_fill(). */
const struct top_row *top_view_chosen(const struct top_view *view,
				      const struct top_rates *rates);
/* Returns the displayed name of row @which. */
const char *top_view_name(const struct top_view *view, size_t which);
/* @view may be all zero. */
void top_view_release(struct top_view *view);

#endif
