/* SPDX-License-Identifier: Apache-2.0
 *
 * page_header - the header of the page's data, as JSON.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_HEADER_H
#define PERFREC_COLLECTOR_PAGE_PAGE_HEADER_H

#include "collector/page/page.h"
#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

struct summary;

/* Returns the header as text for the caller to free, or NULL without memory.
 * @base is NULL without comparison. */
char *page_header_make(const struct page_data *data,
		       const struct page_columns *columns,
		       const struct page_options *options,
		       const struct summary *summary,
		       const struct summary *base);

#endif
