/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_budget - shows a person whether a recording with --overhead stayed
 * within its budget: its cost, the largest part, and what to do about it.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_BUDGET_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_BUDGET_H

#include <stdio.h>

#include "collector/read/summary_read.h"

/* Print to @out the line "over budget", which comes before all others, or
 * nothing. */
void summary_budget_print_over(const struct summary *summary, FILE *out);

/* Print to @out, below the own cost, its comparison with the budget, and the
 * costs that it lacks; or nothing, if there was no budget. */
void summary_budget_print_cost(const struct summary *summary, FILE *out);

#endif
