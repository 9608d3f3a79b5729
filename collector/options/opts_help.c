/* SPDX-License-Identifier: Apache-2.0
 *
 * --help: two columns, names on the left, and texts of opts.def on the right
 * with the range and the default.
 */
#include <stdio.h>
#include <string.h>

#include "collector/options/opts.h"
#include "collector/options/opts_inner.h"

#define LINE_BYTES 79
#define COLUMN 24 /* where the texts begin */
#define HEAD_BYTES 64

static void break_line(FILE *out)
{
	fprintf(out, "\n%*s", COLUMN, "");
}

/* Writes @text from column @at on, which is COLUMN for a new line. Breaks lines
 * at "\n" and before LINE_BYTES. Returns the column after the last word. */
static int print_wrapped(const char *text, int at, FILE *out)
{
	while (*text) {
		int word = (int)strcspn(text, " \n");
		bool first = at == COLUMN;

		if (!first && at + 1 + word > LINE_BYTES) {
			break_line(out);
			at = COLUMN;
			first = true;
		}
		at += fprintf(out, "%s%.*s", first ? "" : " ", word, text);
		text += word;
		if (*text == '\n') {
			break_line(out);
			at = COLUMN;
		}
		text += strspn(text, " \n");
	}
	return at;
}

/* "(from 1 to 8; default: 4)": the facts about the value of option @id. */
static void format_facts(enum opts_command command, enum opts_id id, char *text,
			 size_t room)
{
	const struct opts_row *row = &opts_rows[id];
	const char *usual =
		row->usually ? row->usually : opts_usual(command, id);
	char range[64];
	bool limited = false;

	/* The range of ALLOC is for the BYTES of "sampled" only. */
	range[0] = '\0';
	if (row->kind != OPTS_ALLOC)
		limited = opts_value_range(id, range, sizeof(range))[0];
	snprintf(text, room, "(%s%s%s%s%s%s", range,
		 limited && (usual || row->repeated) ? "; " : "",
		 usual ? "default: " : "", usual ? usual : "",
		 usual && row->repeated ? "; " : "",
		 row->repeated ? "may be repeated" : "");
	if (text[1])
		strcat(text, ")");
	else
		text[0] = '\0';
}

/* "  -q, --quiet", "  -o DIR" or "      --depth N". */
static void format_head(const struct opts_row *row, char text[HEAD_BYTES])
{
	snprintf(text, HEAD_BYTES, "  %s%s%s%s%s%s",
		 row->letter ? row->letter : "    ",
		 row->letter && row->name ? ", " : "",
		 row->name ? row->name : "",
		 row->optional	 ? "[="
		 : row->argument ? " "
				 : "",
		 row->argument ? row->argument : "", row->optional ? "]" : "");
}

static void print_option_help(enum opts_command command, enum opts_id id,
			      FILE *out)
{
	char head[HEAD_BYTES], facts[OPTS_TEXT_BYTES];
	int at;

	format_head(&opts_rows[id], head);
	fprintf(out, "%-*s", COLUMN, head);
	if (strlen(head) >= COLUMN)
		break_line(out);
	format_facts(command, id, facts, sizeof(facts) - 1);
	at = print_wrapped(opts_rows[id].help, COLUMN, out);
	print_wrapped(facts, at, out);
	putc('\n', out);
}

/* Prints "usage: perfrec ctl [options] list", and a line for each other form.
 * @first precedes the first line, and @others the others. */
static void print_synopsis(const struct opts_command_row *row,
			   const char *first, const char *others, FILE *out)
{
	const char *line = row->synopsis;

	for (const char *front = first; line; front = others) {
		int length = (int)strcspn(line, "\n");

		fprintf(out, "%s%s %.*s\n", front, row->title, length, line);
		line = line[length] ? line + length + 1 : NULL;
	}
}

static void print_commands(FILE *out)
{
	for (size_t i = 0; i < CMD_COUNT; i++) {
		const struct opts_command_row *row = &opts_commands[i];

		if (!row->brief)
			continue;
		print_synopsis(row, "  ", "  ", out);
		fprintf(out, "%*s%s\n", COLUMN, "", row->brief);
	}
}

void opts_print_help(enum opts_command command, FILE *out)
{
	const struct opts_command_row *row = &opts_commands[command];

	print_synopsis(row, "usage: ", "       ", out);
	if (row->about)
		fputs(row->about, out);
	putc('\n', out);
	if (row->operands == OPTS_COMMANDS) {
		print_commands(out);
		putc('\n', out);
	}
	for (size_t i = 0; i < OPT_COUNT; i++)
		if (opts_has(command, i) && opts_rows[i].help)
			print_option_help(command, (enum opts_id)i, out);
	if (row->notes)
		fprintf(out, "\n%s", row->notes);
}
