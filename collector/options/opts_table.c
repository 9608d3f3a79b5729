/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of opts.def. Each word after ID and IN_command is a macro of this
 * file, which sets a field of the row.
 */
#include <string.h>

#include "collector/options/limits.h"
#include "collector/options/opts_inner.h"

#define TITLE(text) .title = text
#define SYNOPSIS(lines) .synopsis = lines
#define BRIEF(text) .brief = text
#define ABOUT(text) .about = text
#define NOTES(text) .notes = text
#define OPERANDS(what) .operands = OPTS_##what
#define CHOICES(...) .choices = { __VA_ARGS__ }
#define STRAY(text) .stray = text

#define LETTER(text) .letter = text
#define LONG(text) .name = text
#define VALUE(word, what) .argument = word, .kind = OPTS_##what
#define RANGE(from, to) .least = from, .most = to
#define AT_LEAST(from) .least = from
#define WANT(text) .want = text
#define USUAL(text) .usual = text
#define USUAL_RECORD(text) .usual_record = text
#define USUAL_BYTES(text) .usual_bytes = text
#define USUALLY(text) .usually = text
#define OPTIONAL .optional = true
#define REPEATED .repeated = true
#define FORWARDED .forwarded = true
#define HELP(text) .help = text

const struct opts_command_row opts_commands[CMD_COUNT] = {
#define COMMAND(id, ...) [CMD_##id] = { __VA_ARGS__ },
#define OPTION(id, in, ...)
#include "collector/options/opts.def"
#undef COMMAND
#undef OPTION
};

const struct opts_row opts_rows[OPT_COUNT] = {
#define COMMAND(id, ...)
#define OPTION(id, in, ...) [OPT_##id] = { .commands = in, __VA_ARGS__ },
#include "collector/options/opts.def"
#undef COMMAND
#undef OPTION
};

bool opts_has(enum opts_command command, size_t id)
{
	return opts_rows[id].commands & (1u << command);
}

const char *opts_usual(enum opts_command command, size_t id)
{
	const struct opts_row *row = &opts_rows[id];

	if (command == CMD_RECORD && row->usual_record)
		return row->usual_record;
	return row->usual;
}

bool opts_is_optional(enum opts_id id)
{
	return opts_rows[id].optional;
}

bool opts_is_forwarded(enum opts_id id)
{
	return opts_rows[id].forwarded;
}

size_t opts_count_choices(const char *const *choices)
{
	size_t count = 0;

	while (choices[count])
		count++;
	return count;
}

int opts_find_choice(const char *const *choices, const char *text,
		     size_t length)
{
	for (int i = 0; choices[i]; i++)
		if (strlen(choices[i]) == length &&
		    !memcmp(choices[i], text, length))
			return i;
	return -1;
}

const char *opts_choice(enum opts_id id, size_t word)
{
	return opts_rows[id].choices[word];
}

int opts_find_operand(enum opts_command command, const char *text)
{
	return opts_find_choice(opts_commands[command].choices, text,
				strlen(text));
}

const char *opts_list_choices(enum opts_id id, char *text, size_t room)
{
	const char *const *choices = opts_rows[id].choices;

	return opts_list(choices, opts_count_choices(choices), text, room);
}

const char *opts_list_operands(enum opts_command command, char *text,
			       size_t room)
{
	const char *const *choices = opts_commands[command].choices;

	return opts_list(choices, opts_count_choices(choices), text, room);
}

enum opts_command opts_find_command(const char *name)
{
	for (int i = 0; i < CMD_COUNT; i++) {
		const char *blank = strchr(opts_commands[i].title, ' ');

		if (blank && !strcmp(blank + 1, name))
			return (enum opts_command)i;
	}
	return CMD_COUNT;
}
