/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of options. Each kind of value has a parser, and a sentence for
 * messages about wrong values.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/size.h"
#include "collector/options/categories.h"
#include "collector/options/limits.h"
#include "collector/options/opts_inner.h"
#include "shared/compiler.h"
#include "shared/ring_shm.h"

#define HZ_DIGITS 7 /* and the NUL: more are out of range */
#define NUMBER_BYTES 24
#define PERCENT_UNIT 1000

/* --- reading ------------------------------------------------------------- */

static bool is_number_in_range(const struct opts_row *row, uint64_t number)
{
	return number >= row->least && (!row->most || number <= row->most);
}

static bool read_count(const struct opts_row *row, const char *text,
		       struct opts_value *out)
{
	return !size_parse_count(text, row->least,
				 row->most ? row->most : UINT64_MAX,
				 &out->number);
}

static bool read_size(const struct opts_row *row, const char *text,
		      struct opts_value *out)
{
	return !size_parse_bytes(text, &out->number) &&
	       is_number_in_range(row, out->number);
}

static bool read_time_value(const struct opts_row *row, const char *text,
			    struct opts_value *out)
{
	return !size_parse_ns(text, &out->number) &&
	       is_number_in_range(row, out->number);
}

static bool read_duration(const struct opts_row *row, const char *text,
			  struct opts_value *out)
{
	/* Zero needs no unit. */
	if (!strcmp(text, "0"))
		return is_number_in_range(row, out->number = 0);
	return !size_parse_duration(text, &out->number) &&
	       is_number_in_range(row, out->number);
}

static bool read_word_value(const struct opts_row *row, const char *text,
			    struct opts_value *out)
{
	int word = opts_find_choice(row->choices, text, strlen(text));

	out->word = (size_t)word;
	return word >= 0;
}

/* "last" or "30s". */
static bool read_keep(const struct opts_row *row, const char *text,
		      struct opts_value *out)
{
	out->number = 0;
	return read_word_value(row, text, out) ||
	       read_time_value(row, text, out);
}

/* "cycles", or more words: "cycles,cache-misses". Each once. */
static bool read_list_value(const struct opts_row *row, const char *text,
			    struct opts_value *out)
{
	uint64_t given = 0;

	out->number = 0;
	for (;;) {
		size_t length = strcspn(text, ",");
		int word = opts_find_choice(row->choices, text, length);

		if (word < 0 || out->number >> word & 1)
			return false;
		out->number |= UINT64_C(1) << word;
		given++;
		if (!text[length])
			return is_number_in_range(row, given);
		text += length + 1;
	}
}

/* "exact", or with a size "sampled:64K". */
static bool read_alloc(const struct opts_row *row, const char *text,
		       struct opts_value *out)
{
	static const char sampled[] = "sampled:";

	if (!strncmp(text, sampled, strlen(sampled)))
		return read_word_value(row, "sampled", out) &&
		       read_size(row, text + strlen(sampled), out);
	return read_word_value(row, text, out) &&
	       !size_parse_bytes(row->usual_bytes, &out->number);
}

/* "off", "auto", "99", or with an engine "99,signal". */
static bool read_cpu(const struct opts_row *row, const char *text,
		     struct opts_value *out)
{
	size_t digits = strcspn(text, ",");
	char number[HZ_DIGITS];

	if (!strcmp(text, "off"))
		return true;
	if (!strcmp(text, "auto")) {
		out->number = CPU_HZ_AUTO;
		return true;
	}
	snprintf(number, sizeof(number), "%.*s", (int)MIN(digits, HZ_DIGITS),
		 text);
	if (!read_count(row, number, out))
		return false;
	return !text[digits] || read_word_value(row, text + digits + 1, out);
}

/* "5%", "5", "0.25%", or "off". More than 0 and less than 100. */
static bool read_percent(const struct opts_row *row, const char *text,
			 struct opts_value *out)
{
	uint64_t number = 0, unit = PERCENT_UNIT;
	size_t digits = strspn(text, "0123456789");
	bool point = text[digits] == '.';

	(void)row;
	out->number = 0;
	if (!strcmp(text, "off"))
		return true;
	if (!digits || digits > 2)
		return false;
	for (size_t i = 0; i < digits; i++)
		number = number * 10 + (uint64_t)(text[i] - '0') * PERCENT_UNIT;
	text += digits + point;
	for (digits = 0; point && *text >= '0' && *text <= '9'; digits++) {
		unit /= 10;
		number += (uint64_t)(*text++ - '0') * unit;
	}
	text += *text == '%';
	out->number = number;
	return !*text && number && (!point || (digits && digits <= 3));
}

/* Rejects a pattern that matches nothing: an unset variable of a script. */
static bool read_glob_value(const struct opts_row *row, const char *text,
			    struct opts_value *out)
{
	(void)row;
	(void)out;
	return text[text[0] == '@'];
}

static bool read_categories(const struct opts_row *row, const char *text,
			    struct opts_value *out)
{
	(void)row;
	(void)out;
	return categories_valid(text) && text[strspn(text, " ,-")];
}

/* The command itself checks the word: only some are allowed with its view. */
static bool read_key(const struct opts_row *row, const char *text,
		     struct opts_value *out)
{
	(void)row;
	(void)text;
	(void)out;
	return true;
}

static bool read_text_value(const struct opts_row *row, const char *text,
			    struct opts_value *out)
{
	(void)row;
	(void)out;
	return text[0];
}

bool opts_value_read(struct opts_value *value)
{
	typedef bool reader(const struct opts_row *row, const char *text,
			    struct opts_value *out);
	static reader *const readers[] = {
		[OPTS_NUMBER] = read_count,
		[OPTS_SIZE] = read_size,
		[OPTS_TIME] = read_time_value,
		[OPTS_DURATION] = read_duration,
		[OPTS_WORD] = read_word_value,
		[OPTS_SOME] = read_list_value,
		[OPTS_KEY] = read_key,
		[OPTS_FOLDER] = read_text_value,
		[OPTS_FILE] = read_text_value,
		[OPTS_TEXT] = read_text_value,
		[OPTS_GLOB] = read_glob_value,
		[OPTS_CATEGORIES] = read_categories,
		[OPTS_ALLOC] = read_alloc,
		[OPTS_CPU] = read_cpu,
		[OPTS_PERCENT] = read_percent,
		[OPTS_KEEP] = read_keep,
		[OPTS_USER] = read_text_value,
		[OPTS_SIGNATURE] = read_text_value,
		[OPTS_TRIGGER] = read_text_value,
	};
	const struct opts_row *row = &opts_rows[value->id];

	return row->kind == OPTS_FLAG ||
	       readers[row->kind](row, value->text, value);
}

/* --- advice about values ------------------------------------------------- */

/* Formats @number in the largest unit of @units that divides it: "64K". */
static const char *format_whole(uint64_t number, const char *const *names,
				const uint64_t *units, size_t count, char *text)
{
	size_t unit = 0;

	for (size_t i = 0; i < count; i++)
		if (number && number % units[i] == 0)
			unit = i;
	snprintf(text, NUMBER_BYTES, "%" PRIu64 "%s", number / units[unit],
		 names[unit]);
	return text;
}

static const char *format_limit(const struct opts_row *row, uint64_t number,
				char *text)
{
	static const char *const sizes[] = { "", "K", "M", "G" };
	static const uint64_t bytes[] = { 1, 1 << 10, 1 << 20, 1 << 30 };
	static const char *const times[] = { "ns", "us", "ms", "s", "m", "h" };
	static const uint64_t ns[] = { 1,	   1000,	1000000,
				       1000000000, 60000000000, 3600000000000 };

	if (row->kind == OPTS_SIZE || row->kind == OPTS_ALLOC)
		return format_whole(number, sizes, bytes, ARRAY_SIZE(sizes),
				    text);
	if (row->kind == OPTS_TIME || row->kind == OPTS_DURATION ||
	    row->kind == OPTS_KEEP)
		return format_whole(number, times, ns, ARRAY_SIZE(times), text);
	snprintf(text, NUMBER_BYTES, "%" PRIu64, number);
	return text;
}

static const char *format_range(const struct opts_row *row, char *text,
				size_t room)
{
	char least[NUMBER_BYTES], most[NUMBER_BYTES];

	format_limit(row, row->least, least);
	if (row->kind == OPTS_DURATION && !row->least && row->most)
		snprintf(text, room, "at most %s",
			 format_limit(row, row->most, most));
	else if (row->most)
		snprintf(text, room, "from %s to %s", least,
			 format_limit(row, row->most, most));
	else
		snprintf(text, room, "at least %s", least);
	return text;
}

const char *opts_value_range(enum opts_id id, char *text, size_t room)
{
	const struct opts_row *row = &opts_rows[id];
	bool endless = !row->most ||
		       (row->most >= INT32_MAX && row->kind != OPTS_DURATION);

	text[0] = '\0';
	if (row->least <= 1 && endless)
		return text;
	return format_range(row, text, room);
}

const char *opts_list(const char *const *words, size_t count, char *text,
		      size_t room)
{
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count && length < room; i++)
		length += (size_t)snprintf(text + length, room - length, "%s%s",
					   !i		    ? ""
					   : i + 1 == count ? " or "
							    : ", ",
					   words[i]);
	return text;
}

const char *opts_value_want(enum opts_id id, char *text, size_t room)
{
	const struct opts_row *row = &opts_rows[id];
	char words[OPTS_TEXT_BYTES], range[64];

	opts_list(row->choices, opts_count_choices(row->choices), words,
		  sizeof(words));
	format_range(row, range, sizeof(range));
	if (row->want)
		snprintf(text, room, "give %s", row->want);
	else if (row->kind == OPTS_NUMBER)
		snprintf(text, room, "give a number %s", range);
	else if (row->kind == OPTS_SIZE)
		snprintf(text, room, "give a size %s%s%s",
			 row->most ? "" : "of ", range,
			 row->most ? "" : ", such as 500M or 4G");
	else if (row->kind == OPTS_TIME)
		snprintf(text, room, "give a time %s, such as 10s or 5m",
			 range);
	else if (row->kind == OPTS_KEEP)
		snprintf(text, room,
			 "choose %s; or, with --flight, give a time %s, such "
			 "as 10s or 5m",
			 words, range);
	else if (row->kind == OPTS_DURATION)
		snprintf(text, room,
			 "give a time with its unit (ns, us, ms, s, m or "
			 "h)%s%s, "
			 "such as 1.5us or 10ms",
			 row->most ? " of " : "", row->most ? range : "");
	else if (row->kind == OPTS_WORD || row->kind == OPTS_KEY)
		snprintf(text, room, "choose %s", words);
	else if (row->kind == OPTS_SOME)
		snprintf(text, room,
			 "choose %s, or at most %u of these with commas "
			 "between them",
			 words, (unsigned int)row->most);
	else if (row->kind == OPTS_ALLOC)
		snprintf(text, room,
			 "choose %s, or sampled:BYTES with a size %s", words,
			 range);
	else if (row->kind == OPTS_CPU)
		snprintf(text, room,
			 "give samples a second %s, with ,perf or ,signal "
			 "behind them if you like, auto, or off",
			 range);
	else if (row->kind == OPTS_PERCENT)
		snprintf(text, room,
			 "give a percentage of the program's CPU time of at "
			 "least 0.001 and below 100, such as 5%% or 0.5%%, or "
			 "off");
	else if (row->kind == OPTS_GLOB)
		snprintf(text, room,
			 "give a name or a shell pattern, such as 'parse_*' "
			 "or '@libfoo.so*'");
	else if (row->kind == OPTS_SIGNATURE)
		snprintf(text, room,
			 "give a name or a shell pattern, perhaps with types, "
			 "such as 'parse_*' or 'f(int, str)->int'");
	else if (row->kind == OPTS_CATEGORIES)
		snprintf(text, room,
			 "give globs with commas between them, such as "
			 "'net*,-net.debug', at most %zu characters, no "
			 "control characters",
			 sizeof(((struct categories_shm *)0)->text) - 1);
	else
		snprintf(text, room, "give the name or the number of a user");
	return text;
}
