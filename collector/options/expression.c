/* SPDX-License-Identifier: Apache-2.0
 *
 * A GLOB may contain '>' and brackets ("operator>(int)", "map<*>::at"), a bound
 * may not. So the parser splits the text at its last '>'. The part before it
 * ends with the bracket that closes VALUE(.
 */
#include "collector/options/expression.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/options/expression_text.h"
#include "shared/compiler.h"

#define DIGITS_MAX 18
#define COLUMNS_SHOWN 60 /* of a wrong text, up to its place */

static const struct unit {
	const char *name;
	enum expression_unit unit;
	double factor;
} units[] = {
	{ "", EXPRESSION_COUNT, 1 },	    { "%", EXPRESSION_PERCENT, 1 },
	{ "ns", EXPRESSION_NS, 1 },	    { "us", EXPRESSION_NS, 1e3 },
	{ "ms", EXPRESSION_NS, 1e6 },	    { "s", EXPRESSION_NS, 1e9 },
	{ "B", EXPRESSION_BYTES, 1 },	    { "K", EXPRESSION_BYTES, 1 << 10 },
	{ "M", EXPRESSION_BYTES, 1 << 20 }, { "G", EXPRESSION_BYTES, 1 << 30 },
};

/* Digits, with a point among them or without. Locales do not matter. Returns
 * how many characters it took; 0: it is no number. */
static size_t read_expression_number(const char *text, double *out)
{
	size_t at = 0, digits = 0;
	double number = 0, scale = 1;
	bool point = false;

	for (;; at++) {
		if (text[at] == '.' && !point && digits) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)text[at]))
			break;
		if (++digits > DIGITS_MAX)
			return 0;
		number = number * 10 + (text[at] - '0');
		if (point)
			scale *= 10;
	}
	*out = number / scale;
	return digits && text[at - 1] != '.' ? at : 0;
}

int expression_number(const char *text, size_t at, double *number,
		      enum expression_unit *unit,
		      struct expression_error *error)
{
	size_t length = read_expression_number(text + at, number);
	size_t end;

	if (!length)
		return expression_fail(error, at,
				       "give a number of up to 18 digits");
	at = expression_skip(text, at + length);
	end = expression_trim(text, at, strlen(text));
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) != end - at ||
		    strncmp(units[i].name, text + at, end - at) != 0)
			continue;
		*unit = units[i].unit;
		*number *= units[i].factor;
		return 0;
	}
	return expression_fail(
		error, at, "choose %, ns, us, ms, s, B, K, M or G, or no unit");
}

static int read_glob(const char *text, size_t at, size_t end,
		     struct expression *out, struct expression_error *error)
{
	at = expression_skip(text, at);
	end = expression_trim(text, at, MAX(at, end));
	if (at == end)
		return expression_fail(error, at,
				       "give a pattern of functions");
	if (end - at >= sizeof(out->glob))
		return expression_fail(error, at, "the pattern is too long");
	memcpy(out->glob, text + at, end - at);
	out->glob[end - at] = '\0';
	return 0;
}

static size_t word_end(const char *text, size_t at)
{
	while (islower((unsigned char)text[at]) ||
	       isdigit((unsigned char)text[at]) || text[at] == '_' ||
	       text[at] == '.')
		at++;
	return at;
}

static int read_subject(const char *text, size_t end, bool bare,
			struct expression *out, struct expression_error *error)
{
	size_t start = expression_skip(text, 0), word = word_end(text, start);
	size_t open = expression_skip(text, word);

	end = expression_trim(text, 0, end);
	if (word == start || text[open] != '(') {
		if (bare)
			return read_glob(text, start, end, out, error);
		return expression_fail(
			error, word == start ? start : open,
			"give VALUE(GLOB), such as calls(parse*)");
	}
	if (end <= open + 1 || text[end - 1] != ')') {
		/* A name with parameters, "main(int) const", is no VALUE(). */
		if (bare)
			return read_glob(text, start, end, out, error);
		return expression_fail(error, end, "a ) is missing");
	}
	if (word - start >= sizeof(out->value))
		return expression_fail(error, start,
				       "no value has such a long name");
	memcpy(out->value, text + start, word - start);
	out->value[word - start] = '\0';
	return read_glob(text, open + 1, end - 1, out, error);
}

int expression_parse(const char *text, bool bare, struct expression *out,
		     struct expression_error *error)
{
	const char *greater = strrchr(text, '>');
	int err;
	size_t at;
	size_t start;

	*out = (struct expression){ .text = text };
	if (!greater)
		return expression_fail(
			error, strlen(text),
			"give VALUE(GLOB) > NUMBER: the > is missing");
	err = read_subject(text, (size_t)(greater - text), bare, out, error);
	if (err)
		return err;
	at = (size_t)(greater - text) + 1;
	at = expression_skip(text, at);
	out->growth = text[at] == '+';
	if (out->growth)
		at = expression_skip(text, at + 1);
	start = at;
	err = expression_number(text, at, &out->number, &out->unit, error);
	if (err)
		return err;
	if (out->unit == EXPRESSION_PERCENT && !out->growth)
		return expression_fail(
			error, start,
			"percent are of growth: put + before the number");
	return 0;
}

void expression_complain(const char *name, const char *text,
			 const struct expression_error *error)
{
	size_t from = 0, column;

	log_err("%s '%.200s': %s", name, text, error->why);
	if (error->at > COLUMNS_SHOWN)
		from = error->at - COLUMNS_SHOWN;
	fputs("  ", stderr);
	for (size_t i = from; i < from + COLUMNS_SHOWN * 5 / 4 && text[i]; i++)
		fputc(isprint((unsigned char)text[i]) ? text[i] : '?', stderr);
	column = error->at - from;
	fprintf(stderr, "\n  %*s^\n", (int)column, "");
}
