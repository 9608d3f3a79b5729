/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/page/page_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/utf8.h"
#include "collector/show/source_text.h"
#include "shared/compiler.h"

#define AROUND 4
#define LINES_MAX 20000
#define FILE_BYTES_MAX (8 << 20)
#define LINE_BYTES_MAX 400

/* The content of a source file, with a final NUL. */
struct source {
	char *text, *at;
	uint32_t line; /* the line at @at */
};

static void open_source(const char *path, struct source *out)
{
	struct stat stat;
	ssize_t got = 0;
	int fd = source_text_open(path);

	*out = (struct source){ 0 };
	if (fd < 0)
		return;
	if (!fstat(fd, &stat) && stat.st_size <= FILE_BYTES_MAX)
		out->text = malloc((size_t)stat.st_size + 1);
	if (out->text)
		got = read(fd, out->text, (size_t)stat.st_size);
	close(fd);
	if (out->text)
		out->text[MAX(got, 0)] = '\0';
	out->at = out->text;
	out->line = 1;
}

/* Sets @out to line @line, or "" if it does not exist. Lines must be requested
 * in ascending order. */
static void get_line(struct source *source, uint32_t line,
		     char out[LINE_BYTES_MAX + 1])
{
	size_t bytes;

	out[0] = '\0';
	if (!source->text)
		return;
	while (source->line < line && *source->at) {
		source->at += strcspn(source->at, "\n");
		source->at += *source->at == '\n';
		source->line++;
	}
	if (source->line != line)
		return;
	bytes = MIN(strcspn(source->at, "\r\n"), (size_t)LINE_BYTES_MAX);
	utf8_copy(out, source->at, bytes);
	out[bytes] = '\0';
}

/* --- selection of lines --- */

struct lines {
	struct page_line *list;
	size_t count, room;
};

static int compare_lines(const void *a, const void *b)
{
	const struct page_line *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int gather_lines(const struct page_data *data, struct lines *out)
{
	const struct page_line *lines = data->lines.items;
	int err = 0;

	for (uint32_t i = 0; i < data->lines.count && !err; i++) {
		const struct page_line *line = &lines[i];
		uint32_t first = line->line > AROUND ? line->line - AROUND : 1;
		uint32_t last = line->line < UINT32_MAX - AROUND
					? line->line + AROUND
					: line->line;

		if (out->count + 2 * AROUND + 1 > 10 * LINES_MAX)
			break;
		for (uint32_t at = first; at <= last && !err; at++) {
			struct page_line around = { .file = line->file,
						    .line = at };

			err = grow_array(out->list, out->room, out->count + 1);
			if (!err)
				out->list[out->count++] =
					at == line->line ? *line : around;
		}
	}
	return err;
}

/* --- columns --- */

static bool has_amount(const struct page_line *line)
{
	for (int key = 0; key < PAGE_KEYS; key++)
		if (line->amount[key])
			return true;
	return false;
}

/* Reads the texts of the lines, and drops neighbours without text. */
static int read_lines(struct page_data *data, struct lines *lines,
		      uint32_t *texts)
{
	char text[LINE_BYTES_MAX + 1];
	struct source source = { 0 };
	uint32_t file = 0;
	size_t kept = 0;

	for (size_t i = 0; i < lines->count; i++) {
		const struct page_line *line = &lines->list[i];

		if (line->file != file) {
			free(source.text);
			file = line->file;
			open_source(trace_texts_get(&data->texts, file),
				    &source);
		}
		get_line(&source, line->line, text);
		if (!source.text && !has_amount(line))
			continue;
		texts[kept] = page_data_text(data, text);
		lines->list[kept++] = *line;
	}
	free(source.text);
	lines->count = kept;
	return 0;
}

int page_source_put(struct page_data *data, struct page_columns *columns)
{
	struct lines lines = { 0 };
	uint32_t *texts;
	int err = gather_lines(data, &lines);
	size_t kept = 0;

	if (lines.count)
		qsort(lines.list, lines.count, sizeof(*lines.list),
		      compare_lines);
	for (size_t i = 0; i < lines.count; i++) {
		struct page_line *to = &lines.list[kept ? kept - 1 : 0];

		if (!kept || compare_lines(to, &lines.list[i])) {
			lines.list[kept++] = lines.list[i];
			continue;
		}
		for (int key = 0; key < PAGE_KEYS; key++)
			to->amount[key] += lines.list[i].amount[key];
	}
	lines.count = MIN(kept, (size_t)LINES_MAX);
	texts = calloc(lines.count + 1, sizeof(*texts));
	if (!err && !texts)
		err = -ENOMEM;
	if (!err)
		err = read_lines(data, &lines, texts);
	if (!err) {
		PAGE_COLUMN(columns, i, lines.count, lines.list[i].file, "u",
			    "source.file");
		PAGE_COLUMN(columns, i, lines.count, lines.list[i].line, "d",
			    "source.line");
		PAGE_COLUMN(columns, i, lines.count, texts[i], "u",
			    "source.text");
		for (int key = PAGE_CPU; key < PAGE_KEYS; key++) {
			if (!data->value[key].known)
				continue;
			PAGE_COLUMN(columns, i, lines.count,
				    lines.list[i].amount[key], "u", "source.%s",
				    page_keys[key].key);
		}
	}
	free(texts);
	free(lines.list);
	return err;
}
