/* SPDX-License-Identifier: Apache-2.0
 *
 * opts_inner - the rows of opts.def, for the files that are module opts:
 * opts.c (command lines), opts_table.c (the rows), opts_value.c (values),
 * opts_help.c (--help) and opts_dump_main.c (build/options.tsv).
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_OPTS_INNER_H
#define PERFREC_COLLECTOR_OPTIONS_OPTS_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/options/opts.h"

/* Bits of the commands that have an option. */
enum opts_in {
#define COMMAND(id, ...) IN_##id = 1 << CMD_##id,
#define OPTION(id, commands, ...)
#include "collector/options/opts.def"
#undef COMMAND
#undef OPTION
};

#define IN_ALL UINT32_MAX /* commands */

enum opts_kind {
	OPTS_FLAG, /* there is none */
	OPTS_NUMBER,
	OPTS_SIZE, /* bytes: "64K" */
	OPTS_TIME, /* ns: "500ms" */
	OPTS_DURATION, /* ns, short ones too: "1.5us" */
	OPTS_WORD, /* one of CHOICES */
	OPTS_SOME, /* some of CHOICES, with commas between them; RANGE: how many
		    */
	OPTS_KEY, /* some of CHOICES, the command knows which */
	OPTS_FOLDER,
	OPTS_FILE,
	OPTS_TEXT,
	OPTS_GLOB, /* of --filter and --exclude */
	OPTS_CATEGORIES,
	OPTS_ALLOC, /* one of CHOICES, or "sampled:BYTES" */
	OPTS_CPU, /* "off", or a count and maybe one of CHOICES */
	OPTS_PERCENT, /* "5%", "2.5" or "off" */
	OPTS_KEEP, /* one of CHOICES, with number 0; or ns: "30s" */
	OPTS_USER, /* the command looks it up */
	OPTS_SIGNATURE, /* opts.c has it read by call_signature.h */
	OPTS_TRIGGER, /* opts.c has it read by trigger.h */
};

/* The words after the options of a command. */
enum opts_operands {
	OPTS_NONE,
	OPTS_COMMANDS, /* a command of perfrec */
	OPTS_WORDS, /* one of CHOICES, then anything */
	OPTS_TARGET, /* a program that is being recorded, or nothing */
	OPTS_DIRECTORY, /* one folder, wherever it stands among the options */
	OPTS_RECORDING, /* the same, of a recording */
	OPTS_RECORDINGS, /* several of these */
	OPTS_FUNCTION, /* a function, and one of these */
	OPTS_PROGRAM, /* a command line, with options of its own */
};

#define OPTS_CHOICES_MAX 32

struct opts_command_row {
	const char *title; /* "perfrec record" */
	const char *synopsis; /* of --help, a line each way */
	const char *brief; /* NULL: not listed */
	const char *about, *notes; /* of --help; NULL: none */
	enum opts_operands operands;
	const char *choices[OPTS_CHOICES_MAX + 1]; /* of OPTS_WORDS */
	const char *stray; /* for a letter that is no option; or NULL */
};

struct opts_row {
	uint32_t commands; /* enum opts_in */
	enum opts_kind kind;
	const char *letter; /* "-o"; NULL: it has none */
	const char *name; /* "--output"; NULL: it has none */
	const char *argument; /* "DIR"; NULL: it takes no value */
	uint64_t least, most; /* most 0: no limit */
	const char *choices[OPTS_CHOICES_MAX + 1];
	const char *want; /* "the name of a folder" */
	const char *usual, *usual_record, *usual_bytes; /* values */
	const char *usually; /* for people */
	bool optional; /* the value, which then stands behind "=" */
	bool repeated, forwarded;
	const char *help;
};

extern const struct opts_command_row opts_commands[CMD_COUNT];
extern const struct opts_row opts_rows[OPT_COUNT];

bool opts_has(enum opts_command command, size_t id);
/* Returns the default value of option @id in @command; NULL: it has none. */
const char *opts_usual(enum opts_command command, size_t id);

/* Returns the number of words in @choices, before the NULL at its end. */
size_t opts_count_choices(const char *const *choices);
/* Returns the index of @text, @length bytes long, in @choices, or -1. */
int opts_find_choice(const char *const *choices, const char *text,
		     size_t length);

/*
 * Reads the text of a value of option @value->id: sets @value->number and
 * @value->word if its kind has them. Returns true if it is allowed.
 */
bool opts_value_read(struct opts_value *value);
/* Writes the advice for option @id, "give a number from 1 to 8", to @text, of
 * @room bytes; OPTS_TEXT_BYTES are enough. Returns @text. */
#define OPTS_TEXT_BYTES 256
const char *opts_value_want(enum opts_id id, char *text, size_t room);
/* Writes the limits of option @id to @text, of @room bytes: "from 1 to 8", "at
 * least 256K"; "" if it has none that matter to people. Returns @text. */
const char *opts_value_range(enum opts_id id, char *text, size_t room);
/* Writes @count words to @text, of @room bytes: "a, b or c". Returns @text. */
const char *opts_list(const char *const *words, size_t count, char *text,
		      size_t room);

#endif
