/* SPDX-License-Identifier: Apache-2.0
 *
 * page_time - what the trace knows alone: processes, threads, the timeline, and
 * curves over time, as columns of the page.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_TIME_H
#define PERFREC_COLLECTOR_PAGE_PAGE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

/* Puts the columns of processes and threads; of a page without a trace, those
 * that are not known. 0 or -ENOMEM. */
int page_time_put_threads(struct page_data *data, struct page_columns *columns);
/* Puts the timeline, the curves of counters, and what was not recorded; @data
 * has a trace. Functions that only the trace knows become functions of @data.
 * 0 or -ENOMEM. */
int page_time_put(struct page_data *data, struct page_columns *columns);

/* Whether curve @number of @calls is one of the counters that the overview has:
 * it has no column of its own, and of the processes with a counter of this
 * name it is that with the highest peak. */
bool page_time_is_counter(const struct calls *calls, uint32_t number);

#endif
