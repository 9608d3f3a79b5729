/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes opts.def as a table for scripts, which is build/options.tsv. The build
 * runs this program; it is not installed. Tabs separate the fields of a line,
 * and each field may be empty:
 *
 *   command TITLE OPERANDS CHOICES BRIEF
 *   option  TITLE LETTER LONG ARGUMENT COMPLETE CHOICES RANGE DEFAULT BYTES
 * BRIEF
 *
 * CHOICES are words with blanks between them. COMPLETE names the completions of
 * the value in a shell: nothing (there is no value), any, words, folder, file,
 * user or function. DEFAULT is a text for people; BYTES is that of --alloc
 * sampled.
 */
#include <stdio.h>
#include <string.h>

#include "collector/options/limits.h"
#include "collector/options/opts_inner.h"

static void print_choices(const char *const *choices)
{
	for (size_t i = 0; choices[i]; i++)
		printf("%s%s", i ? " " : "", choices[i]);
}

static const char *complete_name(const struct opts_row *row)
{
	switch (row->kind) {
	case OPTS_FLAG:
		return "";
	case OPTS_WORD:
	case OPTS_SOME:
	case OPTS_KEY:
	case OPTS_ALLOC:
	case OPTS_KEEP:
	case OPTS_CPU:
		return "words";
	case OPTS_FOLDER:
		return "folder";
	case OPTS_FILE:
		return "file";
	case OPTS_USER:
		return "user";
	case OPTS_GLOB:
	case OPTS_SIGNATURE:
		return "function";
	default:
		return "any";
	}
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static void print_option(enum opts_command command, enum opts_id id)
{
	const struct opts_row *row = &opts_rows[id];
	const char *usual =
		row->usually ? row->usually : opts_usual(command, id);
	char range[64];
	size_t length;

	printf("option\t%s\t%s\t%s\t%s\t%s\t", opts_commands[command].title,
	       or_empty(row->letter), or_empty(row->name),
	       row->optional ? "" : or_empty(row->argument),
	       row->optional ? "" : complete_name(row));
	if (row->kind == OPTS_CPU) {
		printf("off %s %u", row->usual_record, CPU_HZ_USUAL);
		for (size_t i = 0; row->choices[i]; i++)
			printf(" %u,%s", CPU_HZ_USUAL, row->choices[i]);
	} else
		print_choices(row->choices);
	printf("\t%s\t%s\t%s\t%s\t", opts_value_range(id, range, sizeof(range)),
	       or_empty(usual), or_empty(row->usual_bytes),
	       row->repeated ? "repeated" : "");
	length = strcspn(row->help, ":;(.");
	while (length && row->help[length - 1] == ' ')
		length--;
	printf("%.*s\n", (int)length, row->help);
}

int main(void)
{
	for (int command = 0; command < CMD_COUNT; command++) {
		static const char *const operands[] = {
			[OPTS_NONE] = "none",
			[OPTS_COMMANDS] = "commands",
			[OPTS_WORDS] = "words",
			[OPTS_TARGET] = "target",
			[OPTS_DIRECTORY] = "directory",
			[OPTS_RECORDING] = "recording",
			[OPTS_RECORDINGS] = "recordings",
			[OPTS_FUNCTION] = "function",
			[OPTS_PROGRAM] = "program",
		};
		const struct opts_command_row *row = &opts_commands[command];

		printf("command\t%s\t%s\t", row->title,
		       operands[row->operands]);
		print_choices(row->choices);
		printf("\t%s\n", or_empty(row->brief));
		for (size_t id = 0; id < OPT_COUNT; id++)
			if (opts_has((enum opts_command)command, id) &&
			    opts_rows[id].help)
				print_option((enum opts_command)command,
					     (enum opts_id)id);
	}
	return fflush(stdout) || ferror(stdout);
}
