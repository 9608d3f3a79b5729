/* SPDX-License-Identifier: Apache-2.0
 *
 * name_pattern - the patterns that options take for functions. Both kinds use
 * globs (fnmatch(3)).
 *
 *   GLOB    matches a function if it matches the whole name of the function, or
 *           its name up to the first '(': "ns::f" matches "ns::f(int)"
 *   @GLOB   matches a function if it matches the path of its module, or the
 *           last part of that path
 */
#ifndef PERFREC_COLLECTOR_NAMES_NAME_PATTERN_H
#define PERFREC_COLLECTOR_NAMES_NAME_PATTERN_H

#include <stdbool.h>

/* Returns whether @pattern matches the function @name of the module with the
 * path @module. Any thread. */
bool name_pattern_matches(const char *pattern, const char *name,
			  const char *module);

#endif
