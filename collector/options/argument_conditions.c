/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options/argument_conditions.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "collector/names/call_layout.h"
#include "collector/options/expression_text.h"
#include "shared/compiler.h"

/* --- values --------------------------------------------------------------- */

/* Reads @condition->text as a number, decimal or 0x..., if it is one. */
static void read_condition_number(struct argument_condition *condition)
{
	const char *text = condition->text, *digits = text + (*text == '-');
	char *end;

	if (!isdigit((unsigned char)digits[0]) && digits[0] != '.')
		return;
	condition->number = strtod(text, &end);
	condition->is_number = !*end;
	errno = 0;
	condition->magnitude = strtoull(digits, &end, 0);
	/* 010 is ten. */
	if (digits[0] == '0' && isdigit((unsigned char)digits[1]))
		condition->magnitude = strtoull(digits, &end, 10);
	condition->is_whole = condition->is_number && !*end && !errno;
	condition->is_negative = *text == '-';
}

static void read_condition_word(struct argument_condition *condition)
{
	bool is_true = !strcmp(condition->text, "true");

	if (!is_true && strcmp(condition->text, "false") != 0)
		return;
	condition->is_number = condition->is_whole = true;
	condition->magnitude = is_true;
	condition->number = is_true;
}

/* --- one condition -------------------------------------------------------- */

/* Returns the length of a name at @text: a word of C, or several with points. */
static size_t condition_name_length(const char *text)
{
	size_t length = 0;

	if (!isalpha((unsigned char)text[0]) && text[0] != '_')
		return 0;
	while (isalnum((unsigned char)text[length]) || text[length] == '_' ||
	       text[length] == '.')
		length++;
	return length;
}

/* Sets the comparison of @out to that at @text. Returns its length, or 0. */
static size_t read_comparison(const char *text, struct argument_condition *out)
{
	bool second = text[0] && text[1] == '=';

	out->greater = text[0] == '>' || (text[0] == '!' && second);
	out->less = text[0] == '<' || (text[0] == '!' && second);
	out->equal = text[0] == '=' || (second && text[0] != '!');
	if (text[0] == '!')
		return second ? 2 : 0;
	if (text[0] == '=')
		return 1 + second;
	return out->greater || out->less ? 1 + second : 0;
}

/* Reads text[at..end). Returns 1; 0: it is no condition; or -EINVAL. */
static int read_condition(const char *text, size_t at, size_t end,
			  struct argument_condition *out,
			  struct expression_error *error)
{
	size_t name, length, value;
	bool quoted;

	*out = (struct argument_condition){ 0 };
	name = expression_skip(text, at);
	length = condition_name_length(text + name);
	at = expression_skip(text, name + length);
	value = at + read_comparison(text + at, out);
	if (!length || value == at || value > end)
		return 0;
	if (length >= sizeof(out->name))
		return expression_fail(error, name, "the name is too long");
	memcpy(out->name, text + name, length);
	value = expression_skip(text, value);
	end = expression_trim(text, value, value > end ? value : end);
	if (value >= end)
		return expression_fail(error, value,
				       "give a value to compare with");
	quoted = text[value] == '"' && end - value > 1 && text[end - 1] == '"';
	value += quoted;
	end -= quoted;
	if (end - value >= sizeof(out->text))
		return expression_fail(error, value, "the value is too long");
	memcpy(out->text, text + value, end - value);
	if (!quoted)
		read_condition_number(out);
	if (!quoted && !out->is_number)
		read_condition_word(out);
	if (out->is_number || out->greater == out->less)
		return 1;
	/* A type has no space there: f(A<B>). */
	return isspace((unsigned char)text[name + length])
		       ? expression_fail(error, value,
					 "give a number, or compare a text by "
					 "= or !=")
		       : 0;
}

/* --- all ------------------------------------------------------------------ */

/* Returns the end of the part at @at: a comma outside of quotes, or @close. */
static size_t part_end(const char *text, size_t at, size_t close)
{
	bool quoted = false;

	for (; at < close && (quoted || text[at] != ','); at++)
		quoted ^= text[at] == '"';
	return at;
}

/* Reads text(open..close). Returns 1; 0: these are no conditions; or -EINVAL. */
static int read_conditions(const char *text, size_t open, size_t close,
			   struct argument_conditions *out,
			   struct expression_error *error)
{
	size_t at = open + 1, end;

	for (out->count = 0; at <= close; at = end + 1) {
		struct argument_condition condition;
		int is_one;

		end = part_end(text, at, close);
		is_one = read_condition(text, at, end, &condition, error);
		if (is_one <= 0)
			/* A part beside conditions is an error. */
			return is_one || !out->count
				       ? is_one
				       : expression_fail(error, at,
							 "give NAME > NUMBER, "
							 "or NAME = "
							 "TEXT");
		if (out->count == ARGUMENT_CONDITIONS_MAX)
			return expression_fail(error, at,
					       "at most 3 conditions");
		out->list[out->count++] = condition;
	}
	return 1;
}

int argument_conditions_take(char *text, struct argument_conditions *out,
			     struct expression_error *error)
{
	size_t open = strlen(text), close = 0, quote = 0, depth = 0;
	bool quoted = false, is_found = false;
	int found;

	out->count = 0;
	while (open && !is_found) {
		if (text[--open] == '"') {
			quoted = !quoted;
			quote = open;
		}
		if (quoted)
			continue;
		if (text[open] == ')' && !depth++)
			close = open;
		is_found = text[open] == '(' && depth && !--depth;
	}
	if (!is_found)
		return quoted ? expression_fail(error, quote,
						"close this quote")
			      : 0;
	found = read_conditions(text, open, close, out, error);
	if (found > 0)
		memset(text + open, ' ', close + 1 - open);
	else
		out->count = 0;
	return found < 0 ? found : 0;
}

/* --- comparisons ---------------------------------------------------------- */

bool argument_condition_names(const struct argument_condition *condition,
			      const char *name, size_t bytes)
{
	const size_t prefix = CALL_ARGUMENT_PREFIX_BYTES;
	const size_t wanted = strlen(condition->name);

	if (bytes == wanted && !memcmp(name, condition->name, wanted))
		return true;
	return bytes == prefix + wanted &&
	       !memcmp(name, CALL_ARGUMENT_PREFIX, prefix) &&
	       !memcmp(name + prefix, condition->name, wanted);
}

/* Returns -1, 0 or 1: the value is less, equal or greater; 2: neither. */
static int compare_number(const struct argument_value *value,
			  const struct argument_condition *condition)
{
	__int128 wanted = condition->magnitude, number = value->number;

	if (value->kind == ARGUMENT_REAL || !condition->is_whole) {
		double real = value->kind == ARGUMENT_REAL ? value->real
			      : value->kind == ARGUMENT_SIGNED
				      ? (double)(int64_t)value->number
				      : (double)value->number;

		return real < condition->number	   ? -1
		       : real > condition->number  ? 1
		       : real == condition->number ? 0
						   : 2;
	}
	if (condition->is_negative)
		wanted = -wanted;
	if (value->kind == ARGUMENT_SIGNED)
		number = (int64_t)value->number;
	return number < wanted ? -1 : number > wanted;
}

/* A text is compared as a glob. */
static bool is_equal_text(const struct argument_value *value,
			  const struct argument_condition *condition)
{
	char text[ARGUMENT_TEXT_BYTES];
	size_t bytes = MIN(value->text_bytes, sizeof(text) - 1);

	if (bytes)
		memcpy(text, value->text, bytes);
	text[bytes] = '\0';
	return !strcmp(text, condition->text) ||
	       !fnmatch(condition->text, text, 0);
}

bool argument_condition_holds(const struct argument_condition *condition,
			      const struct argument_value *value)
{
	int order;

	if (value->kind == ARGUMENT_TEXT) {
		if (condition->greater != condition->less)
			return false;
		return is_equal_text(value, condition) == condition->equal;
	}
	if (!condition->is_number)
		return false;
	order = compare_number(value, condition);
	return order < 0    ? condition->less
	       : order == 0 ? condition->equal
	       : order == 1 ? condition->greater
			    : condition->greater && condition->less;
}
