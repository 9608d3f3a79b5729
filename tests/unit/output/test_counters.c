/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/output/counters.h"

#include <errno.h>

#include "tests/suite.h"

/* A distinct value for each member. */
#define VALUE_COUNT(n, name) (1000 + (n))
#define VALUE_COUNT_OR_NULL(n, name) (1000 + (n))
#define VALUE_BYTES(n, name) (1000 + (n))
#define VALUE_NS(n, name) (1000 + (n))
#define VALUE_NS_OR_NULL(n, name) (1000 + (n))
#define VALUE_ID(n, name) (-1 - (n))
#define VALUE_NS_EACH(n, name) (0.5 + (n))
#define VALUE_SHARE(n, name) (1.0 / (2 + (n)))
#define VALUE_TEXT(n, name) "text of " #name
#define VALUE_FLAG(n, name) true
#define VALUE_LIST(n, name) json_pack("[i]", n)

#define SAME_COUNT(a, b) ck_assert_uint_eq(a, b)
#define SAME_COUNT_OR_NULL(a, b) ck_assert_uint_eq(a, b)
#define SAME_BYTES(a, b) ck_assert_uint_eq(a, b)
#define SAME_NS(a, b) ck_assert_uint_eq(a, b)
#define SAME_NS_OR_NULL(a, b) ck_assert_uint_eq(a, b)
#define SAME_ID(a, b) ck_assert_int_eq(a, b)
#define SAME_NS_EACH(a, b) ck_assert_double_eq(a, b)
#define SAME_SHARE(a, b) ck_assert_double_eq(a, b)
#define SAME_TEXT(a, b) ck_assert_str_eq(a, b)
#define SAME_FLAG(a, b) ck_assert_int_eq(a, b)
#define SAME_LIST(a, b) ck_assert_ptr_eq(a, b)

TEST(counters_from_json_reads_what_counters_to_json_writes)
{
	const struct summary_settings settings = {
#define SETTING(kind, name, ...) .name = VALUE_##kind(__COUNTER__, name),
#include "collector/output/counters.def"
	};
	const struct summary_process process = {
#define PROCESS(kind, name, ...) .name = VALUE_##kind(__COUNTER__, name),
#include "collector/output/counters.def"
	};
	const struct summary_thread thread = {
#define THREAD(kind, name, ...) .name = VALUE_##kind(__COUNTER__, name),
#include "collector/output/counters.def"
	};
	const struct summary_totals totals = {
#define TOTAL(section, kind, name, ...) .name = VALUE_##kind(__COUNTER__, name),
#include "collector/output/counters.def"
	};
	const struct summary_cost cost = {
#define COST(kind, name, ...) .name = VALUE_##kind(__COUNTER__, name),
#include "collector/output/counters.def"
	};
	const struct summary_function function = {
#define FUNCTION(kind, name, ...) .name = VALUE_##kind(__COUNTER__, name),
#include "collector/output/counters.def"
	};
	const struct summary_async async = {
#define ASYNC(kind, name, ...) .name = VALUE_##kind(__COUNTER__, name),
#include "collector/output/counters.def"
	};
	struct summary_async read_async = { 0 };
	struct summary_settings read_settings = { 0 };
	struct summary_process read_process = { 0 };
	struct summary_thread read_thread = { 0 };
	struct summary_totals read_totals = { 0 };
	struct summary_cost read_cost = { 0 };
	struct summary_function read_function = { 0 };
	json_t *json[] = { counters_to_json(COUNTERS_TOTALS, &totals),
			   counters_to_json(COUNTERS_COST, &cost),
			   counters_to_json(COUNTERS_FUNCTION, &function),
			   counters_to_json(COUNTERS_SETTINGS, &settings),
			   counters_to_json(COUNTERS_PROCESS, &process),
			   counters_to_json(COUNTERS_THREAD, &thread),
			   counters_to_json(COUNTERS_ASYNC, &async) };

	ck_assert_int_eq(
		counters_from_json(COUNTERS_TOTALS, json[0], &read_totals), 0);
	ck_assert_int_eq(counters_from_json(COUNTERS_COST, json[1], &read_cost),
			 0);
	ck_assert_int_eq(
		counters_from_json(COUNTERS_FUNCTION, json[2], &read_function),
		0);
	ck_assert_int_eq(
		counters_from_json(COUNTERS_SETTINGS, json[3], &read_settings),
		0);
	ck_assert_int_eq(
		counters_from_json(COUNTERS_PROCESS, json[4], &read_process),
		0);
	ck_assert_int_eq(
		counters_from_json(COUNTERS_THREAD, json[5], &read_thread), 0);
	ck_assert_int_eq(
		counters_from_json(COUNTERS_ASYNC, json[6], &read_async), 0);
#define ASYNC(kind, name, ...) SAME_##kind(read_async.name, async.name);
#include "collector/output/counters.def"
#define SETTING(kind, name, ...) SAME_##kind(read_settings.name, settings.name);
#include "collector/output/counters.def"
#define PROCESS(kind, name, ...) SAME_##kind(read_process.name, process.name);
#include "collector/output/counters.def"
#define THREAD(kind, name, ...) SAME_##kind(read_thread.name, thread.name);
#include "collector/output/counters.def"
#define TOTAL(section, kind, name, ...) \
	SAME_##kind(read_totals.name, totals.name);
#include "collector/output/counters.def"
#define COST(kind, name, ...) SAME_##kind(read_cost.name, cost.name);
#include "collector/output/counters.def"
#define FUNCTION(kind, name, ...) \
	SAME_##kind(read_function.name, function.name);
#include "collector/output/counters.def"
	for (size_t i = 0; i < sizeof(json) / sizeof(*json); i++)
		json_decref(json[i]);
}

TEST(counters_to_json_keeps_the_order_of_the_table)
{
	static const char *const names[] = {
#define COST(kind, name, ...) #name,
#include "collector/output/counters.def"
	};
	const struct summary_cost cost = { .of = "cpu" };
	json_t *json = counters_to_json(COUNTERS_COST, &cost), *value;
	const char *name;
	size_t i = 0;

	json_object_foreach(json, name, value)
		ck_assert_str_eq(name, names[i++]);
	ck_assert_uint_eq(i, sizeof(names) / sizeof(*names));
	json_decref(json);
}

TEST(counters_to_json_of_what_is_not_known_is_null)
{
	const struct summary_totals totals = {
		.temporary_allocs = COUNTER_UNKNOWN,
		.trace_stopped = NULL,
	};
	struct summary_totals read = { .temporary_allocs = 3,
				       .trace_stopped = "before" };
	json_t *json = counters_to_json(COUNTERS_TOTALS, &totals);

	ck_assert(json_is_null(json_object_get(json, "temporary_allocs")));
	ck_assert(json_is_null(json_object_get(json, "trace_stopped")));
	ck_assert_int_eq(counters_from_json(COUNTERS_TOTALS, json, &read), 0);
	ck_assert_uint_eq(read.temporary_allocs, 3);
	ck_assert_str_eq(read.trace_stopped, "before");
	json_decref(json);
}

/* Programs choose counts and names freely. */
TEST(counters_to_json_of_hostile_values_is_json)
{
	const struct summary_totals totals = { .dropped_spans = UINT64_MAX,
					       .peak_program = "a\xff\x01" };
	json_t *json = counters_to_json(COUNTERS_TOTALS, &totals);

	ck_assert_int_eq(
		json_integer_value(json_object_get(json, "dropped_spans")),
		INT64_MAX);
	ck_assert_str_eq(
		json_string_value(json_object_get(json, "peak_program")),
		"a?\x01");
	json_decref(json);
}

TEST(counters_from_json_of_another_type_is_refused)
{
	static const char *const texts[] = {
		"{\"spans\":\"1\"}",
		"{\"spans\":-1}",
		"{\"spans\":1.5}",
		"{\"spans\":[]}",
		"{\"peak_program\":1}",
		"{\"trace_stopped\":true}",
		"{\"trace_limited\":1}",
		"{\"trace_limited\":\"\"}",
		"{\"temporary_allocs\":\"\"}",
	};
	struct summary_totals totals = { 0 };
	struct summary_cost cost = { 0 };
	json_t *json;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		json = json_loads(texts[i], 0, NULL);
		ck_assert_int_eq(
			counters_from_json(COUNTERS_TOTALS, json, &totals),
			-EBADMSG);
		json_decref(json);
	}
	json = json_loads("{\"share\":-0.5}", 0, NULL);
	ck_assert_int_eq(counters_from_json(COUNTERS_COST, json, &cost),
			 -EBADMSG);
	json_decref(json);
}

TEST(counters_from_json_of_nothing_changes_nothing)
{
	struct summary_cost cost = { .span_ns = 1.5 };
	json_t *json = json_loads("{\"unheard\":[1]}", 0, NULL);

	ck_assert_int_eq(counters_from_json(COUNTERS_COST, NULL, &cost), 0);
	ck_assert_int_eq(counters_from_json(COUNTERS_COST, json, &cost), 0);
	ck_assert_double_eq(cost.span_ns, 1.5);
	json_decref(json);
}
