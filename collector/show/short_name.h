/* SPDX-License-Identifier: Apache-2.0
 *
 * short_name - displayed names of functions. For one name use name_fold()
 * (collector/names/name_fold.h). Names that are shown together are made
 * together, because two of them may fold to the same text:
 *
 *   struct short_names names;
 *
 *   short_names_make(&names, full, count, false)   full[i]: the full names
 *   short_names_get(&names, i)                     text to show for full[i]
 *   short_names_free(&names)
 */
#ifndef PERFREC_COLLECTOR_SHOW_SHORT_NAME_H
#define PERFREC_COLLECTOR_SHOW_SHORT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/names/name_fold.h"

struct short_names {
	char *bytes; /* all texts, consecutive */
	size_t used, room;
	size_t *text; /* offset in bytes of each name's text */
	size_t count;
};

/*
 * Makes a text for each of @count full names by name_fold(). If two different
 * names fold to the same text, the texts also have the first template list that
 * differs, or are the full names if no list differs. Equal names get equal
 * texts. @is_full (--full-names): the texts are the full names. Names may have
 * any bytes; texts are UTF-8 without control characters. The names need not
 * outlive the call. O(n log n) comparisons. The caller calls
 * short_names_free(), even after an error. Returns 0 or -ENOMEM. Any thread.
 */
int short_names_make(struct short_names *names, const char *const *full,
		     size_t count, bool is_full);

/* Returns the text of name @which, valid until short_names_free(). */
const char *short_names_get(const struct short_names *names, size_t which);

/* @names may be all zero. */
void short_names_free(struct short_names *names);

#endif
