/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows are collected first, since the widths of columns, and which names clash,
 * depend on all of them.
 */
#include "collector/show/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/text_out.h"
#include "collector/show/short_name.h"
#include "shared/compiler.h"

/* Columns that a name has at least, if columns of values can be left out. */
#define NAME_COLUMNS_MIN 24

#define GAP "  "
#define BELOW "    "

struct table_row {
	char *cells[TABLE_COLUMNS_MAX]; /* NULL: none */
	char *behind; /* NULL: none */
	const char *name, *module; /* NULL: none */
	bool is_below;
};

/* A table on its way to a terminal. */
struct layout {
	const struct table *table;
	const struct terminal *terminal;
	FILE *out;
	struct short_names names;
	bool left_out[TABLE_COLUMNS_MAX];
	size_t width[TABLE_COLUMNS_MAX];
};

/* --- rows --------------------------------------------------------------------
 */

void table_init(struct table *table, const struct table_column *columns,
		size_t count, const char *name_title)
{
	*table = (struct table){ .columns = columns,
				 .column_count = count,
				 .name_title = name_title,
				 .indent = "  " };
}

static struct table_row *add_row(struct table *table, const char *name,
				 const char *module)
{
	struct table_row *row;

	if (grow_array(table->rows, table->room, table->count + 1)) {
		table->failed = true;
		return NULL;
	}
	row = &table->rows[table->count++];
	*row = (struct table_row){ .name = name, .module = module };
	return row;
}

void table_add(struct table *table, const char *const *cells, const char *name,
	       const char *module)
{
	struct table_row *row = add_row(table, name, module);

	for (size_t i = 0; row && i < table->column_count; i++) {
		row->cells[i] = strdup(cells[i]);
		table->failed |= !row->cells[i];
	}
}

void table_add_below(struct table *table, const char *name, const char *module)
{
	struct table_row *row = add_row(table, name, module);

	if (row)
		row->is_below = true;
}

void table_behind(struct table *table, const char *text)
{
	struct table_row *row = table->rows + table->count - 1;

	if (table->failed)
		return;
	free(row->behind);
	row->behind = strdup(text);
	table->failed |= !row->behind;
}

void table_release(struct table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		for (size_t j = 0; j < TABLE_COLUMNS_MAX; j++)
			free(table->rows[i].cells[j]);
		free(table->rows[i].behind);
	}
	free(table->rows);
	*table = (struct table){ 0 };
}

/* --- how wide ----------------------------------------------------------------
 */

static size_t content_width(const struct table *table, size_t column)
{
	size_t width = terminal_width(table->columns[column].title);

	for (size_t i = 0; i < table->count; i++) {
		const char *cell = table->rows[i].cells[column];

		if (cell)
			width = MAX(width, terminal_width(cell));
	}
	return width;
}

/* Columns in front of the names. */
static size_t values_width(const struct layout *layout)
{
	size_t width = strlen(layout->table->indent);

	for (size_t i = 0; i < layout->table->column_count; i++)
		if (!layout->left_out[i])
			width += layout->width[i] + strlen(GAP);
	return width;
}

static bool has_room(const struct layout *layout)
{
	size_t columns = layout->terminal->columns;

	return !columns || values_width(layout) + NAME_COLUMNS_MIN <= columns;
}

/* The column with the highest rank that is there; column_count: none may be
 * left out. */
static size_t least_wanted(const struct layout *layout)
{
	const struct table *table = layout->table;
	size_t found = table->column_count;
	unsigned int rank = 0;

	for (size_t i = 0; i < table->column_count; i++) {
		if (layout->left_out[i] || table->columns[i].rank <= rank)
			continue;
		rank = table->columns[i].rank;
		found = i;
	}
	return found;
}

static void choose_widths(struct layout *layout)
{
	const struct table *table = layout->table;
	size_t content[TABLE_COLUMNS_MAX], least;

	for (size_t i = 0; i < table->column_count; i++) {
		content[i] = content_width(table, i);
		layout->width[i] = MAX(content[i], table->columns[i].width);
	}
	if (has_room(layout))
		return;
	memcpy(layout->width, content, sizeof(content));
	while (!has_room(layout)) {
		least = least_wanted(layout);
		if (least == table->column_count)
			break;
		layout->left_out[least] = true;
	}
}

/* --- output ------------------------------------------------------------------
 */

static void put_spaces(const struct layout *layout, size_t count)
{
	fprintf(layout->out, "%*s", (int)count, "");
}

static void put_cell(const struct layout *layout, size_t column,
		     const char *text)
{
	size_t width = terminal_width(text), room = layout->width[column];
	size_t spaces = room > width ? room - width : 0;

	if (!layout->table->columns[column].left)
		put_spaces(layout, spaces);
	text_out(text, layout->out);
	if (layout->table->columns[column].left)
		put_spaces(layout, spaces);
}

static void put_titles(const struct layout *layout)
{
	const struct table *table = layout->table;

	if (!table->name_title)
		return;
	fputs(table->indent, layout->out);
	terminal_style(layout->terminal, STYLE_TITLE, layout->out);
	for (size_t i = 0; i < table->column_count; i++)
		if (!layout->left_out[i]) {
			put_cell(layout, i, table->columns[i].title);
			fputs(GAP, layout->out);
		}
	fputs(table->name_title, layout->out);
	terminal_style(layout->terminal, STYLE_PLAIN, layout->out);
	fputc('\n', layout->out);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool shows_module(const struct table_row *row)
{
	return row->module && row->module[0] &&
	       !(row->name && strcmp(base_name(row->module), row->name) == 0);
}

/* How many columns what stands behind the name of @row takes. */
static size_t width_behind(const struct table_row *row)
{
	size_t width = 0;

	if (row->behind)
		width += strlen(GAP) + terminal_width(row->behind);
	if (shows_module(row))
		width += strlen(GAP) + strlen("[]") +
			 terminal_width(base_name(row->module));
	return width;
}

/* How many columns the name of @row may take; 0: any number. */
static size_t name_room(const struct layout *layout, size_t which,
			bool *with_behind)
{
	const struct table_row *row = &layout->table->rows[which];
	size_t behind = width_behind(row), room;

	*with_behind = true;
	if (!layout->terminal->columns || layout->table->full_names ||
	    row->is_below)
		return 0;
	room = layout->terminal->columns -
	       MIN(values_width(layout), layout->terminal->columns - 1);
	if (room >= behind + NAME_COLUMNS_MIN)
		return room - behind;
	/* A short name may leave more. */
	*with_behind =
		behind < room &&
		terminal_width(row->name ? row->name : "") <= room - behind;
	return room;
}

static void put_name(const struct layout *layout, size_t which)
{
	const struct table_row *row = &layout->table->rows[which];
	bool with_behind;
	size_t room = name_room(layout, which, &with_behind);

	if (row->name)
		terminal_put(short_names_get(&layout->names, which), room,
			     layout->out);
	if (with_behind && row->behind) {
		fputs(GAP, layout->out);
		text_out(row->behind, layout->out);
	}
	if (with_behind && shows_module(row)) {
		fputs(GAP, layout->out);
		terminal_style(layout->terminal, STYLE_FAINT, layout->out);
		text_out_module(row->module, layout->out);
		terminal_style(layout->terminal, STYLE_PLAIN, layout->out);
	}
	fputc('\n', layout->out);
}

static void put_row(const struct layout *layout, size_t which)
{
	const struct table *table = layout->table;
	const struct table_row *row = &table->rows[which];

	fputs(table->indent, layout->out);
	if (row->is_below)
		fputs(BELOW, layout->out);
	for (size_t i = 0; !row->is_below && i < table->column_count; i++) {
		if (layout->left_out[i])
			continue;
		put_cell(layout, i, row->cells[i]);
		if (row->name || i + 1 < table->column_count)
			fputs(GAP, layout->out);
	}
	put_name(layout, which);
}

/* Says which columns had no room, in as many lines as that takes. */
static void put_left_out(const struct layout *layout)
{
	const struct table *table = layout->table;
	size_t width = 0;

	for (size_t i = 0; i < table->column_count; i++) {
		const char *title = table->columns[i].title;

		if (!layout->left_out[i])
			continue;
		if (!width) {
			width = (size_t)fprintf(
				layout->out, "%s(no room for:", table->indent);
		} else {
			fputc(',', layout->out);
			width++;
		}
		/* A space, the title, and what may stand behind it. */
		if (width + terminal_width(title) + 2 >
		    layout->terminal->columns) {
			fputc('\n', layout->out);
			width = (size_t)fprintf(layout->out, "%s ",
						table->indent);
		}
		width += (size_t)fprintf(layout->out, " %s", title);
	}
	if (width)
		fputs(")\n", layout->out);
}

static int make_names(struct layout *layout)
{
	const struct table *table = layout->table;
	const char **full = calloc(table->count + 1, sizeof(*full));
	int err;

	if (!full)
		return -ENOMEM;
	for (size_t i = 0; i < table->count; i++)
		full[i] = table->rows[i].name ? table->rows[i].name : "";
	err = short_names_make(&layout->names, full, table->count,
			       table->full_names);
	free(full);
	return err;
}

int table_print(const struct table *table, const struct terminal *terminal,
		FILE *out)
{
	struct layout layout = { .table = table,
				 .terminal = terminal,
				 .out = out };
	int err = table->failed ? -ENOMEM : make_names(&layout);

	if (!err) {
		choose_widths(&layout);
		put_titles(&layout);
		for (size_t i = 0; i < table->count; i++)
			put_row(&layout, i);
		put_left_out(&layout);
	}
	short_names_free(&layout.names);
	return err;
}

/* --- Markdown ----------------------------------------------------------------
 */

/* More of them than stand together anywhere in @text end no code. */
static int count_backticks(const char *text)
{
	int most = 0, count = 0;

	for (; *text; text++) {
		count = *text == '`' ? count + 1 : 0;
		most = MAX(most, count);
	}
	return most + 1;
}

static void put_backticks(int count, FILE *out)
{
	while (count--)
		fputc('`', out);
}

/* In a table, a '|' ends the cell even in code. */
static void put_code(const char *text, bool in_table, FILE *out)
{
	int count = count_backticks(text);
	/* A space at each end is no part of the code. */
	const char *space = count > 1 ? " " : "";

	put_backticks(count, out);
	fputs(space, out);
	while (*text) {
		size_t length = in_table ? strcspn(text, "|") : strlen(text);

		text_out_bytes(text, length, out);
		text += length;
		if (*text) {
			fputs("\\|", out);
			text++;
		}
	}
	fputs(space, out);
	put_backticks(count, out);
}

void table_markdown_code(const char *text, FILE *out)
{
	put_code(text, false, out);
}

/* A cell of the table's: numbers and letters. */
static void put_markdown_cell(const char *text, FILE *out)
{
	fputs("| ", out);
	text_out(text, out);
	fputc(' ', out);
}

static void put_markdown_titles(const struct table *table, FILE *out)
{
	for (size_t i = 0; i < table->column_count; i++)
		put_markdown_cell(table->columns[i].title, out);
	put_markdown_cell(table->name_title, out);
	fputs("|\n", out);
	for (size_t i = 0; i < table->column_count; i++)
		fputs(table->columns[i].left ? "|---" : "|--:", out);
	fputs("|---|\n", out);
}

static void put_markdown_row(const struct table *table,
			     const struct table_row *row, const char *name,
			     FILE *out)
{
	for (size_t i = 0; i < table->column_count; i++)
		put_markdown_cell(row->cells[i], out);
	fputs("| ", out);
	if (*name)
		put_code(name, true, out);
	if (shows_module(row)) {
		fputc(' ', out);
		put_code(base_name(row->module), true, out);
	}
	fputs(" |\n", out);
}

int table_print_markdown(const struct table *table, FILE *out)
{
	struct layout layout = { .table = table, .out = out };
	int err = table->failed ? -ENOMEM : make_names(&layout);

	if (!err) {
		put_markdown_titles(table, out);
		for (size_t i = 0; i < table->count; i++)
			if (!table->rows[i].is_below)
				put_markdown_row(
					table, &table->rows[i],
					short_names_get(&layout.names, i), out);
	}
	short_names_free(&layout.names);
	return err;
}
