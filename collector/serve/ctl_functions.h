/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_functions - `perfrec ctl functions`: changes of the states of functions,
 * and the list of them.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_FUNCTIONS_H
#define PERFREC_COLLECTOR_SERVE_CTL_FUNCTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct ctl_functions;

/* Each call is for the main thread. */

/* Begin with @changes (ctl_wire.h; NULL: none) in the @count programs of
 * @arena, to which it takes references. 0, or -errno, where *@wrong may say why
 * for a person; it is static. */
int ctl_functions_start(struct arena *const *arena, size_t count,
			const char *changes, struct ctl_functions **out,
			const char **wrong);
bool ctl_functions_are_done(const struct ctl_functions *functions);
/* Add the functions to @json, the answer; or, if something was wrong, return
 * another answer, and give @json back. *@functions becomes NULL. */
json_t *ctl_functions_end(struct ctl_functions **functions, json_t *json);
/* Also for NULL. */
void ctl_functions_free(struct ctl_functions **functions);

#endif
