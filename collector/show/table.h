/* SPDX-License-Identifier: Apache-2.0
 *
 * table - rows of values with a name at the end of each, for a person. Names of
 * functions are short (short_name.h). The table fits the terminal: columns are
 * as wide as their contents, the last ranks are left out if there is no room
 * for names, and a name that is too long is cut in the middle.
 *
 *   static const struct table_column columns[] = {
 *           { "calls", 15, false, 0 }, { "self time", 9, false, 1 } };
 *   struct table table;
 *
 *   table_init(&table, columns, ARRAY_SIZE(columns), "function");
 *   table_add(&table, (const char *[]){ "12", "3 ms" }, full_name, module);
 *   err = table_print(&table, &terminal, out);
 *   table_release(&table);
 *
 * Any text may come from a recorded program: what a terminal could take for a
 * command is shown as '?'.
 */
#ifndef PERFREC_COLLECTOR_SHOW_TABLE_H
#define PERFREC_COLLECTOR_SHOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/show/terminal.h"

#define TABLE_COLUMNS_MAX 16

struct table_column {
	const char *title;
	size_t width; /* the least, where there is room */
	bool left; /* the texts are on the left */
	unsigned int rank; /* the highest is left out first; 0: never */
};

struct table_row;

struct table {
	const struct table_column *columns; /* the caller's */
	size_t column_count;
	const char *name_title;
	bool full_names; /* --full-names: neither short nor cut */
	const char *indent; /* in front of each line; "  " from table_init() */
	struct table_row *rows;
	size_t count, room;
	bool failed; /* there was no memory for a row */
};

/* Makes an empty table with up to TABLE_COLUMNS_MAX columns, and a last one for
 * names with the title @name_title (NULL: there is no line of titles). Titles
 * and @columns outlive the table. */
void table_init(struct table *table, const struct table_column *columns,
		size_t count, const char *name_title);

/* Adds a row: a text for each column, which is copied, the full name of a
 * function, and the path of its module ("" or NULL: not shown). @name and
 * @module are not copied. NULL for @name: the row has none. Without memory
 * the table is marked as failed. */
void table_add(struct table *table, const char *const *cells, const char *name,
	       const char *module);

/* The same for a line of its own below the last row, without values: a frame of
 * a stack. Frames are neither cut nor do they take room from names. */
void table_add_below(struct table *table, const char *name, const char *module);

/* Writes @text, which is copied, behind the name that was added last. */
void table_behind(struct table *table, const char *text);

/* Writes the titles and all rows to @out, which is @terminal. Returns 0 or
 * -ENOMEM; whether @out could be written is the caller's to ask. */
int table_print(const struct table *table, const struct terminal *terminal,
		FILE *out);

/* The same as a table of Markdown, as GitHub and GitLab take it: with all
 * columns, names uncut and as code, and the names of modules without their
 * folders. */
int table_print_markdown(const struct table *table, FILE *out);

/* Writes @text as code of Markdown, which it does not leave, whatever is in it.
 */
void table_markdown_code(const char *text, FILE *out);

/* Frees what @table holds. It may be all zero. */
void table_release(struct table *table);

#endif
