/* SPDX-License-Identifier: Apache-2.0
 *
 * top_view - which functions the screen of perfrec top shows, in which order,
 * and which one is chosen. It knows no terminal.
 */
#ifndef PERFREC_COLLECTOR_LIVE_TOP_VIEW_H
#define PERFREC_COLLECTOR_LIVE_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/live/top_rates.h"
#include "collector/show/short_name.h"

enum top_order {
	TOP_BY_SELF, /* in the last interval */
	TOP_BY_CALLS, /* the same */
	TOP_BY_ALL_SELF, /* since the recording began */
	TOP_BY_ALL_CALLS, /* the same */
	TOP_BY_NAME,
	TOP_ORDERS,
};

#define TOP_FILTER_BYTES 64 /* with the NUL */

/* All zero at first, but for full_names. Of one thread. */
struct top_view {
	enum top_order order;
	bool full_names;
	char filter[TOP_FILTER_BYTES]; /* "": all functions are shown */
	struct short_names names; /* of all rows of the rates */
	size_t *shown; /* numbers of rows, in their order */
	size_t count;
	size_t place; /* of the chosen function in shown */
	char *name, *module; /* of the chosen function; NULL: the first one */
};

/* What an order is called on the screen. */
const char *top_order_name(enum top_order order);

/* Makes the list anew, for other rates, another order or another filter. A
 * function is shown if it was called, and its full or its short name has the
 * text of the filter.
 * The function that was chosen stays so, if it is still shown. 0 or -ENOMEM:
 * then nothing is shown. */
int top_view_fill(struct top_view *view, const struct top_rates *rates);
/* Chooses the function @by places further down, or the last there is. 0 or
 * -ENOMEM. */
int top_view_move(struct top_view *view, const struct top_rates *rates,
		  long by);
/* The chosen function; NULL: none is shown. @rates are those of the last
 * top_view_fill(). */
const struct top_row *top_view_chosen(const struct top_view *view,
				      const struct top_rates *rates);
/* The text of row number @which of the rates. */
const char *top_view_name(const struct top_view *view, size_t which);
/* @view may be all zero. */
void top_view_release(struct top_view *view);

#endif
