/* SPDX-License-Identifier: Apache-2.0
 *
 * expression_text - helpers of all parsers of expressions
 * (expression.c, comparison.c, call_expression.c, trigger.c). Pure.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_EXPRESSION_TEXT_H
#define PERFREC_COLLECTOR_OPTIONS_EXPRESSION_TEXT_H

#include <ctype.h>
#include <errno.h>
#include <stddef.h>

struct expression_error {
	size_t at; /* the byte of the text, from 0 on */
	const char *why; /* a constant: "give a number" */
};

/* Notes that the text is wrong at byte @at, because of @why. Returns -EINVAL.
 */
static inline int expression_fail(struct expression_error *error, size_t at,
				  const char *why)
{
	*error = (struct expression_error){ at, why };
	return -EINVAL;
}

/* Returns the index of the first byte from text[at] on that is no space. */
static inline size_t expression_skip(const char *text, size_t at)
{
	while (isspace((unsigned char)text[at]))
		at++;
	return at;
}

/* Returns the end of text[from..to) without its spaces at the end. */
static inline size_t expression_trim(const char *text, size_t from, size_t to)
{
	while (to > from && isspace((unsigned char)text[to - 1]))
		to--;
	return to;
}

#endif
