/* SPDX-License-Identifier: Apache-2.0
 *
 * A page whose data are too large merges nodes, and keeps all other columns.
 * Includes the file, for a limit that any data exceed.
 */

#define DATA_BYTES_MAX 1u
#include "collector/page/page_write.c" /* NOLINT(bugprone-suspicious-include) */

#include <jansson.h>

#include "tests/suite.h"

static int count_columns(const struct page_columns *columns, const char *name)
{
	int count = 0;

	for (size_t i = 0; i < columns->count; i++)
		count += !strcmp(columns->column[i].name, name);
	return count;
}

TEST(page_write_keeps_other_columns_when_nodes_are_merged)
{
	const struct page_options options = { .dir = ".", .no_source = true };
	struct summary summary = { .document = json_object() };
	struct page page = { .options = &options, .summary = &summary };

	ck_assert_int_eq(page_data_init(&page.data, false), 0);
	ck_assert_int_eq(make_data(&page), 0);
	ck_assert_uint_gt(page.packed_bytes, DATA_BYTES_MAX);
	ck_assert_int_eq(count_columns(&page.columns, "text"), 1);
	ck_assert_int_eq(count_columns(&page.columns, "function.short"), 1);
	ck_assert_int_eq(count_columns(&page.columns, "process.pid"), 1);
	ck_assert_int_eq(count_columns(&page.columns, "node.parent"), 1);
	json_decref(summary.document);
	free(page.packed);
	page_columns_release(&page.columns);
	page_data_release(&page.data);
}
