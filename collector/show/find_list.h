/* SPDX-License-Identifier: Apache-2.0
 *
 * find_list - the calls that call_search.h has found, for a person and as JSON:
 * when each began, how long it took, its thread, and its arguments.
 *
 *           time      took  thread          call
 *   0.001403221s   12.1 ms  5469 worker     parse(id=7)
 *   0.250000000s   > 11 ms  5470 worker     parse(id=9), not finished
 */
#ifndef PERFREC_COLLECTOR_SHOW_FIND_LIST_H
#define PERFREC_COLLECTOR_SHOW_FIND_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/read/call_search.h"

#define FIND_LIST_VERSION 1

struct find_list {
	const struct call_search *search;
	const char *expression; /* as the user gave it */
	uint64_t first_ns; /* from which times are counted, CLOCK_BOOTTIME */
	bool full_names;
};

/* Prints @list, which is not empty, to @out, fit for it if it is a terminal. 0;
 * -EIO: @out cannot be written; or -ENOMEM. */
int find_list_print(const struct find_list *list, FILE *out);
/* The same as one JSON object; the list may be empty. */
int find_list_write_json(const struct find_list *list, FILE *out);

#endif
