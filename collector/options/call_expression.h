/* SPDX-License-Identifier: Apache-2.0
 *
 * call_expression - parses a condition on a function's calls:
 *
 *   FUNC                    parse_request
 *   FUNC COMPARISON TIME    parse_request > 10ms     ns::f<A> (int) <= 1.5us
 *   FUNC(CONDITIONS) ...    read_page(size > 4096) > 1ms
 *
 * FUNC is the full name of a function or a pattern of name_pattern.h, and may
 * have spaces, brackets, and the signs < and >. COMPARISON is >, >=, < or <=.
 * TIME is a number with its unit, as size_parse_duration() takes it; there may
 * be spaces before the unit. CONDITIONS as in argument_conditions.h.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_CALL_EXPRESSION_H
#define PERFREC_COLLECTOR_OPTIONS_CALL_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/options/argument_conditions.h"
#include "collector/options/expression.h"

struct call_expression {
	char function[EXPRESSION_GLOB];
	bool compares; /* a time was given */
	uint64_t min_ns, max_ns; /* the duration, both included */
	struct argument_conditions conditions;
};

/* Reads @text. 0; or -EINVAL, with *@error set: expression_complain() says it.
 * Any thread. */
int call_expression_parse(const char *text, struct call_expression *out,
			  struct expression_error *error);

#endif
