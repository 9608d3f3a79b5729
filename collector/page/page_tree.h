/* SPDX-License-Identifier: Apache-2.0
 *
 * page_tree - functions, tree and values of the page as columns. Small stacks
 * are merged into function 0, one for each caller. The amounts of the profiles
 * are distributed over time and threads by the trace.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_TREE_H
#define PERFREC_COLLECTOR_PAGE_PAGE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

/* Writes the columns of nodes and values. A node is too small if it has less
 * than @per_ten_thousand ten thousandths of every value; 0: none is. Returns 0
 * or -ENOMEM. */
int page_tree_put(const struct page_data *data, uint32_t per_ten_thousand,
		  struct page_columns *columns);
/* Returns true if the entries of a value have buckets and threads. */
bool page_tree_is_timed(const struct page_data *data, enum page_key key);
int page_tree_put_functions(struct page_data *data,
			    struct page_columns *columns);

#endif
