/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows are collected first, because the widths of columns and clashes of names
 * depend on all rows.
 */
#include "collector/show/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/path.h"
#include "collector/base/text_out.h"
#include "collector/show/short_name.h"
#include "shared/compiler.h"

/* Least width for names while columns of values can be dropped. */
#define NAME_COLUMNS_MIN 24

#define GAP "  "
#define BELOW "    "

struct table_row {
	char *cells[TABLE_COLUMNS_MAX]; /* may be NULL */
	char *behind; /* may be NULL */
	const char *name, *module; /* may be NULL */
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

/* --- rows ---------------------------------------------------------------- */

void table_init(struct table *table, const struct table_column *columns,
		size_t count, const char *name_title)
{
	*table = (struct table){ .columns = columns,
				 .column_count = count,
				 .name_title = name_title,
				 .indent = "  " };
}

static struct table_row *add_table_row(struct table *table, const char *name,
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
	struct table_row *row = add_table_row(table, name, module);

	for (size_t i = 0; row && i < table->column_count; i++) {
		row->cells[i] = strdup(cells[i]);
		table->failed |= !row->cells[i];
	}
}

void table_add_below(struct table *table, const char *name, const char *module)
{
	struct table_row *row = add_table_row(table, name, module);

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

/* --- widths -------------------------------------------------------------- */

static size_t values_width(const struct layout *layout)
{
	size_t width = strlen(layout->table->indent);

	for (size_t i = 0; i < layout->table->column_count; i++)
		if (!layout->left_out[i])
			width += layout->width[i] + strlen(GAP);
	return width;
}

static bool has_layout_room(const struct layout *layout)
{
	size_t columns = layout->terminal->columns;

	return !columns || values_width(layout) + NAME_COLUMNS_MIN <= columns;
}

static void choose_widths(struct layout *layout)
{
	const struct table *table = layout->table;
	size_t content[TABLE_COLUMNS_MAX], least;

	for (size_t i = 0; i < table->column_count; i++) {
		size_t width = terminal_width(table->columns[i].title);

		for (size_t j = 0; j < table->count; j++) {
			const char *cell = table->rows[j].cells[i];

			if (cell)
				width = MAX(width, terminal_width(cell));
		}
		content[i] = width;
		layout->width[i] = MAX(content[i], table->columns[i].width);
	}
	if (has_layout_room(layout))
		return;
	memcpy(layout->width, content, sizeof(content));
	while (!has_layout_room(layout)) {
		unsigned int rank = 0;

		/* The visible column with the highest rank. */
		least = table->column_count;
		for (size_t i = 0; i < table->column_count; i++) {
			if (layout->left_out[i] ||
			    table->columns[i].rank <= rank)
				continue;
			rank = table->columns[i].rank;
			least = i;
		}
		if (least == table->column_count)
			break;
		layout->left_out[least] = true;
	}
}

/* --- output -------------------------------------------------------------- */

static void put_spaces(const struct layout *layout, size_t count)
{
	fprintf(layout->out, "%*s", (int)count, "");
}

static void put_layout_cell(const struct layout *layout, size_t column,
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

static void put_layout_titles(const struct layout *layout)
{
	const struct table *table = layout->table;

	if (!table->name_title)
		return;
	fputs(table->indent, layout->out);
	terminal_style(layout->terminal, STYLE_TITLE, layout->out);
	for (size_t i = 0; i < table->column_count; i++)
		if (!layout->left_out[i]) {
			put_layout_cell(layout, i, table->columns[i].title);
			fputs(GAP, layout->out);
		}
	fputs(table->name_title, layout->out);
	terminal_style(layout->terminal, STYLE_PLAIN, layout->out);
	fputc('\n', layout->out);
}

static bool shows_module(const struct table_row *row)
{
	return row->module && row->module[0] &&
	       !(row->name && strcmp(path_name(row->module), row->name) == 0);
}

static size_t width_behind(const struct table_row *row)
{
	size_t width = 0;

	if (row->behind)
		width += strlen(GAP) + terminal_width(row->behind);
	if (shows_module(row))
		width += strlen(GAP) + strlen("[]") +
			 terminal_width(path_name(row->module));
	return width;
}

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
	/* A short name may leave room for these texts. */
	*with_behind =
		behind < room &&
		terminal_width(row->name ? row->name : "") <= room - behind;
	return room;
}

static void put_layout_name(const struct layout *layout, size_t which)
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

static void put_layout_row(const struct layout *layout, size_t which)
{
	const struct table *table = layout->table;
	const struct table_row *row = &table->rows[which];

	fputs(table->indent, layout->out);
	if (row->is_below)
		fputs(BELOW, layout->out);
	for (size_t i = 0; !row->is_below && i < table->column_count; i++) {
		if (layout->left_out[i])
			continue;
		put_layout_cell(layout, i, row->cells[i]);
		if (row->name || i + 1 < table->column_count)
			fputs(GAP, layout->out);
	}
	put_layout_name(layout, which);
}

static int make_table_names(struct layout *layout)
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
	int err = table->failed ? -ENOMEM : make_table_names(&layout);

	if (!err) {
		size_t width;

		choose_widths(&layout);
		put_layout_titles(&layout);
		for (size_t i = 0; i < table->count; i++)
			put_layout_row(&layout, i);
		/* Names the dropped columns, on several lines if required. */
		width = 0;
		for (size_t i = 0; i < layout.table->column_count; i++) {
			const char *title = layout.table->columns[i].title;

			if (!layout.left_out[i])
				continue;
			if (!width) {
				width = (size_t)fprintf(layout.out,
							"%s(no room for:",
							layout.table->indent);
			} else {
				fputc(',', layout.out);
				width++;
			}
			/* A space, the title and a following character. */
			if (width + terminal_width(title) + 2 >
			    layout.terminal->columns) {
				fputc('\n', layout.out);
				width = (size_t)fprintf(layout.out, "%s ",
							layout.table->indent);
			}
			width += (size_t)fprintf(layout.out, " %s", title);
		}
		if (width)
			fputs(")\n", layout.out);
	}
	short_names_free(&layout.names);
	return err;
}

/* --- Markdown ------------------------------------------------------------ */

/* Returns a number of backticks that cannot end code with @text. */
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

/* In a table, '|' ends a cell even inside code. */
static void put_code(const char *text, bool in_table, FILE *out)
{
	int count = count_backticks(text);
	/* Markdown removes a space at each end of code. */
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

static void put_markdown_cell(const char *text, FILE *out)
{
	fputs("| ", out);
	text_out(text, out);
	fputc(' ', out);
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
		put_code(path_name(row->module), true, out);
	}
	fputs(" |\n", out);
}

int table_print_markdown(const struct table *table, FILE *out)
{
	struct layout layout = { .table = table, .out = out };
	int err = table->failed ? -ENOMEM : make_table_names(&layout);

	if (!err) {
		for (size_t i = 0; i < table->column_count; i++)
			put_markdown_cell(table->columns[i].title, out);
		put_markdown_cell(table->name_title, out);
		fputs("|\n", out);
		for (size_t i = 0; i < table->column_count; i++)
			fputs(table->columns[i].left ? "|---" : "|--:", out);
		fputs("|---|\n", out);
		for (size_t i = 0; i < table->count; i++)
			if (!table->rows[i].is_below)
				put_markdown_row(
					table, &table->rows[i],
					short_names_get(&layout.names, i), out);
	}
	short_names_free(&layout.names);
	return err;
}
