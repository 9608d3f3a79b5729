/* SPDX-License-Identifier: Apache-2.0
 *
 * table - rows of values with a name at the end. Names of functions are short
 * (short_name.h). The table adapts to the terminal: columns are as wide as
 * their contents. If names lack room, it drops columns by rank and cuts long
 * names in the middle.
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
 * Texts may come from a recorded program, so control characters are shown as
 * '?'.
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
	size_t width; /* the least, if there is room */
	bool left; /* align texts left */
	unsigned int rank; /* the highest is dropped first; 0: never */
};

struct table_row;

struct table {
	const struct table_column *columns; /* owned by the caller */
	size_t column_count;
	const char *name_title;
	bool full_names; /* neither shorten nor cut names */
	const char *indent; /* of each line; " " by default */
	struct table_row *rows;
	size_t count, room;
	bool failed; /* out of memory */
};

/* Makes an empty table with at most TABLE_COLUMNS_MAX columns and a last column
 * for names. @name_title NULL: no line of titles. Titles and @columns must
 * outlive the table. */
void table_init(struct table *table, const struct table_column *columns,
		size_t count, const char *name_title);

/*
 * Adds a row: a text for each column, which is copied, the full name of a
 * function, and the path of its module ("" or NULL: hidden). @name (may be
 * NULL) and @module are not copied. Without memory, marks the table as failed.
 */
void table_add(struct table *table, const char *const *cells, const char *name,
	       const char *module);

/* Adds a line without values below the last row, for a frame of a stack. Frames
 * are not cut and do not count for the width of names. */
void table_add_below(struct table *table, const char *name, const char *module);

/* Adds a copy of @text after the last name. */
void table_behind(struct table *table, const char *text);

/* Prints titles and rows to @out on @terminal. Returns 0 or -ENOMEM; the caller
 * checks @out for errors. */
int table_print(const struct table *table, const struct terminal *terminal,
		FILE *out);

/* Prints a table in Markdown for GitHub and GitLab: all columns, uncut names as
 * code, and modules without folders. */
int table_print_markdown(const struct table *table, FILE *out);

/* Prints @text as code in Markdown, whatever it contains. */
void table_markdown_code(const char *text, FILE *out);

/* @table may be all zero. */
void table_release(struct table *table);

#endif
