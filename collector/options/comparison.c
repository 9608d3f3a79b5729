/* SPDX-License-Identifier: Apache-2.0
 *
 * A NAME may contain the signs < and >: operator>, a<b>::f(int), f<A<int> >.
 * A VALUE may not. So only the last such sign of the text can be a comparison.
 * If a digit follows, it is one. Otherwise it may belong to the name: as a part
 * of an operator, or because it closes a < of the name. If it does neither, it
 * is a comparison without its value, which is an error.
 */
#include "collector/options/comparison.h"

#include <stdio.h>
#include <string.h>

#include "collector/base/size.h"
#include "collector/options/expression_text.h"

#define TIME_BYTES 64
#define OPERATOR "operator"

/* Returns the length of the operator with < or > at text[at], "operator>>=";
 * 0: there is none. */
static size_t comparison_length(const char *text, size_t at)
{
	size_t length = strlen(OPERATOR), signs;

	if (strncmp(text + at, OPERATOR, length) != 0 ||
	    (at &&
	     (isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_')))
		return 0;
	signs = strspn(text + at + length, "<>=-");
	return signs ? length + signs : 0;
}

/* Returns true if the sign at text[sign] belongs to a name: as a part of an
 * operator, or because it closes a < before it. */
static bool is_of_name(const char *text, size_t sign)
{
	size_t open = 0, length;

	for (size_t at = 0; at < sign; at++) {
		length = comparison_length(text, at);
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

static const char *last_sign(const char *text)
{
	const char *less = strrchr(text, '<'), *greater = strrchr(text, '>');

	if (!less || (greater && greater > less))
		return greater;
	return less;
}

bool comparison_find(const char *text, size_t from, struct comparison *out)
{
	const char *sign = last_sign(text + from);
	size_t at;

	if (!sign)
		return false;
	at = (size_t)(sign - text);
	out->sign = at;
	out->greater = text[at] == '>';
	out->equal = text[at + 1] == '=';
	out->value = expression_skip(text, at + 1 + out->equal);
	return isdigit((unsigned char)text[out->value]) ||
	       !is_of_name(text + from, at - from);
}

int comparison_check(const char *text, const struct comparison *comparison,
		     struct expression_error *error)
{
	size_t sign = comparison->sign;

	if (sign && text[sign - 1] == '=')
		return expression_fail(error, sign - 1,
				       "choose >, >=, < or <=");
	return 0;
}

int comparison_time(const char *text, size_t at, uint64_t *ns,
		    struct expression_error *error)
{
	size_t digits = strspn(text + at, "0123456789.");
	size_t unit = expression_skip(text, at + digits);
	size_t end = expression_trim(text, unit, strlen(text));
	char time[TIME_BYTES];
	int err;

	if (!digits)
		return expression_fail(error, at,
				       "give a time, such as 10ms or 1.5us");
	if (unit == end)
		return expression_fail(
			error, at + digits,
			"give the unit of the time: ns, us, ms, s, m or "
			"h, such as 10ms");
	if (digits + (end - unit) >= sizeof(time))
		return expression_fail(error, at, "the time is too long");
	snprintf(time, sizeof(time), "%.*s%.*s", (int)digits, text + at,
		 (int)(end - unit), text + unit);
	err = size_parse_duration(time, ns);
	if (err == -ERANGE)
		return expression_fail(error, at, "the time is too large");
	return err ? expression_fail(
			     error, at,
			     "give a number and its unit (ns, us, ms, s, m or "
			     "h), such as 10ms or 1.5us")
		   : 0;
}
