/* SPDX-License-Identifier: Apache-2.0
 *
 * comparison - where in a text a name is compared with something:
 *
 *   NAME > VALUE     parse_request > 10ms     operator>(A, B) <= 1.5us
 *
 * NAME may have spaces, brackets, and the signs < and > in it, as names of C++
 * functions have. A comparison is >, >=, < or <=. Pure.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_COMPARISON_H
#define PERFREC_COLLECTOR_OPTIONS_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct expression_error;

struct comparison {
	size_t sign; /* where > or < stands: the name is before it */
	size_t value; /* where that begins which it is compared with */
	bool greater; /* > or >= */
	bool equal; /* >= or <= */
};

/* Finds the comparison in text[from..). False: there is none. */
bool comparison_find(const char *text, size_t from, struct comparison *out);
/* Rejects misspelled comparisons, such as "=>". 0; or -EINVAL, with *@error
 * set. */
int comparison_check(const char *text, const struct comparison *comparison,
		     struct expression_error *error);
/* Reads text[at..), a time with its unit ("10ms", "1.5 us"). 0; or -EINVAL,
 * with *@error set. */
int comparison_time(const char *text, size_t at, uint64_t *ns,
		    struct expression_error *error);

#endif
