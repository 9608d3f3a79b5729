/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/output/counters.h"

#include <errno.h>

#include "collector/base/json_text.h"
#include "shared/compiler.h"

struct counter_field {
	const char *name;
	enum counter_kind kind;
	size_t offset; /* in the structure of the group */
};

static const struct counter_field settings_fields[] = {
#define SETTING(kind, name, ...) \
	{ #name, COUNTER_##kind, offsetof(struct summary_settings, name) },
#include "collector/output/counters.def"
};

static const struct counter_field totals_fields[] = {
#define TOTAL(section, kind, name, ...) \
	{ #name, COUNTER_##kind, offsetof(struct summary_totals, name) },
#include "collector/output/counters.def"
};

static const struct counter_field cost_fields[] = {
#define COST(kind, name, ...) \
	{ #name, COUNTER_##kind, offsetof(struct summary_cost, name) },
#include "collector/output/counters.def"
};

static const struct counter_field process_fields[] = {
#define PROCESS(kind, name, ...) \
	{ #name, COUNTER_##kind, offsetof(struct summary_process, name) },
#include "collector/output/counters.def"
};

static const struct counter_field thread_fields[] = {
#define THREAD(kind, name, ...) \
	{ #name, COUNTER_##kind, offsetof(struct summary_thread, name) },
#include "collector/output/counters.def"
};

static const struct counter_field function_fields[] = {
#define FUNCTION(kind, name, ...) \
	{ #name, COUNTER_##kind, offsetof(struct summary_function, name) },
#include "collector/output/counters.def"
};

static const struct counter_field async_fields[] = {
#define ASYNC(kind, name, ...) \
	{ #name, COUNTER_##kind, offsetof(struct summary_async, name) },
#include "collector/output/counters.def"
};

static const struct {
	const struct counter_field *field;
	size_t count;
} groups[] = {
	[COUNTERS_SETTINGS] = { settings_fields, ARRAY_SIZE(settings_fields) },
	[COUNTERS_TOTALS] = { totals_fields, ARRAY_SIZE(totals_fields) },
	[COUNTERS_COST] = { cost_fields, ARRAY_SIZE(cost_fields) },
	[COUNTERS_PROCESS] = { process_fields, ARRAY_SIZE(process_fields) },
	[COUNTERS_THREAD] = { thread_fields, ARRAY_SIZE(thread_fields) },
	[COUNTERS_FUNCTION] = { function_fields, ARRAY_SIZE(function_fields) },
	[COUNTERS_ASYNC] = { async_fields, ARRAY_SIZE(async_fields) },
};

static json_t *count_to_json(uint64_t count)
{
	return json_integer((json_int_t)MIN(count, (uint64_t)INT64_MAX));
}

static json_t *field_to_json(enum counter_kind kind, const void *value)
{
	const char *text;
	uint64_t count;

	switch (kind) {
	case COUNTER_NS_EACH:
	case COUNTER_SHARE:
		return json_real(*(const double *)value);
	case COUNTER_TEXT:
		text = *(const char *const *)value;
		return text ? json_text(text) : json_null();
	case COUNTER_FLAG:
		return json_boolean(*(const bool *)value);
	case COUNTER_LIST:
		return *(json_t *const *)value;
	case COUNTER_ID:
		return json_integer(*(const int64_t *)value);
	case COUNTER_COUNT_OR_NULL:
	case COUNTER_NS_OR_NULL:
		count = *(const uint64_t *)value;
		return count == COUNTER_UNKNOWN ? json_null()
						: count_to_json(count);
	case COUNTER_COUNT:
	case COUNTER_BYTES:
	case COUNTER_NS:
		break;
	}
	return count_to_json(*(const uint64_t *)value);
}

json_t *counters_to_json(enum counter_group group, const void *values)
{
	json_t *object = json_object();

	for (size_t i = 0; i < groups[group].count; i++) {
		const struct counter_field *field = &groups[group].field[i];

		json_object_set_new(
			object, field->name,
			field_to_json(field->kind,
				      (const char *)values + field->offset));
	}
	return object;
}

static int field_from_json(enum counter_kind kind, json_t *json, void *value)
{
	switch (kind) {
	case COUNTER_NS_EACH:
	case COUNTER_SHARE:
		if (!json_is_number(json) || json_number_value(json) < 0)
			return -EBADMSG;
		*(double *)value = json_number_value(json);
		return 0;
	case COUNTER_TEXT:
		if (!json_is_string(json))
			return -EBADMSG;
		*(const char **)value = json_string_value(json);
		return 0;
	case COUNTER_FLAG:
		if (!json_is_boolean(json))
			return -EBADMSG;
		*(bool *)value = json_is_true(json);
		return 0;
	case COUNTER_LIST:
		if (!json_is_array(json))
			return -EBADMSG;
		*(json_t **)value = json;
		return 0;
	case COUNTER_ID:
		if (!json_is_integer(json))
			return -EBADMSG;
		*(int64_t *)value = json_integer_value(json);
		return 0;
	case COUNTER_COUNT:
	case COUNTER_COUNT_OR_NULL:
	case COUNTER_BYTES:
	case COUNTER_NS:
	case COUNTER_NS_OR_NULL:
		break;
	}
	if (!json_is_integer(json) || json_integer_value(json) < 0)
		return -EBADMSG;
	*(uint64_t *)value = (uint64_t)json_integer_value(json);
	return 0;
}

int counters_from_json(enum counter_group group, const json_t *object,
		       void *values)
{
	for (size_t i = 0; i < groups[group].count; i++) {
		const struct counter_field *field = &groups[group].field[i];
		json_t *json = json_object_get(object, field->name);
		int err;

		if (!json || json_is_null(json))
			continue;
		err = field_from_json(field->kind, json,
				      (char *)values + field->offset);
		if (err)
			return err;
	}
	return 0;
}

uint64_t counters_amount(enum counter_kind kind, const void *value)
{
	switch (kind) {
	case COUNTER_NS_EACH:
	case COUNTER_SHARE:
		return *(const double *)value > 0;
	case COUNTER_TEXT:
		return *(const char *const *)value != NULL;
	case COUNTER_FLAG:
		return *(const bool *)value;
	case COUNTER_LIST:
		return json_array_size(*(json_t *const *)value);
	case COUNTER_ID:
		return *(const int64_t *)value != 0;
	case COUNTER_COUNT:
	case COUNTER_COUNT_OR_NULL:
	case COUNTER_BYTES:
	case COUNTER_NS:
	case COUNTER_NS_OR_NULL:
		break;
	}
	return *(const uint64_t *)value;
}
