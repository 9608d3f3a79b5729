/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec top: rates from two answers of a collector.
 */
#include "collector/show/top_rates.h"

#include "tests/suite.h"

#define SECOND INT64_C(1000000000)

/* With @sched, it has states. */
static json_t *make_answer(json_int_t ns, bool sched, json_int_t self_ns,
			   json_int_t on_cpu_ns, json_int_t blocked_ns)
{
	json_t *function = json_pack("{s:s, s:s, s:s, s:i, s:I}", "name",
				     "take", "module", "m", "state", "span",
				     "calls", 10, "self_ns", self_ns);

	if (sched) {
		json_object_set_new(function, "on_cpu_self_ns",
				    json_integer(on_cpu_ns));
		json_object_set_new(function, "blocked_self_ns",
				    json_integer(blocked_ns));
	}
	return json_pack("{s:{s:I, s:i, s:[o]}, s:[{s:i}]}", "top", "ns", ns,
			 "known", 1, "functions", function, "programs",
			 "threads", 2);
}

/* Frees both answers. The caller frees the text. */
static char *print_rates(json_t *before, json_t *after)
{
	struct top_rates rates;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(top_rates_make(before, after, &rates), 0);
	ck_assert_int_eq(top_rates_print(&rates, 0, false, out), 0);
	top_rates_print_json(&rates, 0, out);
	fclose(out);
	top_rates_release(&rates);
	json_decref(before);
	json_decref(after);
	return text;
}

TEST(rates_have_the_parts_of_the_time_of_the_interval)
{
	char *text = print_rates(
		make_answer(SECOND, true, 5 * SECOND, SECOND, 3 * SECOND),
		make_answer(2 * SECOND, true, 6 * SECOND, SECOND + SECOND / 4,
			    3 * SECOND + SECOND / 2));

	ck_assert_ptr_nonnull(strstr(text, "ON CPU  BLOCKED"));
	ck_assert_ptr_nonnull(strstr(text, "100.0%    25.0%    50.0%"));
	ck_assert_ptr_nonnull(
		strstr(text, "\"blocked_self_ns_per_s\":500000000.0"));
	ck_assert_ptr_nonnull(
		strstr(text, "\"on_cpu_self_ns_per_s\":250000000.0"));
	free(text);
}

TEST(rates_without_switches_have_no_parts)
{
	char *text =
		print_rates(make_answer(SECOND, false, SECOND, 0, 0),
			    make_answer(2 * SECOND, false, 2 * SECOND, 0, 0));

	ck_assert_ptr_nonnull(strstr(text, "100.0%"));
	ck_assert_ptr_null(strstr(text, "BLOCKED"));
	ck_assert_ptr_null(strstr(text, "blocked"));
	free(text);
}

/* Sums may shrink: estimates, and threads without room. */
TEST(rates_are_never_below_0)
{
	char *text =
		print_rates(make_answer(SECOND, true, SECOND, SECOND, SECOND),
			    make_answer(2 * SECOND, true, 2 * SECOND, 0, 0));

	ck_assert_ptr_nonnull(strstr(text, "100.0%     0.0%     0.0%"));
	free(text);
}
