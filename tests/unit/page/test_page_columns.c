/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of columns, as docs/PAGE.md describes them.
 */

#include "collector/page/page_columns.h"
#include "tests/suite.h"

static struct page_columns g_columns;

static void expect_bytes(const char *bytes, size_t count)
{
	ck_assert_uint_eq(g_columns.bytes.count, count);
	ck_assert_mem_eq(g_columns.bytes.at, bytes, count);
	page_columns_release(&g_columns);
}

TEST(page_columns_write_numbers_in_seven_bits)
{
	page_columns_begin(&g_columns, "u", "a.%d", 7);
	page_columns_put(&g_columns, 0);
	page_columns_put(&g_columns, 127);
	page_columns_put(&g_columns, 128);
	page_columns_put_signed(&g_columns, -5);
	ck_assert_str_eq(g_columns.column[0].name, "a.7");
	ck_assert_uint_eq(g_columns.column[0].count, 4);
	ck_assert_uint_eq(g_columns.column[0].bytes, 5);
	expect_bytes("\x00\x7f\x80\x01\x00", 5);
}

TEST(page_columns_write_differences)
{
	page_columns_begin(&g_columns, "d", "d");
	page_columns_put(&g_columns, 5);
	page_columns_put(&g_columns, 5);
	page_columns_put_signed(&g_columns, -1);
	page_columns_begin(&g_columns, "z", "z");
	page_columns_put_signed(&g_columns, -2);
	page_columns_put_signed(&g_columns, 2);
	expect_bytes("\x0a\x00\x0b\x03\x04", 5);
}

TEST(page_columns_have_no_number_that_javascript_rounds)
{
	page_columns_begin(&g_columns, "u", "u");
	page_columns_put(&g_columns, UINT64_MAX);
	expect_bytes("\xff\xff\xff\xff\xff\xff\xff\x0f", 8);
}

TEST(page_columns_are_cut_off_behind)
{
	page_columns_begin(&g_columns, "text", "t");
	page_columns_put_text(&g_columns, "ab");
	page_columns_begin(&g_columns, "u", "u");
	page_columns_put(&g_columns, 300);
	page_columns_cut(&g_columns, 1);
	ck_assert_uint_eq(g_columns.count, 1);
	expect_bytes("ab\0", 3);
}
