/* SPDX-License-Identifier: Apache-2.0
 *
 * page_judge - the judgement of several runs a side, for a page that compares.
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_JUDGE_H
#define PERFREC_COLLECTOR_PAGE_PAGE_JUDGE_H

#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

struct diff;

/* Writes the verdicts of functions, and with several runs of a side their
 * spread. Then it also replaces the sums of functions by the medians of the
 * runs. Call it after all functions were added. Returns 0 or -ENOMEM. */
int page_judge_put(struct page_data *data, const struct diff *diff,
		   struct page_columns *columns);
/* Returns the sentence about a value for the caller to free; NULL: the runs do
 * not compare it, or no memory. */
char *page_judge_text(const struct diff *diff, enum page_key key);

#endif
