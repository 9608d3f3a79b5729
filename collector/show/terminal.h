/* SPDX-License-Identifier: Apache-2.0
 *
 * terminal - how wide what is shown may be, and whether it may have colours.
 *
 *   a terminal   as wide as it is; colours, unless NO_COLOR is set (to anything
 *                but nothing) or TERM is "dumb"
 *   else         as wide as COLUMNS says; without COLUMNS as wide as it gets;
 * no colours
 */
#ifndef PERFREC_COLLECTOR_SHOW_TERMINAL_H
#define PERFREC_COLLECTOR_SHOW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct terminal {
	size_t columns; /* 0: lines may have any length */
	bool colours;
};

/* What @out is. Any thread, as long as none changes the environment. */
struct terminal terminal_of(FILE *out);

enum terminal_style {
	STYLE_PLAIN, /* ends the others */
	STYLE_TITLE,
	STYLE_FAINT,
	STYLE_LOSS, /* something is missing, or worse */
	STYLE_MORE, /* of a difference */
	STYLE_LESS,
};

/* Writes to @out what begins @style, or nothing on what has no colours. */
void terminal_style(const struct terminal *terminal, enum terminal_style style,
		    FILE *out);

/* How many columns @text takes, which is UTF-8: two for wide characters, none
 * for those that combine with the one before. */
size_t terminal_width(const char *text);

/* Writes @text, which is UTF-8 without control characters, to @out, with "…" in
 * place of its middle if it has more than @columns (0: any number). Returns how
 * many columns were written. */
size_t terminal_put(const char *text, size_t columns, FILE *out);

/* Writes @text to @out: lines, of UTF-8 without control characters but those of
 * terminal_style(). What has no room in @terminal goes on in a next line,
 * behind
 * @indent blanks; a word is never cut. */
void terminal_wrap(const struct terminal *terminal, const char *text,
		   size_t indent, FILE *out);

#endif
