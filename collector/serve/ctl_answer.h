/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_answer - finds the sessions that a target of `perfrec ctl` names, and
 * creates the JSON answers.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_ANSWER_H
#define PERFREC_COLLECTOR_SERVE_CTL_ANSWER_H

#include <jansson.h>
#include <stddef.h>

struct arena;
struct collector;

/* All functions: main thread only. The caller frees answers by
 * json_decref(). */

/*
 * Finds the sessions that @target names; "" means all. On success returns 0 and
 * sets *@out to an array of *@count sessions. The caller frees the array; the
 * sessions are valid until the next process_reap(). Returns -ENOENT for no
 * match and -EINVAL for several, with an answer for the client in *@error.
 * Returns -ENOMEM with *@error NULL or untouched.
 */
int ctl_answer_select(struct collector *collector, const char *target,
		      struct arena ***out, size_t *count, json_t **error);

/* Adds @path to @object as an absolute path. */
void ctl_answer_set_path(json_t *object, const char *key, const char *path);

/* Returns {"error": @text}. */
json_t *ctl_answer_error(const char *text);
/* Returns {"collector": {...}, "programs": [...]} for @count sessions. */
json_t *ctl_answer_new(struct collector *collector, struct arena *const *arena,
		       size_t count);

#endif
