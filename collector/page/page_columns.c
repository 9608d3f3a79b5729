/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/page/page_columns.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/compiler.h"

void page_columns_begin(struct page_columns *columns, const char *type,
			const char *format, ...)
{
	struct page_column *column = &columns->column[columns->count++];
	va_list arguments;

	assert(columns->count <= PAGE_COLUMNS_MAX);
	*column = (struct page_column){ 0 };
	snprintf(column->type, sizeof(column->type), "%s", type);
	va_start(arguments, format);
	vsnprintf(column->name, sizeof(column->name), format, arguments);
	va_end(arguments);
}

static struct page_column *open_column(struct page_columns *columns)
{
	return &columns->column[columns->count - 1];
}

static void put_column_number(struct page_columns *columns, uint64_t value)
{
	struct page_column *column = open_column(columns);
	size_t before = columns->bytes.count;

	bytes_varint(&columns->bytes, value);
	column->bytes += columns->bytes.count - before;
	column->count++;
}

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

void page_columns_put_signed(struct page_columns *columns, int64_t value)
{
	const int64_t most = PAGE_NUMBER_MAX;
	struct page_column *column = open_column(columns);

	value = MAX(MIN(value, most), -most);
	if (column->type[0] == 'u') {
		put_column_number(columns, (uint64_t)MAX(value, 0));
	} else if (column->type[0] == 'z') {
		put_column_number(columns, zigzag(value));
	} else {
		put_column_number(columns,
				  zigzag(value - (int64_t)column->last));
		column->last = (uint64_t)value;
	}
}

void page_columns_put(struct page_columns *columns, uint64_t value)
{
	page_columns_put_signed(columns, (int64_t)MIN(value, PAGE_NUMBER_MAX));
}

void page_columns_put_text(struct page_columns *columns, const char *text)
{
	size_t bytes = strlen(text) + 1;

	bytes_put(&columns->bytes, text, bytes);
	open_column(columns)->bytes += bytes;
	open_column(columns)->count++;
}

void page_columns_cut(struct page_columns *columns, size_t count)
{
	while (columns->count > count) {
		struct page_column *column = open_column(columns);

		if (!columns->bytes.failed)
			columns->bytes.count -= column->bytes;
		columns->count--;
	}
}

void page_columns_release(struct page_columns *columns)
{
	bytes_release(&columns->bytes);
	columns->count = 0;
}
