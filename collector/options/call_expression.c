/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options/call_expression.h"

#include <stdlib.h>
#include <string.h>

#include "collector/options/comparison.h"
#include "collector/options/expression_text.h"
#include "shared/compiler.h"

/* The FUNC is text[0..end). */
static int read_called_function(const char *text, size_t end,
				struct call_expression *out,
				struct expression_error *error)
{
	size_t start = expression_skip(text, 0);

	end = expression_trim(text, start, MAX(start, end));
	if (start == end)
		return expression_fail(error, start,
				       "give the name of a function");
	if (end - start >= sizeof(out->function))
		return expression_fail(error, start, "the name is too long");
	if (text[start] == '@')
		return expression_fail(
			error, start,
			"give the name of a function: a trace has no "
			"modules");
	memcpy(out->function, text + start, end - start);
	out->function[end - start] = '\0';
	return 0;
}

static int set_call_bounds(const struct comparison *comparison, uint64_t ns,
			   struct call_expression *out,
			   struct expression_error *error)
{
	size_t sign = comparison->sign;
	bool equal = comparison->equal;

	out->compares = true;
	if (comparison->greater) {
		if (!equal && ns == UINT64_MAX)
			return expression_fail(error, sign,
					       "no call takes longer");
		out->min_ns = equal ? ns : ns + 1;
		return 0;
	}
	if (!equal && !ns)
		return expression_fail(error, sign,
				       "no call takes less than 0");
	out->max_ns = equal ? ns : ns - 1;
	return 0;
}

/* Reads @text without conditions. */
static int read_timed_function(const char *text, struct call_expression *out,
			       struct expression_error *error)
{
	struct comparison comparison;
	uint64_t ns;
	int err;

	if (!comparison_find(text, 0, &comparison))
		return read_called_function(text, strlen(text), out, error);
	err = read_called_function(text, comparison.sign, out, error);
	if (!err)
		err = comparison_time(text, comparison.value, &ns, error);
	if (!err)
		err = comparison_check(text, &comparison, error);
	return err ? err : set_call_bounds(&comparison, ns, out, error);
}

int call_expression_parse(const char *text, struct call_expression *out,
			  struct expression_error *error)
{
	const char *bracket = strchr(text, '(');
	char *plain;
	int err;

	*out = (struct call_expression){ .max_ns = UINT64_MAX };
	if (bracket && !strchr(bracket, ')'))
		return expression_fail(error, (size_t)(bracket - text),
				       "close this bracket");
	plain = strdup(text);
	if (!plain)
		return expression_fail(error, 0, "out of memory");
	err = argument_conditions_take(plain, &out->conditions, error);
	if (!err)
		err = read_timed_function(plain, out, error);
	free(plain);
	return err;
}
