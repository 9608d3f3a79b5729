/* SPDX-License-Identifier: Apache-2.0
 *
 * The first word is the kind of the trigger if it is one of five, and no
 * comparison follows it: "crash > 5ms" is about a function with the name crash.
 */
#include "collector/options/trigger.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "collector/options/argument_conditions.h"
#include "collector/options/comparison.h"
#include "collector/options/expression_text.h"
#include "shared/compiler.h"

/* Parses text[at..), the part after a word of the table. */
typedef int trigger_reader(const char *text, size_t at, struct trigger *out,
			   struct expression_error *error);

static int copy_trigger_name(const char *text, size_t from, size_t to,
			     struct trigger *out,
			     struct expression_error *error)
{
	if (to - from >= sizeof(out->name))
		return expression_fail(error, from, "the name is too long");
	memcpy(out->name, text + from, to - from);
	out->name[to - from] = '\0';
	return 0;
}

static int read_trigger_name(const char *text, size_t from, size_t to,
			     const char *missing, struct trigger *out,
			     struct expression_error *error)
{
	from = expression_skip(text, from);
	to = expression_trim(text, from, MAX(from, to));
	if (from == to || (text[from] == '@' && from + 1 == to))
		return expression_fail(error, from, missing);
	return copy_trigger_name(text, from, to, out, error);
}

/* --- calls --------------------------------------------------------------- */

/* Returns true if text[at..) is the word "p99", perhaps with spaces after it.
 */
static bool is_p99(const char *text, size_t at)
{
	static const char p99[] = "p99";

	if (strncmp(text + at, p99, strlen(p99)) != 0)
		return false;
	return !text[expression_skip(text, at + strlen(p99))];
}

/* Returns the end of the factor at text[at..) ("5 x", "1.5*"), or 0 without
 * one. */
static size_t factor_end(const char *text, size_t at)
{
	size_t digits = strspn(text + at, "0123456789.");
	size_t end = expression_skip(text, at + digits);

	if (!digits || (text[end] != 'x' && text[end] != '*'))
		return 0;
	return end + 1;
}

static int read_trigger_bound(const char *text,
			      const struct comparison *comparison,
			      struct trigger *out,
			      struct expression_error *error)
{
	size_t at = comparison->value;
	uint64_t ns;
	int err;

	if (is_p99(text, at) || factor_end(text, at)) {
		size_t end;
		enum expression_unit unit;
		char number[32];
		size_t digits;

		out->equal = comparison->equal;
		end = factor_end(text, at);
		out->kind = TRIGGER_P99;
		out->times = 1;
		if (!end)
			return 0;
		digits = strspn(text + at, "0123456789.");
		if (digits >= sizeof(number))
			return expression_fail(error, at,
					       "the factor is too long");
		memcpy(number, text + at, digits);
		number[digits] = '\0';
		if (expression_number(number, 0, &out->times, &unit, error))
			return expression_fail(
				error, at, "give a factor, such as 5 or 1.5");
		if (out->times < 1 || out->times > TRIGGER_TIMES_MAX)
			return expression_fail(
				error, at, "give a factor from 1 to 1000000");
		end = expression_skip(text, end);
		if (!is_p99(text, end))
			return expression_fail(
				error, end, "give p99, as in FUNC > 5 x p99");
		return 0;
	}
	if (!(text[at] >= '0' && text[at] <= '9'))
		return expression_fail(error, at,
				       "give a time, such as 10ms, or a "
				       "multiple of the p99, such as 5 x p99");
	err = comparison_time(text, at, &ns, error);
	if (err)
		return err;
	if (!comparison->equal && ns == UINT64_MAX)
		return expression_fail(error, comparison->sign,
				       "no call takes longer");
	out->kind = TRIGGER_CALL;
	out->min_ns = comparison->equal ? ns : ns + 1;
	return 0;
}

static int read_call(const char *text, size_t at, struct trigger *out,
		     struct expression_error *error)
{
	struct comparison comparison;
	int err;

	if (!comparison_find(text, at, &comparison))
		return expression_fail(error, strlen(text),
				       "a comparison is missing: FUNC > 10ms, "
				       "or FUNC > 5 x p99");
	err = read_trigger_name(text, at, comparison.sign,
				"give the name of a function", out, error);
	if (!err)
		err = comparison_check(text, &comparison, error);
	if (err)
		return err;
	if (!comparison.greater)
		return expression_fail(error, comparison.sign,
				       "choose > or >=: most calls are short");
	return read_trigger_bound(text, &comparison, out, error);
}

/* Parses a call with or without conditions on its arguments. */
static int read_call_with_conditions(const char *text, size_t at,
				     struct trigger *out,
				     struct expression_error *error)
{
	char *plain = strdup(text);
	int err;

	if (!plain)
		return expression_fail(error, at, "out of memory");
	err = argument_conditions_take(plain, &out->conditions, error);
	if (!err)
		err = read_call(plain, at, out, error);
	free(plain);
	return err;
}

/* --- counters, annotations, signals, crashes ----------------------------- */

static int read_counter(const char *text, size_t at, struct trigger *out,
			struct expression_error *error)
{
	struct comparison comparison;
	enum expression_unit unit;
	size_t value;
	int err;

	if (!comparison_find(text, at, &comparison))
		return expression_fail(error, strlen(text),
				       "a comparison is missing: counter NAME "
				       "> 100, or < 5");
	err = read_trigger_name(text, at, comparison.sign,
				"give the name of a counter", out, error);
	if (!err)
		err = comparison_check(text, &comparison, error);
	if (err)
		return err;
	value = comparison.value + (text[comparison.value] == '-');
	err = expression_number(text, value, &out->bound, &unit, error);
	if (err)
		return err;
	if (unit == EXPRESSION_PERCENT)
		return expression_fail(error, comparison.value,
				       "give a number without %");
	if (value > comparison.value)
		out->bound = -out->bound;
	out->greater = comparison.greater;
	out->equal = comparison.equal;
	return 0;
}

static int read_annotation(const char *text, size_t at, struct trigger *out,
			   struct expression_error *error)
{
	at = expression_skip(text, at);
	return copy_trigger_name(
		text, at, expression_trim(text, at, strlen(text)), out, error);
}

static int read_signal(const char *text, size_t at, struct trigger *out,
		       struct expression_error *error)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{ "USR1", SIGUSR1 },
		{ "USR2", SIGUSR2 },
		{ "SIGUSR1", SIGUSR1 },
		{ "SIGUSR2", SIGUSR2 },
	};
	size_t end;

	at = expression_skip(text, at);
	end = expression_trim(text, at, strlen(text));
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (strlen(signals[i].name) == end - at &&
		    !strncmp(signals[i].name, text + at, end - at)) {
			out->signal = signals[i].number;
			return 0;
		}
	return expression_fail(error, at, "choose USR1 or USR2");
}

static int read_crash(const char *text, size_t at, struct trigger *out,
		      struct expression_error *error)
{
	(void)out;
	at = expression_skip(text, at);
	return text[at] ? expression_fail(error, at, "crash takes no argument")
			: 0;
}

/* --- the kind of a trigger ----------------------------------------------- */

static const struct trigger_word {
	const char *word;
	enum trigger_kind kind;
	trigger_reader *read;
} words[] = {
	{ "call", TRIGGER_CALL, read_call_with_conditions },
	{ "counter", TRIGGER_COUNTER, read_counter },
	{ "annotation", TRIGGER_ANNOTATION, read_annotation },
	{ "signal", TRIGGER_SIGNAL, read_signal },
	{ "crash", TRIGGER_CRASH, read_crash },
};

/* Returns the word of the table at the start of text[at..); NULL: a function.
 */
static const struct trigger_word *first_word(const char *text, size_t at)
{
	size_t length = strcspn(text + at, " \t\n\v\f\r<>=");
	size_t next = expression_skip(text, at + length);

	if (strchr("<>=", text[next]) && text[next])
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == length &&
		    !strncmp(words[i].word, text + at, length))
			return &words[i];
	return NULL;
}

int trigger_parse(const char *text, struct trigger *out,
		  struct expression_error *error)
{
	size_t at = expression_skip(text, 0);
	const struct trigger_word *word = first_word(text, at);

	*out = (struct trigger){ .text = text };
	if (!text[at])
		return expression_fail(error, at,
				       "give a trigger, such as 'FUNC > 10ms' "
				       "or 'counter NAME > 100'");
	if (!word)
		return read_call_with_conditions(text, at, out, error);
	out->kind = word->kind;
	return word->read(text, at + strlen(word->word), out, error);
}
