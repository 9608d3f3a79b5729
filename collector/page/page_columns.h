/* SPDX-License-Identifier: Apache-2.0
 *
 * page_columns - the columns of the page's data (docs/PAGE.md): compact lists
 * of numbers and texts.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_COLUMNS_H
#define PERFREC_COLLECTOR_PAGE_PAGE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"

#define PAGE_COLUMNS_MAX 288
/* The largest exact integer in JavaScript. */
#define PAGE_NUMBER_MAX ((UINT64_C(1) << 53) - 1)

struct page_column {
	char name[48];
	char type[8]; /* "u", "z", "d", "text" */
	uint64_t count, bytes;
	uint64_t last; /* of "d" */
};

/* All zero: no columns. */
struct page_columns {
	struct page_column column[PAGE_COLUMNS_MAX];
	size_t count;
	struct bytes bytes; /* of all columns, consecutive */
};

/* Begins a column with a name by @format. Further values go into this
 * column. */
void page_columns_begin(struct page_columns *columns, const char *type,
			const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Appends a number by the column's type. Clamps it to PAGE_NUMBER_MAX. */
void page_columns_put(struct page_columns *columns, uint64_t value);
/* Appends a time or difference, which may be negative. */
void page_columns_put_signed(struct page_columns *columns, int64_t value);
void page_columns_put_text(struct page_columns *columns, const char *text);
/* Begins a column of @type, with a name by the format behind it, and puts @value
 * for each @i below @count. */
#define PAGE_COLUMN(columns, i, count, value, type, ...)               \
	do {                                                           \
		page_columns_begin(columns, type, __VA_ARGS__);        \
		for (__typeof__((count) + 0u) i = 0; i < (count); i++) \
			page_columns_put(columns, value);              \
	} while (0)
/* Drops the columns from number @count on. */
void page_columns_cut(struct page_columns *columns, size_t count);
void page_columns_release(struct page_columns *columns);

#endif
