/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_answer - finds the sessions that a target of `perfrec ctl` names, and
 * makes the answers, as JSON.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_ANSWER_H
#define PERFREC_COLLECTOR_SERVE_CTL_ANSWER_H

#include <jansson.h>
#include <stddef.h>

struct arena;
struct collector;

/* Every call is for the main thread. An answer is the caller's, who ends it
 * with json_decref(). */

/*
 * Finds the sessions that @target names; "" names all. On success returns 0:
 * *@out is an array of *@count sessions, which the caller frees. The sessions
 * live until the next process_reap(). If the target names no session, returns
 * -ENOENT, and if it names several, -EINVAL; *@error is then an answer that
 * says so. Returns -ENOMEM with *@error NULL or untouched.
 */
int ctl_answer_select(struct collector *collector, const char *target,
		      struct arena ***out, size_t *count, json_t **error);

/* Adds @path, made absolute, to @object under @key. */
void ctl_answer_set_path(json_t *object, const char *key, const char *path);

/* The answer {"error": @text}. */
json_t *ctl_answer_error(const char *text);
/* The answer {"collector": {...}, "programs": [...]}, about @count sessions. */
json_t *ctl_answer_new(struct collector *collector, struct arena *const *arena,
		       size_t count);

#endif
