/* SPDX-License-Identifier: Apache-2.0
 *
 * name_near - the function of a recording that a person may have meant.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_NAME_NEAR_H
#define PERFREC_COLLECTOR_OPTIONS_NAME_NEAR_H

#include <stddef.h>

/* Of the @count full @names the one that is nearest to @word (spelling.h) by
 * its name without parameters, or else by the last part of that. Returns the
 * name without parameters, so that it works when typed; the caller frees it.
 * NULL: none is near, or there is no memory. Any thread. */
char *name_near(const char *word, const char *const *names, size_t count);

#endif
