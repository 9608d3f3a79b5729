/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options/keep_limits.h"

#include <stddef.h>
#include <string.h>

#include "collector/base/size.h"

#define ITEM_BYTES 32 /* more digits than any limit has */
#define EACH "each:"
#define HOUR_NS (3600 * UINT64_C(1000000000))

/* "14d": days, hours or weeks. Minutes would look like megabytes. */
static bool parse_age(char *text, uint64_t *out)
{
	size_t last = strlen(text) - 1;
	uint64_t unit = text[last] == 'h'   ? HOUR_NS
			: text[last] == 'd' ? 24 * HOUR_NS
			: text[last] == 'w' ? 7 * 24 * HOUR_NS
					    : 0;

	if (!unit)
		return false;
	text[last] = '\0';
	if (size_parse_count(text, 1, UINT64_MAX / unit, out))
		return false;
	*out *= unit;
	return true;
}

static bool parse_limit(char *text, struct keep_limit *limit)
{
	uint64_t number;

	if (!*text)
		return false;
	if (!size_parse_count(text, 1, UINT64_MAX, &limit->count))
		return true;
	if (size_parse_bytes(text, &number) || !number)
		return parse_age(text, &limit->age_ns);
	limit->bytes = number;
	return true;
}

bool keep_limits_parse(const char *text, struct keep_limits *limits)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		char item[ITEM_BYTES];
		bool each;

		if (length >= sizeof(item))
			return false;
		memcpy(item, text, length);
		item[length] = '\0';
		each = !strncmp(item, EACH, strlen(EACH));
		if (!(each ? parse_limit(item + strlen(EACH), &limits->each)
			   : parse_limit(item, &limits->all)))
			return false;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

static bool is_given(const struct keep_limit *limit)
{
	return limit->count || limit->bytes || limit->age_ns;
}

bool keep_limits_given(const struct keep_limits *limits)
{
	return is_given(&limits->all) || is_given(&limits->each);
}
