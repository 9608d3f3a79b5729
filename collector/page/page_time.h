/* SPDX-License-Identifier: Apache-2.0
 *
 * page_time - data from the trace only: processes, threads, the timeline, and
 * curves over time, as columns of the page.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_TIME_H
#define PERFREC_COLLECTOR_PAGE_PAGE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

/* Writes the columns of processes and threads; without a trace, only the
 * unknown ones. Returns 0 or -ENOMEM. */
int page_time_put_threads(struct page_data *data, struct page_columns *columns);
/* Writes the timeline, the curves of counters, and the gaps. @data must have
 * a trace. Adds functions that only the trace has to @data. Returns 0 or
 * -ENOMEM. */
int page_time_put(struct page_data *data, struct page_columns *columns);

/* Returns the curve @name of the process whose bytes in use the page shows; NULL:
 * none. */
const struct calls_curve *page_time_curve_beside(const struct calls *calls,
						 const char *name);
/* Returns true if the overview has curve @number of @calls as a counter: it has
 * no column of its own, and its process has the highest peak of all curves with
 * this name. */
bool page_time_is_counter(const struct calls *calls, uint32_t number);

#endif
