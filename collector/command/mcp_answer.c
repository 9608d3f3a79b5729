/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/mcp_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/utf8.h"
#include "shared/compiler.h"

/* Names of C++ functions can have thousands of characters. */
#define WORD_BYTES 300
#define LINE_BYTES 1000

/* How to cut the values of one answer. */
struct cut {
	size_t items;
	const char *narrow;
};

static json_t *cut_value(const json_t *value, const struct cut *cut);

static json_t *cut_string(const json_t *value)
{
	const char *text = json_string_value(value);
	char word[WORD_BYTES + sizeof("...")];

	if (json_string_length(value) <= WORD_BYTES)
		return json_string(text);
	snprintf(word, sizeof(word), "%.*s...",
		 (int)utf8_valid_bytes(text, WORD_BYTES), text);
	return json_string(word);
}

static json_t *cut_array(const json_t *value, const struct cut *cut)
{
	json_t *out = json_array();

	for (size_t i = 0; i < MIN(json_array_size(value), cut->items); i++)
		json_array_append_new(out,
				      cut_value(json_array_get(value, i), cut));
	return out;
}

static json_t *cut_object(const json_t *value, const struct cut *cut)
{
	json_t *out = json_object(), *member;
	const char *key;

	json_object_foreach((json_t *)value, key, member)
	{
		size_t count = json_array_size(member);
		char more[WORD_BYTES];

		if (!strcmp(key, "durations"))
			continue;
		json_object_set_new(out, key, cut_value(member, cut));
		if (count <= cut->items)
			continue;
		snprintf(more, sizeof(more), "%.40s_more", key);
		json_object_set_new(out, more,
				    json_sprintf("%zu more, narrow by %s",
						 count - cut->items,
						 cut->narrow));
	}
	return out;
}

/* Returns a new copy of @value; NULL without memory. */
static json_t *cut_value(const json_t *value, const struct cut *cut)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return cut_object(value, cut);
	case JSON_ARRAY:
		return cut_array(value, cut);
	case JSON_STRING:
		return cut_string(value);
	default:
		return json_incref((json_t *)value);
	}
}

char *mcp_answer_json(const json_t *value, size_t items, const char *narrow)
{
	size_t left = MIN(items, (size_t)MCP_ITEMS_MAX);

	while (left) {
		const struct cut cut = { .items = left, .narrow = narrow };
		json_t *copy = cut_value(value, &cut);
		char *text = json_dumps(copy, JSON_COMPACT);
		size_t length = text ? strlen(text) : 0;

		json_decref(copy);
		if (text && length <= MCP_TEXT_BYTES)
			return text;
		free(text);
		/* Far from the goal in large steps. */
		left -= length / 4 > MCP_TEXT_BYTES ? (left + 1) / 2
						    : (left + 7) / 8;
	}
	return NULL;
}

char *mcp_answer_text(const char *text, size_t count, bool more,
		      const char *narrow)
{
	char *out = malloc(MCP_ANSWER_BYTES);
	const size_t room = MCP_TEXT_BYTES - LINE_BYTES;
	size_t used = 0, at = 0, missing = 0;

	while (out && at < count) {
		const char *end = memchr(text + at, '\n', count - at);
		size_t length = (end ? (size_t)(end - text) : count) - at;
		size_t kept = MIN(length, (size_t)LINE_BYTES);

		if (missing || used + kept + sizeof("...\n") > room) {
			missing++;
		} else {
			utf8_copy(out + used, text + at, kept);
			used += kept;
			used += (size_t)sprintf(out + used, "%s\n",
						kept < length ? "..." : "");
		}
		at += length + 1;
	}
	if (out)
		out[used] = '\0';
	if (out && more)
		snprintf(out + used, MCP_ANSWER_BYTES - used,
			 "the rest is missing, narrow by %s\n", narrow);
	else if (out && missing)
		snprintf(out + used, MCP_ANSWER_BYTES - used,
			 "%zu more lines, narrow by %s\n", missing, narrow);
	return out;
}
