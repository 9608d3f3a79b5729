/* SPDX-License-Identifier: Apache-2.0
 *
 * name_pattern - the patterns that options take for functions: --filter,
 * --exclude, --count, and those of perfrec ctl functions. Both kinds use globs
 * (fnmatch(3)).
 *
 *   GLOB    matches a function if it matches one of
 *           - its whole name          int ns::f<A<int> >(B<C>) const
 *           - its name without what it returns and without its parameters
 *                                     ns::f<A<int> >
 *           - its short name, as tables show it (name_fold.h)
 *                                     ns::f<…>(B<…>) const
 *   @GLOB   matches a function if it matches the path of its module, or the
 *           last part of that path
 */
#ifndef PERFREC_COLLECTOR_NAMES_NAME_PATTERN_H
#define PERFREC_COLLECTOR_NAMES_NAME_PATTERN_H

#include <stdbool.h>

/* Returns whether @pattern matches the function @name of the module with the
 * path @module. @name may have any bytes; a form of it that is longer than
 * NAME_FOLD_BYTES is cut. Any thread. */
bool name_pattern_matches(const char *pattern, const char *name,
			  const char *module);

#define NAME_PATTERN_BYTES 41 /* with the NUL */

/*
 * Makes a pattern that a person can type for the function @name: ASCII, at most
 * 40 characters, nothing that a shell takes for something else in single or
 * double quotes. It matches @name, and may match others. Returns false if there
 * is none; then @out has any text.
 */
bool name_pattern_make(const char *name, char out[NAME_PATTERN_BYTES]);

#endif
