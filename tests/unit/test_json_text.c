/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/json_text.h"

#include "tests/suite.h"

static void check_text(const char *text, const char *wanted)
{
	json_t *json = json_text(text);

	ck_assert_str_eq(json_string_value(json), wanted);
	json_decref(json);
}

START_TEST(json_text_of_utf8_is_the_text)
{
	check_text("", "");
	check_text("plain \"text\"\n", "plain \"text\"\n");
	check_text("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
}
END_TEST

START_TEST(json_text_replaces_bad_bytes_and_keeps_good_characters)
{
	check_text("\xff\xfe", "??");
	check_text("\xc3\xbc \xff \xed\xa0\x80", "\xc3\xbc ? ???");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_text");
	TCase *tcase = suite_case(suite, "json_text");

	tcase_add_test(tcase, json_text_of_utf8_is_the_text);
	tcase_add_test(tcase,
		       json_text_replaces_bad_bytes_and_keeps_good_characters);
	return suite_run(suite);
}
