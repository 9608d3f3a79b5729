/* SPDX-License-Identifier: Apache-2.0
 *
 * name_near - the function of a recording that a person may have meant.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_NAME_NEAR_H
#define PERFREC_COLLECTOR_OPTIONS_NAME_NEAR_H

#include <stddef.h>

/* Finds the full name among @names, @count of them, that is most similar to
 * @word (spelling.h): by the name without parameters, or by its last part.
 * Returns the name without parameters, so that it works when typed; the caller
 * frees it. NULL: none is similar, or no memory. Any thread. */
char *name_near(const char *word, const char *const *names, size_t count);

#endif
