/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/base/utf8.h"
#include "shared/compiler.h"

#define COLUMNS_USUAL 80
#define COLUMNS_MAX 10000

#define ELLIPSIS "\xe2\x80\xa6"

static size_t columns_of_environment(void)
{
	const char *text = getenv("COLUMNS");
	char *end;
	long columns;

	if (!text || !*text)
		return 0;
	columns = strtol(text, &end, 10);
	return *end || columns < 1 || columns > COLUMNS_MAX ? 0
							    : (size_t)columns;
}

struct terminal terminal_of(FILE *out)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	int fd = fileno(out);
	struct terminal terminal = { 0 };
	struct winsize size;
	size_t columns;

	if (fd < 0 || !isatty(fd)) {
		terminal.columns = columns_of_environment();
		return terminal;
	}
	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col) {
		terminal.columns = size.ws_col;
	} else {
		columns = columns_of_environment();
		terminal.columns = columns ? columns : COLUMNS_USUAL;
	}
	terminal.colours = !(no_colour && *no_colour) && term && *term &&
			   strcmp(term, "dumb") != 0;
	return terminal;
}

void terminal_style(const struct terminal *terminal, enum terminal_style style,
		    FILE *out)
{
	static const char *const codes[] = {
		[STYLE_PLAIN] = "0", [STYLE_TITLE] = "1", [STYLE_FAINT] = "2",
		[STYLE_LOSS] = "33", [STYLE_MORE] = "31", [STYLE_LESS] = "32",
	};

	if (terminal->colours)
		fprintf(out, "\033[%sm", codes[style]);
}

static size_t pass_character(const char **text)
{
	size_t length = utf8_length(*text, strnlen(*text, UTF8_BYTES_MAX));
	uint32_t point;
	/* Combining characters have no width; East Asian scripts and emoji are
	 * wide. */
	static const struct {
		uint32_t first, last;
		size_t columns;
	} ranges[] = {
		{ 0x300, 0x36f, 0 },	 { 0x1100, 0x115f, 2 },
		{ 0x2e80, 0x303e, 2 },	 { 0x3041, 0xa4cf, 2 },
		{ 0xac00, 0xd7a3, 2 },	 { 0xf900, 0xfaff, 2 },
		{ 0xfe20, 0xfe2f, 0 },	 { 0xfe30, 0xfe6f, 2 },
		{ 0xff00, 0xff60, 2 },	 { 0xffe0, 0xffe6, 2 },
		{ 0x1f300, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
	};

	if (!length) {
		(*text)++;
		return 1;
	}
	point = utf8_point(*text, length);
	*text += length;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (point >= ranges[i].first && point <= ranges[i].last)
			return ranges[i].columns;
	return 1;
}

size_t terminal_width(const char *text)
{
	size_t width = 0;

	while (*text)
		width += pass_character(&text);
	return width;
}

/* Writes the characters of *@text that fit in @columns. Returns their width. */
static size_t put_text_head(const char *text, size_t columns, FILE *out)
{
	const char *end = text, *next = text;
	size_t used = 0;

	while (*next) {
		size_t width = pass_character(&next);

		if (used + width > columns)
			break;
		used += width;
		end = next;
	}
	fwrite(text, 1, (size_t)(end - text), out);
	return used;
}

size_t terminal_put(const char *text, size_t columns, FILE *out)
{
	size_t width = terminal_width(text), head, tail, used;

	if (!columns || width <= columns) {
		fputs(text, out);
		return width;
	}
	/* The end of a name is more specific than its start. */
	head = (columns - 1) / 3;
	tail = columns - 1 - head;
	used = put_text_head(text, head, out) + 1;
	fputs(ELLIPSIS, out);
	while (width > tail)
		width -= pass_character(&text);
	fputs(text, out);
	return used + width;
}

void terminal_wrap(const struct terminal *terminal, const char *text,
		   size_t indent, FILE *out)
{
	size_t used = 0; /* of the current line */

	while (*text) {
		size_t blanks = strspn(text, " ");
		size_t length = blanks + strcspn(text + blanks, " \n");
		const char *end = text + length, *next = text;
		size_t width = 0;

		/* Escape sequences of styles have no width. */
		while (next < end) {
			if (*next != '\033')
				width += pass_character(&next);
			else
				while (next < end && *next++ != 'm') {
				}
		}
		if (terminal->columns && used > indent && length > blanks &&
		    used + width > terminal->columns) {
			fprintf(out, "\n%*s", (int)indent, "");
			used = indent;
			text += blanks;
			length -= blanks;
			width -= blanks;
		}
		fwrite(text, 1, length, out);
		text += length;
		used += width;
		if (*text == '\n') {
			fputc(*text++, out);
			used = 0;
		}
	}
}
