/* SPDX-License-Identifier: Apache-2.0
 *
 * page_time - what the trace knows alone: processes, threads, the timeline, and
 * curves over time, as columns of the page.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_TIME_H
#define PERFREC_COLLECTOR_PAGE_PAGE_TIME_H

#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

/* Puts the columns of processes and threads; of a page without a trace, those
 * that are not known. 0 or -ENOMEM. */
int page_time_put_threads(struct page_data *data, struct page_columns *columns);
/* Puts the timeline and the curve of memory; @data has a trace. Functions that
 * only the trace knows become functions of @data. 0 or -ENOMEM. */
int page_time_put(struct page_data *data, struct page_columns *columns);

#endif
