/* SPDX-License-Identifier: Apache-2.0
 *
 * opts - the command lines of perfrec-collect, perfrec and its subcommands. The
 * table is opts.def. A command calls opts_parse(), which checks the value of
 * each option. All commands share --help, --version and the messages about
 * wrong options.
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

/* The result of a parser if the command is to run; otherwise it returns an exit
 * status. */
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

/* One option from the command line, or a default of the table. */
struct opts_value {
	enum opts_id id;
	const char *name; /* "--depth", or "-o" if that was typed */
	const char *text; /* as given; NULL: the option takes none */
	const char
		*next; /* text is NULL: the next word, for messages; or NULL */
	uint64_t number; /* a count, bytes, or ns; of --alloc bytes, of --cpu
			  * samples a second, of --overhead 1/1000 of a percent,
			  * 0: off; of --counters a mask by index of the words
			  */
	size_t word; /* index of the word in CHOICES; of --cpu the engine */
	bool usual; /* it was not given: this is the default */
};

/*
 * Takes one option of a command. @value->name and @value->text are words of the
 * command line or of the table, and outlive the call; *@value does not. Returns
 * OPTS_GO_ON, or an exit status, after a message if that is an error.
 */
typedef int opts_take(void *to, const struct opts_value *value);

/*
 * Parses the command line of @command; @argv[0] is its name. Calls @take with
 * @to for each default of the table, then for each option of the command line,
 * in that order. Sets optind to the first word that is no option.
 *
 * Returns OPTS_GO_ON, or the status to exit with: the result of @take, OPTS_OK
 * after --help and --version, OPTS_WRONG after one line in the log that names
 * the option, its value and the allowed values.
 */
int opts_parse(enum opts_command command, int argc, char **argv,
	       opts_take *take, void *to);

/* Says that the value of an option is refused, because of @why ("give ...").
 * Returns OPTS_WRONG. */
int opts_refuse(const struct opts_value *value, const char *why);

/* Checks @text as a value of option @id; messages call it @name. Returns
 * OPTS_GO_ON, or OPTS_WRONG after one line in the log. */
int opts_check(enum opts_id id, const char *name, const char *text);

/* Returns true if perfrec record forwards the option to its perfrec-collect. */
bool opts_is_forwarded(enum opts_id id);
/* Returns true if the value may be missing; it then follows "=" only. */
bool opts_is_optional(enum opts_id id);

/* Returns the word of CHOICES with the index @word: "exact". A constant. */
const char *opts_choice(enum opts_id id, size_t word);

/* Returns true if @word is a full long option of @command: "--overhead", or
 * "--overhead=5%". */
bool opts_is_spelled(enum opts_command command, const char *word);

/* Returns the index of @text among the operands of a command, or -1. */
int opts_find_operand(enum opts_command command, const char *text);

/* Writes the operands of a command to @text, of @room bytes: "list, pause or
 * stop". Returns @text. */
const char *opts_list_operands(enum opts_command command, char *text,
			       size_t room);

/* The same for the CHOICES of option @id. */
const char *opts_list_choices(enum opts_id id, char *text, size_t room);

/* Returns the subcommand of perfrec with the name @name ("record"), or
 * CMD_COUNT. */
enum opts_command opts_find_command(const char *name);

/* Says that perfrec has no subcommand @name. Returns OPTS_WRONG. */
int opts_unknown_command(const char *name);

/* Writes --help of @command to stdout or stderr. */
void opts_print_help(enum opts_command command, FILE *out);

#endif
