/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_budget - reports whether a recording with --overhead stayed within
 * its budget: its cost, the largest part, and advice.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_BUDGET_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_BUDGET_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/read/summary_read.h"

/* Prints the line "over budget", which precedes all others, or nothing. */
void summary_budget_print_over(const struct summary *summary, FILE *out);

/* Prints the comparison of the cost with the budget; if @verbose, also the costs
 * that it lacks. Prints nothing without a budget. */
void summary_budget_print_cost(const struct summary *summary, bool verbose,
			       FILE *out);

#endif
