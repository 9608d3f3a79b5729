/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines, by getopt_long(3) and with its rule for abbreviations: a part
 * of a long name is enough if it starts only one name. getopt_long()
 * returns '?' for four different mistakes, so this file examines the option
 * again to name the mistake.
 */
#include "collector/options/opts.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/names/call_signature.h"
#include "collector/options/opts_inner.h"
#include "collector/options/spelling.h"
#include "collector/options/trigger.h"

/* getopt_long() returns this plus the index for a long name, and letters below
 * it. */
#define LONG_BASE 256

struct opts_line {
	enum opts_command command;
	const char *title; /* "perfrec record" */
	char **argv;
	opts_take *take;
	void *to;
};

/* --- getopt's tables ----------------------------------------------------- */

static void make_longs(enum opts_command command,
		       struct option longs[OPT_COUNT + 1])
{
	struct option *to = longs;

	for (int i = 0; i < OPT_COUNT; i++) {
		const struct opts_row *row = &opts_rows[i];

		if (row->name && opts_has(command, (size_t)i))
			*to++ = (struct option){
				.name = row->name + strlen("--"),
				.has_arg = row->optional   ? optional_argument
					   : row->argument ? required_argument
							   : no_argument,
				.val = LONG_BASE + i,
			};
	}
	*to = (struct option){ 0 };
}

#define HELP_LETTER 'h' /* as --help; in no table, so in no list */
#define LETTERS_BYTES (2 * OPT_COUNT + 4)

/* '+': options end at the first other word. ':': getopt_long() distinguishes a
 * missing value from an unknown option, and prints nothing. */
static void make_letters(enum opts_command command, char letters[LETTERS_BYTES])
{
	enum opts_operands operands = opts_commands[command].operands;
	char *to = letters;

	if (operands == OPTS_NONE || operands == OPTS_COMMANDS ||
	    operands == OPTS_PROGRAM)
		*to++ = '+';
	*to++ = ':';
	*to++ = HELP_LETTER;
	for (size_t i = 0; i < OPT_COUNT; i++) {
		const struct opts_row *row = &opts_rows[i];

		if (!row->letter || !opts_has(command, i))
			continue;
		*to++ = row->letter[1];
		if (row->argument)
			*to++ = ':';
	}
	*to = '\0';
}

static struct opts_value find_option(enum opts_command command, int c)
{
	size_t id = 0;

	if (c >= LONG_BASE)
		return (struct opts_value){
			.id = (enum opts_id)(c - LONG_BASE),
			.name = opts_rows[c - LONG_BASE].name,
		};
	if (c == HELP_LETTER)
		return (struct opts_value){ .id = OPT_HELP, .name = "-h" };
	while (!opts_has(command, id) || !opts_rows[id].letter ||
	       opts_rows[id].letter[1] != c)
		id++;
	return (struct opts_value){ .id = (enum opts_id)id,
				    .name = opts_rows[id].letter };
}

/* --- errors -------------------------------------------------------------- */

int opts_refuse(const struct opts_value *value, const char *why)
{
	log_err("%s '%.200s': %s", value->name, value->text, why);
	return OPTS_WRONG;
}

static size_t find_names(enum opts_command command, const char *word,
			 size_t length, const char *names[OPT_COUNT])
{
	size_t count = 0;

	for (size_t i = 0; i < OPT_COUNT; i++)
		if (opts_has(command, i) && opts_rows[i].name &&
		    !strncmp(opts_rows[i].name, word, length))
			names[count++] = opts_rows[i].name;
	return count;
}

/* getopt_long() has returned @c, ':' or '?'. It has put the option into optopt,
 * or 0 for an unknown long name. */
static int say_wrong(const struct opts_line *line, int c)
{
	const char *word = line->argv[optind - 1];
	struct opts_value value;
	char want[OPTS_TEXT_BYTES];

	if (c == '?' && !optopt) {
		size_t length = strcspn(word, "=");
		const char *names[OPT_COUNT], *meant;
		size_t count = find_names(line->command, word, length, names);
		char list[OPTS_TEXT_BYTES];

		if (count) {
			log_err("option '%.200s' is ambiguous: choose %s; see "
				"%s --help",
				word,
				opts_list(names, count, list, sizeof(list)),
				line->title);
			return OPTS_WRONG;
		}
		count = find_names(line->command, "", 0, names);
		meant = spelling_nearest(word, length, names, count);
		if (meant)
			log_err("unknown option '%.200s' (did you mean '%s'?); "
				"see %s --help",
				word, meant, line->title);
		else
			log_err("unknown option '%.200s'; see %s --help", word,
				line->title);
		return OPTS_WRONG;
	}
	if (c == '?' && optopt < LONG_BASE) {
		const char *stray = opts_commands[line->command].stray;
		char letter = (char)optopt;

		if (stray && letter > ' ' && letter <= '~')
			log_err("unknown option '-%c'; %s", letter, stray);
		else
			log_err("unknown option '-%c'; see %s --help", letter,
				line->title);
		return OPTS_WRONG;
	}
	value = find_option(line->command, optopt);
	if (c == '?') {
		log_err("option '%s' takes no value, but '%.200s' was given; "
			"see %s --help",
			value.name, strchr(word, '=') + 1, line->title);
		return OPTS_WRONG;
	}
	log_err("option '%s' needs a value: %s; see %s --help", value.name,
		opts_value_want(value.id, want, sizeof(want)), line->title);
	return OPTS_WRONG;
}

int opts_unknown_command(const char *name)
{
	const char *names[CMD_COUNT] = { NULL };
	const char *meant;

	for (int i = 0; i < CMD_COUNT; i++) {
		const char *blank = strchr(opts_commands[i].title, ' ');

		names[i] = blank ? blank + 1 : NULL;
	}
	meant = spelling_nearest(name, strlen(name), names, CMD_COUNT);
	if (meant)
		log_err("unknown command '%.200s' (did you mean '%s'?); see "
			"perfrec --help",
			name, meant);
	else
		log_err("unknown command '%.200s'; see perfrec --help", name);
	return OPTS_WRONG;
}

/* --- options and their values -------------------------------------------- */

static int check_signature(const struct opts_value *value)
{
	char why[CALL_SIGNATURE_WHY_BYTES] = "out of memory";
	struct call_signature signature;

	if (!call_signature_parse(value->text, &signature, why)) {
		call_signature_release(&signature);
		return OPTS_GO_ON;
	}
	log_err("%s '%.200s': %s", value->name, value->text, why);
	return OPTS_WRONG;
}

static int read_value(struct opts_value *value)
{
	char want[OPTS_TEXT_BYTES];

	if (value->text && value->text[0] &&
	    opts_rows[value->id].kind == OPTS_SIGNATURE)
		return check_signature(value);

	if (value->text && value->text[0] &&
	    opts_rows[value->id].kind == OPTS_TRIGGER) {
		struct expression_error error;
		struct trigger trigger;

		/* Shows the place of the error. */
		if (!trigger_parse(value->text, &trigger, &error))
			return OPTS_GO_ON;
		expression_complain(value->name, value->text, &error);
		return OPTS_WRONG;
	}
	if (!value->text || opts_value_read(value))
		return OPTS_GO_ON;
	return opts_refuse(value,
			   opts_value_want(value->id, want, sizeof(want)));
}

int opts_check(enum opts_id id, const char *name, const char *text)
{
	struct opts_value value = { .id = id, .name = name, .text = text };

	return read_value(&value);
}

static int take_option_value(const struct opts_line *line,
			     struct opts_value *value)
{
	int result = read_value(value);

	return result == OPTS_GO_ON ? line->take(line->to, value) : result;
}

static int take_usual_values(const struct opts_line *line)
{
	int result = OPTS_GO_ON;

	for (size_t i = 0; i < OPT_COUNT && result == OPTS_GO_ON; i++) {
		const struct opts_row *row = &opts_rows[i];
		struct opts_value value = {
			.id = (enum opts_id)i,
			.name = row->name ? row->name : row->letter,
			.text = opts_usual(line->command, i),
			.usual = true,
		};

		if (opts_has(line->command, i) && value.text)
			result = take_option_value(line, &value);
	}
	return result;
}

static int take_given(const struct opts_line *line, int c)
{
	struct opts_value value;

	if (c == '?' || c == ':')
		return say_wrong(line, c);
	value = find_option(line->command, c);
	value.text = opts_rows[value.id].argument ? optarg : NULL;
	/* A word with "://" is no option and no program: the value. */
	if (value.id == OPT_PUSH && !value.text && line->argv[optind] &&
	    strstr(line->argv[optind], "://"))
		value.text = line->argv[optind++];
	value.next = value.text ? NULL : line->argv[optind];
	switch (value.id) {
	case OPT_HELP:
		opts_print_help(line->command, stdout);
		return text_out_finish() ? OPTS_FAILED : OPTS_OK;
	case OPT_VERSION:
		printf("%.*s " PERFREC_VERSION "\n",
		       (int)strcspn(line->title, " "), line->title);
		return text_out_finish() ? OPTS_FAILED : OPTS_OK;
	default:
		return take_option_value(line, &value);
	}
}

bool opts_is_spelled(enum opts_command command, const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < OPT_COUNT; i++) {
		const char *name = opts_rows[i].name;

		if (i != OPT_HELP && i != OPT_VERSION && name &&
		    opts_has(command, i) && strlen(name) == length &&
		    !strncmp(name, word, length))
			return true;
	}
	return false;
}

int opts_parse(enum opts_command command, int argc, char **argv,
	       opts_take *take, void *to)
{
	const struct opts_line line = {
		.command = command,
		.title = opts_commands[command].title,
		.argv = argv,
		.take = take,
		.to = to,
	};
	struct option longs[OPT_COUNT + 1];
	char letters[LETTERS_BYTES];
	int result = take_usual_values(&line), c;

	make_longs(command, longs);
	make_letters(command, letters);
	optind = 0; /* glibc: forget the line before, perfrec's own */
	while (result == OPTS_GO_ON &&
	       (c = getopt_long(argc, argv, letters, longs, NULL)) != -1)
		result = take_given(&line, c);
	return result;
}
