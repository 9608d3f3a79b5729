/* SPDX-License-Identifier: Apache-2.0
 *
 * find_list - the results of call_search.h as text and as JSON: time, duration,
 * thread and arguments of each call.
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
	const char *expression; /* from the user */
	uint64_t first_ns; /* origin of times, CLOCK_BOOTTIME */
	bool full_names;
};

/* Prints @list, which must not be empty, to @out. Adapts to a terminal. Returns
 * 0, -EIO if @out cannot be written, or -ENOMEM. */
int find_list_print(const struct find_list *list, FILE *out);
/* Writes one JSON object. The list may be empty. */
int find_list_write_json(const struct find_list *list, FILE *out);

#endif
