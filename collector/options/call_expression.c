/* SPDX-License-Identifier: Apache-2.0
 *
 * A FUNC may have the signs < and > in it: operator>, a<b>::f(int), f<A<int> >.
 * A TIME may not. So only the last such sign of the text can be a comparison.
 * It is one if a digit follows. If something else follows, or nothing, it is
 * part of a name if it is of an operator, or closes a < of the name; and else a
 * comparison without its time, which is a mistake.
 */
#include "collector/options/call_expression.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/size.h"
#include "shared/compiler.h"

#define TIME_BYTES 64
#define OPERATOR "operator"

static int fail_at(struct expression_error *error, size_t at, const char *why)
{
	*error = (struct expression_error){ at, why };
	return -EINVAL;
}

static size_t skip_spaces(const char *text, size_t at)
{
	while (isspace((unsigned char)text[at]))
		at++;
	return at;
}

/* The end of text[from..to), without the spaces it ends with. */
static size_t trim_end(const char *text, size_t from, size_t to)
{
	while (to > from && isspace((unsigned char)text[to - 1]))
		to--;
	return to;
}

/* --- where the comparison is --- */

/* How many bytes at text[at] name an operator with < or > in it: "operator>>=".
 * 0: there is none. */
static size_t operator_length(const char *text, size_t at)
{
	size_t length = strlen(OPERATOR), signs;

	if (strncmp(text + at, OPERATOR, length) != 0 ||
	    (at &&
	     (isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_')))
		return 0;
	signs = strspn(text + at + length, "<>=-");
	return signs ? length + signs : 0;
}

/* Whether the sign at text[sign] is of a name: of an operator, or it closes a <
 * before it. */
static bool is_of_name(const char *text, size_t sign)
{
	size_t open = 0, length;

	for (size_t at = 0; at < sign; at++) {
		length = operator_length(text, at);
		if (length) {
			if (at + length > sign)
				return true;
			at += length - 1;
		} else if (text[at] == '<') {
			open++;
		} else if (text[at] == '>' && open) {
			open--;
		}
	}
	return text[sign] == '>' && open;
}

/* The last < or > of @text; false: there is none. */
static bool find_sign(const char *text, size_t *sign)
{
	size_t at = strlen(text);

	while (at)
		if (text[--at] == '<' || text[at] == '>') {
			*sign = at;
			return true;
		}
	return false;
}

/* Whether @text compares: then *@sign is where the comparison is, and *@time
 * where its time is. */
static bool find_comparison(const char *text, size_t *sign, size_t *time)
{
	if (!find_sign(text, sign))
		return false;
	*time = *sign + 1;
	if (text[*time] == '=')
		(*time)++;
	*time = skip_spaces(text, *time);
	return isdigit((unsigned char)text[*time]) || !is_of_name(text, *sign);
}

/* --- its parts --- */

/* The TIME that text[at..] is. */
static int read_time(const char *text, size_t at, uint64_t *ns,
		     struct expression_error *error)
{
	size_t digits = strspn(text + at, "0123456789.");
	size_t unit = skip_spaces(text, at + digits);
	size_t end = trim_end(text, unit, strlen(text));
	char time[TIME_BYTES];
	int err;

	if (!digits)
		return fail_at(error, at, "give a time, such as 10ms or 1.5us");
	if (unit == end)
		return fail_at(error, at + digits,
			       "give the unit of the time: ns, us, ms, s, m or "
			       "h, such as 10ms");
	if (digits + (end - unit) >= sizeof(time))
		return fail_at(error, at, "the time is too long");
	snprintf(time, sizeof(time), "%.*s%.*s", (int)digits, text + at,
		 (int)(end - unit), text + unit);
	err = size_parse_duration(time, ns);
	if (err == -ERANGE)
		return fail_at(error, at, "the time is too large");
	return err ? fail_at(error, at,
			     "give a number and its unit (ns, us, ms, s, m or "
			     "h), such as 10ms or 1.5us")
		   : 0;
}

/* The FUNC is text[0..end). */
static int read_function(const char *text, size_t end,
			 struct call_expression *out,
			 struct expression_error *error)
{
	size_t start = skip_spaces(text, 0);

	end = trim_end(text, start, MAX(start, end));
	if (start == end)
		return fail_at(error, start, "give the name of a function");
	if (end - start >= sizeof(out->function))
		return fail_at(error, start, "the name is too long");
	if (text[start] == '@')
		return fail_at(error, start,
			       "give the name of a function: a trace has no "
			       "modules");
	memcpy(out->function, text + start, end - start);
	out->function[end - start] = '\0';
	return 0;
}

static int set_bounds(const char *text, size_t sign, uint64_t ns,
		      struct call_expression *out,
		      struct expression_error *error)
{
	bool equal = text[sign + 1] == '=';

	out->compares = true;
	if (text[sign] == '>') {
		if (!equal && ns == UINT64_MAX)
			return fail_at(error, sign, "no call takes longer");
		out->min_ns = equal ? ns : ns + 1;
		return 0;
	}
	if (!equal && !ns)
		return fail_at(error, sign, "no call takes less than 0");
	out->max_ns = equal ? ns : ns - 1;
	return 0;
}

int call_expression_parse(const char *text, struct call_expression *out,
			  struct expression_error *error)
{
	size_t sign, time;
	uint64_t ns;
	int err;

	*out = (struct call_expression){ .max_ns = UINT64_MAX };
	if (!find_comparison(text, &sign, &time))
		return read_function(text, strlen(text), out, error);
	err = read_function(text, sign, out, error);
	if (!err)
		err = read_time(text, time, &ns, error);
	if (!err && sign && text[sign - 1] == '=')
		err = fail_at(error, sign - 1, "choose >, >=, < or <=");
	return err ? err : set_bounds(text, sign, ns, out, error);
}
