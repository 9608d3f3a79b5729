/* SPDX-License-Identifier: Apache-2.0
 *
 * page_source - lines of source that have samples or allocations, with some
 * lines around each.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_SOURCE_H
#define PERFREC_COLLECTOR_PAGE_PAGE_SOURCE_H

#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

/*
 * Puts the columns of lines. A file that is not there has lines without text.
 * As the names come from the recording, which may come from anywhere, only
 * files that are called like sources (*.c and the like) are read. 0 or -ENOMEM.
 */
int page_source_put(struct page_data *data, struct page_columns *columns);

#endif
