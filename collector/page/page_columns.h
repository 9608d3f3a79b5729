/* SPDX-License-Identifier: Apache-2.0
 *
 * page_columns - the columns of the page's data (docs/PAGE.md): lists of
 * numbers and of texts, in few bytes.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_COLUMNS_H
#define PERFREC_COLLECTOR_PAGE_PAGE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"

#define PAGE_COLUMNS_MAX 256
/* Above it, a number of JavaScript is not exact. */
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
	struct bytes bytes; /* of all columns, one after the other */
};

/* Begins a column, which is called as @format says. What is put now goes into
 * it, up to the next call. */
void page_columns_begin(struct page_columns *columns, const char *type,
			const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts one number, by the column's type. Those above PAGE_NUMBER_MAX are put as
 * that. */
void page_columns_put(struct page_columns *columns, uint64_t value);
/* The same for a time or a difference, which may be negative. */
void page_columns_put_signed(struct page_columns *columns, int64_t value);
/* Puts one text, which is UTF-8. */
void page_columns_put_text(struct page_columns *columns, const char *text);
/* Drops the columns from number @count on. */
void page_columns_cut(struct page_columns *columns, size_t count);
/* Frees all; there are no columns then. */
void page_columns_release(struct page_columns *columns);

#endif
