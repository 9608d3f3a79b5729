/* SPDX-License-Identifier: Apache-2.0
 *
 * opts - the command lines of perfrec-collect, perfrec and its subcommands. The
 * table is opts.def. A command says with opts_parse() what it is, and gets each
 * option with its value checked; --help, --version and every message about a
 * wrong option are made here, in the same words for all commands.
 *
 * For a process of one thread, at its start: getopt_long(3) keeps its state in
 * global variables.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_OPTS_H
#define PERFREC_COLLECTOR_OPTIONS_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses of perfrec itself. */
enum opts_exit { OPTS_OK = 0, OPTS_FAILED = 1, OPTS_WRONG = 2 };

/* What a parser returns instead of an exit status when there is something to
 * do. */
#define OPTS_GO_ON (-1)

enum opts_command {
#define COMMAND(id, ...) CMD_##id,
#define OPTION(id, commands, ...)
#include "collector/options/opts.def"
#undef COMMAND
#undef OPTION
	CMD_COUNT
};

enum opts_id {
#define COMMAND(id, ...)
#define OPTION(id, commands, ...) OPT_##id,
#include "collector/options/opts.def"
#undef COMMAND
#undef OPTION
	OPT_COUNT
};

/* One option as it was given, or as it usually is. */
struct opts_value {
	enum opts_id id;
	const char *name; /* "--depth", or "-o" if that was typed */
	const char *text; /* as given; NULL: the option takes none */
	uint64_t number; /* a count, bytes, or ns; of --alloc bytes, of --cpu
			  * samples a second, of --overhead 1/1000 of a percent,
			  * 0: off; of --counters a mask by index of the words
			  */
	size_t word; /* index of the word in CHOICES; of --cpu the engine */
	bool usual; /* it was not given: this is the default */
};

/*
 * Takes one option of a command. @value and what it points to outlive the call
 * only as far as they are words of the command line or of the table, which
 * @value->name and @value->text always are. Returns OPTS_GO_ON or an exit
 * status, after a message if that is an error.
 */
typedef int opts_take(void *to, const struct opts_value *value);

/*
 * Parses the command line of @command; @argv[0] is its name. Calls @take with
 * @to for each default of the table, and then for each option that is given,
 * in that order. optind is then the first word that is no option.
 *
 * Returns OPTS_GO_ON, or the status to exit with: what @take returned, OPTS_OK
 * after --help and --version, OPTS_WRONG after one line in the log that names
 * the option, what was given, and what is allowed.
 */
int opts_parse(enum opts_command command, int argc, char **argv,
	       opts_take *take, void *to);

/* Says that the value of an option is refused, because of @why ("give ...").
 * Returns OPTS_WRONG. */
int opts_refuse(const struct opts_value *value, const char *why);

/* Whether @text, which is called @name in messages, is allowed as the value of
 * option @id. Returns OPTS_GO_ON, or OPTS_WRONG after one line in the log. */
int opts_check(enum opts_id id, const char *name, const char *text);

/* Whether perfrec record hands the option on to its perfrec-collect. */
bool opts_is_forwarded(enum opts_id id);
/* Whether the value may be missing, and is given as --name=VALUE only. */
bool opts_is_optional(enum opts_id id);

/* The word of CHOICES with the index @word, as for summary.json: "exact". A
 * constant. */
const char *opts_choice(enum opts_id id, size_t word);

/* Whether @word is spelled as a long option of @command that is its own:
 * "--overhead", or "--overhead=5%". */
bool opts_is_spelled(enum opts_command command, const char *word);

/* The index of @text among the words that a command takes as its operand; -1:
 * it is none. */
int opts_find_operand(enum opts_command command, const char *text);

/* "list, pause or stop": the words that a command takes as its operand, in
 * @text, which has room for @room bytes. Returns @text. */
const char *opts_list_operands(enum opts_command command, char *text,
			       size_t room);

/* The same of the words of CHOICES of option @id. */
const char *opts_list_choices(enum opts_id id, char *text, size_t room);

/* The subcommand of perfrec called @name ("record"), or CMD_COUNT. */
enum opts_command opts_find_command(const char *name);

/* Says that perfrec has no subcommand @name. Returns OPTS_WRONG. */
int opts_unknown_command(const char *name);

/* Writes --help of @command to stdout or stderr. */
void opts_print_help(enum opts_command command, FILE *out);

#endif
