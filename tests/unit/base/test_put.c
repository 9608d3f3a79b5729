/* SPDX-License-Identifier: Apache-2.0
 *
 * put: numbers at the ends of their ranges, and texts that would control a
 * terminal or break a line or a JSON string.
 */
#include "collector/base/put.h"

#include <math.h>

#include "tests/suite.h"

#define RIGHT_TO_LEFT "\xe2\x80\xae" /* U+202E */

static char written[256];
static FILE *out;

static void open_out(void)
{
	memset(written, 0, sizeof(written));
	out = fmemopen(written, sizeof(written), "w");
	ck_assert_ptr_nonnull(out);
}

static void check_written(const char *expected)
{
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(written, expected);
	open_out();
}

static void close_out(void)
{
	fclose(out);
}

/* --- numbers --- */

FIXTURE(open_out, close_out);

TEST(count_has_all_its_digits_and_no_more)
{
	put_count(0, out);
	check_written("0");
	put_count(10, out);
	check_written("10");
	put_count(UINT64_MAX, out);
	check_written("18446744073709551615");
}

TEST(int_has_its_sign_even_the_smallest)
{
	put_int(0, out);
	check_written("0");
	put_int(-7, out);
	check_written("-7");
	put_int(INT64_MAX, out);
	check_written("9223372036854775807");
	put_int(INT64_MIN, out);
	check_written("-9223372036854775808");
}

TEST(thousandth_drops_only_the_zeros_at_the_end)
{
	static const struct {
		uint64_t number;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 1, "0.001" },
		{ 20, "0.02" },
		{ 300, "0.3" },
		{ 1000, "1" },
		{ 1001, "1.001" },
		{ 10000, "10" },
		{ 1234567, "1234.567" },
		{ UINT64_MAX, "18446744073709551.615" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		put_thousandth(cases[i].number, out);
		check_written(cases[i].text);
	}
}

TEST(real_can_be_read_back_and_is_null_if_json_has_none)
{
	double back;

	put_json_real(1.0 / 3, out);
	ck_assert_int_eq(fclose(out), 0);
	back = strtod(written, NULL);
	ck_assert_msg(back == 1.0 / 3, "it is %s", written);
	open_out();
	put_json_real(NAN, out);
	check_written("null");
	put_json_real(-INFINITY, out);
	check_written("null");
}

/* --- text of unknown origin --- */

TEST(next_tells_the_length_and_whether_it_is_seen)
{
	static const struct {
		const char *text;
		size_t bytes;
		bool seen;
	} cases[] = {
		{ " ", 1, true },
		{ "~", 1, true },
		{ "\x1f", 1, false },
		{ "\x7f", 1, false },
		{ "\xc2\x9f", 2, false },
		{ "\xc2\xa0", 2, true },
		{ "\xd8\x9c", 2, false },
		{ "\xe2\x80\x8a", 3, true },
		{ "\xe2\x80\x8b", 3, false },
		{ "\xe2\x80\x8e", 3, false },
		{ "\xe2\x80\x8f", 3, false },
		{ "\xe2\x80\xa7", 3, true },
		{ "\xe2\x80\xa8", 3, false },
		{ RIGHT_TO_LEFT, 3, false },
		{ "\xe2\x80\xaf", 3, true },
		{ "\xe2\x81\xa0", 3, false },
		{ "\xe2\x81\xa6", 3, false },
		{ "\xe2\x81\xa9", 3, false },
		{ "\xe2\x81\xb0", 3, true },
		{ "\xef\xbb\xbf", 3, false },
		{ "\xf0\x9f\x98\x80", 4, true },
		{ "\xf3\xa0\x81\x81", 4, false },
		{ "\xff", 1, false },
		{ "\xe2\x82", 1, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool seen = !cases[i].seen;
		size_t bytes =
			put_next(cases[i].text, strlen(cases[i].text), &seen);

		ck_assert_msg(bytes == cases[i].bytes && seen == cases[i].seen,
			      "text %zu", i);
	}
}

TEST(line_replaces_what_is_unseen_and_what_is_told)
{
	static const char text[] = "a;b\n\x1b[1m \xc3\xa9" RIGHT_TO_LEFT "\xff"
				   "c\0d";

	put_line(text, sizeof(text) - 1, NULL, out);
	check_written("a;b??[1m \xc3\xa9??c?d");
	put_line(text, sizeof(text) - 1, ";:cC", out);
	check_written("a:b??[1m \xc3\xa9??C?d");
	/* Only characters at even positions are replaced. */
	put_line(":;C", 3, ";:cC", out);
	check_written("::C");
	put_line(text, 0, NULL, out);
	check_written("");
}

/* --- JSON --- */

TEST(json_escapes_what_would_break_it)
{
	static const char text[] =
		"a\"b\\c\n\t\x1b \xc3\xa9" RIGHT_TO_LEFT "\xff\0z";

	put_json(text, sizeof(text) - 1, out);
	check_written("\"a\\\"b\\\\c\\n\\t\\u001b \xc3\xa9\\u202e?\\u0000z\"");
	/* Look-alike names stay different: U+200B, U+E0041. */
	put_json_text("a\xe2\x80\x8b"
		      "b\xf3\xa0\x81\x81",
		      out);
	check_written("\"a\\u200bb\\udb40\\udc41\"");
	put_json_text("plain", out);
	check_written("\"plain\"");
	put_json_text("", out);
	check_written("\"\"");
}

TEST(json_reads_no_byte_behind_the_text)
{
	/* The count cuts the last character. */
	put_json("ab\xc3\xa9", 3, out);
	check_written("\"ab?\"");
	put_line("ab\xc3\xa9", 3, NULL, out);
	check_written("ab?");
}
