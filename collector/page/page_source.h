/* SPDX-License-Identifier: Apache-2.0
 *
 * page_source - source lines with samples or allocations, and their neighbours.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_SOURCE_H
#define PERFREC_COLLECTOR_PAGE_PAGE_SOURCE_H

#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

/* Writes the columns of lines. Lines of missing files have no text. Paths in a
 * recording are untrusted, so only files with suffixes of sources (*.c and
 * similar) are read. Returns 0 or -ENOMEM. */
int page_source_put(struct page_data *data, struct page_columns *columns);

#endif
