/* SPDX-License-Identifier: Apache-2.0
 *
 * page_tree - the functions, the tree and the values of the page as columns.
 * Stacks that are too small become one for each caller, the function 0; and
 * what the profiles say of a stack is spread over time and threads as the trace
 * has it.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_TREE_H
#define PERFREC_COLLECTOR_PAGE_PAGE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

/*
 * Puts the columns of nodes and of values. A node that has less than
 * @per_ten_thousand ten thousandths of every value is too small; 0: none is.
 * 0 or -ENOMEM.
 */
int page_tree_put(const struct page_data *data, uint32_t per_ten_thousand,
		  struct page_columns *columns);
/* Whether the entries of a value have a bucket and a thread. */
bool page_tree_is_timed(const struct page_data *data, enum page_key key);
/* Puts the columns of functions. 0 or -ENOMEM. */
int page_tree_put_functions(struct page_data *data,
			    struct page_columns *columns);

#endif
