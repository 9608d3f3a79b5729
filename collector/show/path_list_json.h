/* SPDX-License-Identifier: Apache-2.0
 *
 * path_list - the parts of a critical path in an order: as JSON, and for tables. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_SHOW_PATH_LIST_JSON_H
#define PERFREC_COLLECTOR_SHOW_PATH_LIST_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/read/critical_path.h"

struct path_list {
	struct critical_path *path;
	const char *function; /* as given by the user; NULL: of the run */
	uint64_t unseen; /* more calls that match */
};

/* Sorts the rows by @key, "total", "on-cpu" or "name", hand-overs by their number
 * and stops by their time. */
void path_list_sort(struct path_list *list, const char *key);

const char *path_list_text(const struct path_list *list, uint32_t number);
#define PATH_THREAD_TEXT 64
/* Writes "4713 worker" to @text, and returns it. */
const char *path_thread_text(const struct path_list *list, uint32_t tid,
			     uint32_t name, char text[PATH_THREAD_TEXT]);
/* Prints why the path stops, without an end of line. */
void path_stop_print(const struct path_list *list, const struct path_stop *stop,
		     FILE *out);
/* Returns the same as a text, which the caller frees, or NULL without memory. */
char *path_stop_text(const struct path_list *list,
		     const struct path_stop *stop);
uint64_t path_row_ns(const struct path_row *row);

/* Returns the object of perfrec report --view path --json with the first @rows
 * functions and the first @hand_overs (0: all), or NULL without memory. */
json_t *path_list_json(const struct path_list *list, size_t rows,
		       size_t hand_overs);

#endif
