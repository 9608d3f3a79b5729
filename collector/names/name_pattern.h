/* SPDX-License-Identifier: Apache-2.0
 *
 * name_pattern - patterns for functions in --filter, --exclude, --count and
 * perfrec ctl functions. Globs as in fnmatch(3); each text also matches itself.
 *
 *   GLOB    matches one of the forms of a name:
 *           - whole                   int ns::f<A<int> >(B<C>) const
 *           - without return type and parameters
 *                                     ns::f<A<int> >
 *           - short (name_fold.h)     ns::f<…>(B<…>) const
 *   @GLOB   matches the path of a module or its last component
 */
#ifndef PERFREC_COLLECTOR_NAMES_NAME_PATTERN_H
#define PERFREC_COLLECTOR_NAMES_NAME_PATTERN_H

#include <stdbool.h>

/* @name may have any bytes; long forms are cut. Any thread. */
bool name_pattern_matches(const char *pattern, const char *name,
			  const char *module);

#define NAME_PATTERN_BYTES 41 /* with the NUL */

/* Makes a pattern to type for @name: ASCII, at most 40 characters, safe in
 * shell quotes. It matches @name, and may match others. Returns false if there
 * is none, with any text in @out. */
bool name_pattern_make(const char *name, char out[NAME_PATTERN_BYTES]);

#endif
