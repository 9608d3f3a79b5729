/* SPDX-License-Identifier: Apache-2.0
 *
 * short_name - names of functions as a table, a tree or a picture shows them.
 * For one name: name_fold() (collector/names/name_fold.h). Names that are shown
 * together are made together, since two of them may fold to the same text:
 *
 *   struct short_names names;
 *
 *   short_names_make(&names, full, count, false)   full[i]: the full names
 *   short_names_get(&names, i)                     what to show for full[i]
 *   short_names_free(&names)
 */
#ifndef PERFREC_COLLECTOR_SHOW_SHORT_NAME_H
#define PERFREC_COLLECTOR_SHOW_SHORT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/names/name_fold.h"

struct short_names {
	char *bytes; /* all texts, one after the other */
	size_t used, room;
	size_t *text; /* of each name: where its text begins in bytes */
	size_t count;
};

/*
 * Makes a text for each of @count full names. It is what name_fold() makes of
 * the name, unless it makes the same of another full name of these: then the
 * first list of template arguments in which they differ is shown, or the whole
 * name, if they do not differ in one. Equal full names have equal texts.
 * @is_full (--full-names): the texts are the full names. Any bytes of a name
 * are fine; the texts are UTF-8 without control characters. The names need not
 * outlive the call. Takes O(n log n) comparisons. The caller ends @names with
 * short_names_free(), also after an error. Returns 0 or -ENOMEM. Any thread.
 */
int short_names_make(struct short_names *names, const char *const *full,
		     size_t count, bool is_full);

/* The text of name number @which; lives as long as @names. */
const char *short_names_get(const struct short_names *names, size_t which);

/* Frees what @names holds. @names may be all zero. */
void short_names_free(struct short_names *names);

#endif
