/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_over_time_json - the bytes in use of functions over time, from the counters
 * of the trace (heap/heap_bands.c), as JSON.
 */
#ifndef PERFREC_COLLECTOR_SHOW_MEMORY_OVER_TIME_JSON_H
#define PERFREC_COLLECTOR_SHOW_MEMORY_OVER_TIME_JSON_H

struct json_t;

/* Returns a list with an object for each function of the recording in @dir, for
 * the caller to free; it is empty if the trace has no such counters. Returns
 * JSON's null if the trace cannot be read. Logs nothing. */
struct json_t *memory_over_time_json(const char *dir);

#endif
