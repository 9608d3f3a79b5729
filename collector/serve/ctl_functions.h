/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_functions - `perfrec ctl functions`: changes and lists the states of
 * functions.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_FUNCTIONS_H
#define PERFREC_COLLECTOR_SERVE_CTL_FUNCTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct ctl_functions;

/* All functions: main thread only. */

/* Begins to apply @changes (ctl_wire.h; may be NULL) in @count programs. Takes
 * references to the arenas. Returns 0 or -errno; *@wrong may then have a static
 * text for the user. */
int ctl_functions_start(struct arena *const *arena, size_t count,
			const char *changes, struct ctl_functions **out,
			const char **wrong);
bool ctl_functions_are_done(const struct ctl_functions *functions);
/* Adds the functions to @json and returns it. After an error, frees @json and
 * returns another answer. Sets *@functions to NULL. */
json_t *ctl_functions_end(struct ctl_functions **functions, json_t *json);
/* *@functions may be NULL. */
void ctl_functions_free(struct ctl_functions **functions);

#endif
