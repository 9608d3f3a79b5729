/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/mcp_answer.h"
#include "tests/suite.h"

/* The answer for the JSON text @text; the caller frees it. */
static char *answer_of(const char *text, size_t items)
{
	json_t *value = json_loads(text, 0, NULL);
	char *answer;

	ck_assert_ptr_nonnull(value);
	answer = mcp_answer_json(value, items, "x");
	json_decref(value);
	return answer;
}

static const struct {
	const char *value, *answer;
} lists[] = {
	{ "{\"a\":[1,2,3]}",
	  "{\"a\":[1,2],\"a_more\":\"1 more, narrow by x\"}" },
	{ "{\"a\":[1,2]}", "{\"a\":[1,2]}" },
	{ "{\"a\":[{\"b\":[1,2,3,4]}]}",
	  "{\"a\":[{\"b\":[1,2],\"b_more\":\"2 more, narrow by x\"}]}" },
	{ "{\"durations\":\"1:2\",\"a\":null}", "{\"a\":null}" },
	{ "[]", "[]" },
};

TEST(mcp_answer_json_says_what_is_missing, EACH(0, ARRAY_SIZE(lists)))
{
	char *answer = answer_of(lists[_i].value, 2);

	ck_assert_str_eq(answer, lists[_i].answer);
	free(answer);
}

TEST(mcp_answer_json_cuts_between_characters)
{
	char text[1024] = "[\"";
	char *answer;

	/* Two bytes each, so that byte 300 is in the middle of one. */
	strcat(text, "x");
	for (int i = 0; i < 200; i++)
		strcat(text, "\u00fc");
	strcat(text, "\"]");
	answer = answer_of(text, 1);
	ck_assert_uint_eq(strlen(answer), strlen("[\"\"]...") + 299);
	ck_assert_ptr_nonnull(strstr(answer, "\u00fc...\"]"));
	free(answer);
}

TEST(mcp_answer_json_shortens_lists_until_they_fit)
{
	json_t *list = json_array(), *value, *back;
	char *answer;
	size_t shown;

	for (int i = 0; i < 5000; i++)
		json_array_append_new(list, json_sprintf("element %d", i));
	value = json_pack("{s:o}", "list", list);
	answer = mcp_answer_json(value, SIZE_MAX, "x");
	json_decref(value);
	ck_assert_uint_le(strlen(answer), MCP_TEXT_BYTES);
	ck_assert_uint_ge(strlen(answer), MCP_TEXT_BYTES / 2);
	back = json_loads(answer, 0, NULL);
	shown = json_array_size(json_object_get(back, "list"));
	ck_assert_uint_le(shown, MCP_ITEMS_MAX);
	ck_assert_int_eq(
		atoi(json_string_value(json_object_get(back, "list_more"))),
		5000 - (int)shown);
	json_decref(back);
	free(answer);
}

TEST(mcp_answer_json_refuses_a_long_element)
{
	json_t *value = json_object();

	for (int i = 0; i < 3000; i++) {
		char key[16];

		snprintf(key, sizeof(key), "key%d", i);
		json_object_set_new(value, key, json_null());
	}
	ck_assert_ptr_null(mcp_answer_json(value, 10, "x"));
	json_decref(value);
}

TEST(mcp_answer_text_cuts_between_lines)
{
	char text[4000], *answer;

	answer = mcp_answer_text("a\n\377b", 4, false, "x");
	ck_assert_str_eq(answer, "a\n?b\n");
	free(answer);
	answer = mcp_answer_text("a\n", 2, true, "x");
	ck_assert_str_eq(answer, "a\nthe rest is missing, narrow by x\n");
	free(answer);
	answer = mcp_answer_text("", 0, false, "x");
	ck_assert_str_eq(answer, "");
	free(answer);
	memset(text, 'y', sizeof(text));
	answer = mcp_answer_text(text, sizeof(text), false, "x");
	ck_assert_uint_eq(strlen(answer), 1000 + strlen("...\n"));
	free(answer);
}

TEST(mcp_answer_text_counts_missing_lines)
{
	char *text = malloc(400000), *answer, *last;
	size_t shown = 0;

	memset(text, '\n', 400000);
	answer = mcp_answer_text(text, 400000, false, "x");
	ck_assert_uint_le(strlen(answer), MCP_TEXT_BYTES);
	while (answer[shown] == '\n')
		shown++;
	last = answer + shown;
	ck_assert_uint_eq(strtoul(last, &last, 10), 400000 - shown);
	ck_assert_str_eq(last, " more lines, narrow by x\n");
	free(answer);
	free(text);
}
