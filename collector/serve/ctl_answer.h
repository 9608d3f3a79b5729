/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_answer - what `perfrec ctl` is told: which sessions a target names, and
 * how they are, as JSON.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_ANSWER_H
#define PERFREC_COLLECTOR_SERVE_CTL_ANSWER_H

#include <jansson.h>
#include <stddef.h>

struct arena;
struct collector;

/* Every call is for the main thread. */

/*
 * The sessions that @target names, "" for all, as an array that the caller
 * frees; they live as long as process_reap() is not called. 0, or -ENOENT or
 * -EINVAL with *@error an answer that says why it names none, or several; or
 * -ENOMEM.
 */
int ctl_answer_select(struct collector *collector, const char *target,
		      struct arena ***out, size_t *count, json_t **error);

/* Adds @path, made absolute, to @object. */
void ctl_answer_set_path(json_t *object, const char *key, const char *path);

/* {"error": "..."} */
json_t *ctl_answer_error(const char *text);
/* {"collector": {...}, "programs": [...]} about these sessions. */
json_t *ctl_answer_new(struct collector *collector, struct arena *const *arena,
		       size_t count);

#endif
