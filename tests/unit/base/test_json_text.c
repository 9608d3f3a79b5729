/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/json_text.h"

#include <errno.h>

#include "tests/suite.h"

static void check_text(const char *text, const char *wanted)
{
	json_t *json = json_text(text);

	ck_assert_str_eq(json_string_value(json), wanted);
	json_decref(json);
}

TEST(json_text_of_utf8_is_the_text)
{
	check_text("", "");
	check_text("plain \"text\"\n", "plain \"text\"\n");
	check_text("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
}

TEST(json_text_replaces_bad_bytes_and_keeps_good_characters)
{
	check_text("\xff\xfe", "??");
	check_text("\xc3\xbc \xff \xed\xa0\x80", "\xc3\xbc ? ???");
}

/* @text must be @wanted as JSON, without quotes, and itself when read. */
static void check_written(const char *text, const char *wanted)
{
	json_t *json = json_text(text), *back;
	char *written = NULL, quoted[128];
	size_t size;
	FILE *out = open_memstream(&written, &size);

	ck_assert_int_eq(json_text_write(json, JSON_ENCODE_ANY, out), 0);
	fclose(out);
	snprintf(quoted, sizeof(quoted), "\"%s\"", wanted);
	ck_assert_str_eq(written, quoted);
	back = json_loads(written, JSON_DECODE_ANY, NULL);
	ck_assert_str_eq(json_string_value(back), text);
	json_decref(back);
	json_decref(json);
	free(written);
}

TEST(json_text_writes_what_steers_a_terminal_with_escapes)
{
	check_written("plain \n", "plain \\n");
	check_written("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	check_written("a\x7f"
		      "b",
		      "a\\u007fb");
	check_written("\xc2\x85x\xc2\x9b", "\\u0085x\\u009b");
	check_written("a\xe2\x80\xae"
		      "b\xe2\x80\xa9",
		      "a\\u202eb\\u2029");
	check_written("\xf3\xa0\x81\x81\xf0\x9f\x98\x80",
		      "\\udb40\\udc41\xf0\x9f\x98\x80");
}

TEST(json_text_tells_that_it_cannot_write)
{
	FILE *out = fopen("/dev/full", "w");
	json_t *json = json_text("text \xc2\x85");

	setvbuf(out, NULL, _IONBF, 0);
	ck_assert_int_eq(json_text_write(json, JSON_ENCODE_ANY, out), -1);
	json_decref(json);
	fclose(out);
}

TEST(json_text_print_writes_a_whole_text_or_tells_why_not)
{
	char *written = NULL;
	size_t size;
	FILE *out = open_memstream(&written, &size);
	FILE *full = fopen("/dev/full", "w");

	ck_assert_int_eq(json_text_print(json_pack("{s:i}", "a", 1), out), 0);
	ck_assert_str_eq(written, "{\n \"a\": 1\n}\n");
	ck_assert_int_eq(json_text_print(json_pack("{s:i}", "a", 1), full),
			 -EIO);
	ck_assert_int_eq(json_text_print(NULL, out), -ENOMEM);
	fclose(full);
	fclose(out);
	free(written);
}
