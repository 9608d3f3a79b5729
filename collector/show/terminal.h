/* SPDX-License-Identifier: Apache-2.0
 *
 * terminal - width and colours of the output:
 *
 *   terminal     its width; colours, unless NO_COLOR is set and not empty or
 *                TERM is "dumb"
 *   otherwise    the width COLUMNS, or unlimited; no colours
 */
#ifndef PERFREC_COLLECTOR_SHOW_TERMINAL_H
#define PERFREC_COLLECTOR_SHOW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct terminal {
	size_t columns; /* 0: unlimited */
	bool colours;
};

/* Any thread, if no thread changes the environment. */
struct terminal terminal_of(FILE *out);

enum terminal_style {
	STYLE_PLAIN, /* ends the others */
	STYLE_TITLE,
	STYLE_FAINT,
	STYLE_LOSS, /* missing data and worse */
	STYLE_MORE, /* of a difference */
	STYLE_LESS,
};

/* Writes the escape sequence of @style, or nothing without colours. */
void terminal_style(const struct terminal *terminal, enum terminal_style style,
		    FILE *out);

/* Returns the width of the UTF-8 @text: 2 for wide characters, 0 for combining
 * ones. */
size_t terminal_width(const char *text);

/* Writes UTF-8 @text without control characters to @out. Replaces its middle by
 * "…" if it is wider than @columns (0: unlimited). Returns the width. */
size_t terminal_put(const char *text, size_t columns, FILE *out);

/* Writes lines of UTF-8 @text to @out, without control characters except those
 * of terminal_style(). Wraps lines at the width of @terminal with @indent
 * blanks, but never inside words. */
void terminal_wrap(const struct terminal *terminal, const char *text,
		   size_t indent, FILE *out);

#endif
