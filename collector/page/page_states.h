/* SPDX-License-Identifier: Apache-2.0
 *
 * page_states - the states of threads over time, as columns of the page.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_STATES_H
#define PERFREC_COLLECTOR_PAGE_PAGE_STATES_H

#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

/* Writes the columns state.* (docs/PAGE.md), or nothing without switches. */
void page_states_put(const struct page_data *data,
		     struct page_columns *columns);

/* The entries of cpu_heat.ns. */
struct page_heat {
	uint64_t first_ns, width_ns, count;
};
/* Returns zeros without switches, or if no event is in the range of the page. */
struct page_heat page_states_heat(const struct page_data *data);
/* Writes the column cpu_heat.ns, or nothing without switches or memory. */
void page_states_put_heat(const struct page_data *data,
			  struct page_columns *columns);

#endif
