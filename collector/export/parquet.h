/* SPDX-License-Identifier: Apache-2.0
 *
 * parquet - writes a table as an Apache Parquet file (format version 1), row by
 * row. Buffers one row group. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_PARQUET_H
#define PERFREC_COLLECTOR_EXPORT_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum parquet_type {
	PARQUET_INT, /* INT64 */
	PARQUET_TEXT, /* BYTE_ARRAY with UTF8 */
};

struct parquet_column {
	const char *name;
	enum parquet_type type;
	bool optional; /* may be NULL */
};

struct parquet;

/* Begins a table of @count columns on @out. @columns must stay valid. The
 * caller calls parquet_close(). Returns 0 or -ENOMEM. */
int parquet_open(FILE *out, const struct parquet_column *columns, size_t count,
		 struct parquet **parquet);
/* Ends the file, frees *@parquet and sets it to NULL; it may be NULL. Keeps
 * @out open. Returns 0, -ENOMEM, or -EIO with errno. */
int parquet_close(struct parquet **parquet);

/* Add the next value of @column in the current row. Each column needs one value
 * for each row. A NULL text is an SQL NULL. Invalid UTF-8 becomes '?'. */
void parquet_int(struct parquet *parquet, size_t column, int64_t value);
void parquet_text(struct parquet *parquet, size_t column, const char *text);
void parquet_null(struct parquet *parquet, size_t column);
/* Ends the row. Returns 0, or an error as parquet_close(); then the file cannot
 * be completed. */
int parquet_end_row(struct parquet *parquet);

#endif
