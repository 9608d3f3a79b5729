/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/top_view.h"

#include "tests/suite.h"

static struct top_row g_rows[] = {
	{ "a()", "m", "span", 5, 900, 1, 10, 0, 0, 0, 0 },
	{ "std::b<int>(int)", "m", "span", 90, 100, 3, 30, 0, 0, 0, 0 },
	{ "c()", "m", "counted", 7, 0, 9, 0, 0, 0, 0, 0 },
	{ "rests()", "m", "off", 0, 0, 0, 0, 0, 0, 0, 0 },
};
static const struct top_rates g_rates = { .ns = 1,
					  .rows = g_rows,
					  .count = ARRAY_SIZE(g_rows) };

static const char *shown(const struct top_view *view)
{
	static char text[8];

	for (size_t i = 0; i < view->count; i++)
		text[i] = "abcr"[view->shown[i]];
	text[view->count] = '\0';
	return text;
}

TEST(view_sorts_by_what_is_asked_for)
{
	static const char *const wanted[TOP_ORDERS] = { "bac", "cba", "abc",
							"bca", "acb" };
	struct top_view view = { 0 };

	for (int i = 0; i < TOP_ORDERS; i++) {
		view.order = (enum top_order)i;
		ck_assert_int_eq(top_view_fill(&view, &g_rates), 0);
		ck_assert_str_eq(shown(&view), wanted[i]);
	}
	top_view_release(&view);
}

TEST(view_filters_by_both_names)
{
	struct top_view view = { .filter = "b<int>" };

	ck_assert_int_eq(top_view_fill(&view, &g_rates), 0);
	ck_assert_str_eq(shown(&view), "b");
	strcpy(view.filter, "b<…>");
	ck_assert_int_eq(top_view_fill(&view, &g_rates), 0);
	ck_assert_str_eq(shown(&view), "b");
	strcpy(view.filter, "rests");
	ck_assert_int_eq(top_view_fill(&view, &g_rates), 0);
	ck_assert_str_eq(shown(&view), "");
	ck_assert_ptr_null(top_view_chosen(&view, &g_rates));
	ck_assert_int_eq(top_view_move(&view, &g_rates, 1), 0);
	top_view_release(&view);
}

TEST(view_keeps_what_was_chosen)
{
	struct top_view view = { 0 };

	top_view_fill(&view, &g_rates);
	ck_assert_int_eq(top_view_move(&view, &g_rates, 1), 0);
	ck_assert_ptr_eq(top_view_chosen(&view, &g_rates), &g_rows[0]);
	view.order = TOP_BY_CALLS;
	top_view_fill(&view, &g_rates);
	ck_assert_ptr_eq(top_view_chosen(&view, &g_rates), &g_rows[0]);
	top_view_move(&view, &g_rates, 100);
	ck_assert_ptr_eq(top_view_chosen(&view, &g_rates), &g_rows[0]);
	top_view_move(&view, &g_rates, -100);
	ck_assert_ptr_eq(top_view_chosen(&view, &g_rates), &g_rows[2]);
	/* The chosen row vanishes; the next one takes its place. */
	strcpy(view.filter, "a()");
	top_view_fill(&view, &g_rates);
	ck_assert_ptr_eq(top_view_chosen(&view, &g_rates), &g_rows[0]);
	top_view_release(&view);
}

TEST(view_of_nothing)
{
	static const struct top_rates nothing = { .ns = 1 };
	struct top_view view = { 0 };

	ck_assert_int_eq(top_view_fill(&view, &nothing), 0);
	ck_assert_int_eq(top_view_move(&view, &nothing, -1), 0);
	ck_assert_ptr_null(top_view_chosen(&view, &nothing));
	top_view_release(&view);
}
