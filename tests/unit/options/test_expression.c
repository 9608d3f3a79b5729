/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions: the permitted parts, and positions of errors.
 */
#include "collector/options/expression.h"
#include "tests/suite.h"

#include <errno.h>

static const struct {
	const char *text, *value, *glob;
	bool growth;
	double number;
	enum expression_unit unit;
} good[] = {
	{ "calls(parse*) > +1%", "calls", "parse*", true, 1,
	  EXPRESSION_PERCENT },
	{ "wall.total(main)>2s", "wall.total", "main", false, 2e9,
	  EXPRESSION_NS },
	{ " bytes ( f ) > + 1.5 K ", "bytes", "f", true, 1536,
	  EXPRESSION_BYTES },
	{ "calls(f(int, char*)) > 7", "calls", "f(int, char*)", false, 7,
	  EXPRESSION_COUNT },
	{ "calls(a::operator>(b<c>)) > 0.25us", "calls", "a::operator>(b<c>)",
	  false, 250, EXPRESSION_NS },
	{ "x_1(@lib.so) > 3ns", "x_1", "@lib.so", false, 3, EXPRESSION_NS },
	{ "x(*) > 4ms", "x", "*", false, 4e6, EXPRESSION_NS },
	{ "x(*) > 4B", "x", "*", false, 4, EXPRESSION_BYTES },
	{ "x(*) > 4M", "x", "*", false, 4 << 20, EXPRESSION_BYTES },
	{ "x(*) > 1G", "x", "*", false, 1 << 30, EXPRESSION_BYTES },
};

TEST(expression_parse_reads_each_part, EACH(0, ARRAY_SIZE(good)))
{
	struct expression out;
	struct expression_error error;

	ck_assert_int_eq(expression_parse(good[_i].text, false, &out, &error),
			 0);
	ck_assert_str_eq(out.value, good[_i].value);
	ck_assert_str_eq(out.glob, good[_i].glob);
	ck_assert_int_eq(out.growth, good[_i].growth);
	ck_assert_double_eq(out.number, good[_i].number);
	ck_assert_int_eq(out.unit, good[_i].unit);
}

static const struct {
	const char *text;
	size_t at;
	const char *why; /* part of the expected message */
} bad[] = {
	{ "", 0, "> is missing" },
	{ "calls(f)", 8, "> is missing" },
	{ "calls(f) > ", 11, "a number" },
	{ "calls(f) > x", 11, "a number" },
	{ "calls(f) > 1.", 11, "a number" },
	{ "calls(f) > .5", 11, "a number" },
	{ "calls(f) > -1", 11, "a number" },
	{ "calls(f) > 1234567890123456789", 11, "a number" },
	{ "calls(f) > 1 lightyear", 13, "choose %" },
	{ "calls(f) > 1k", 12, "choose %" },
	{ "calls(f) > 1%", 11, "put +" },
	{ "calls() > 1", 6, "pattern" },
	{ "calls(  ) > 1", 8, "pattern" },
	{ "calls( > 1", 6, ") is missing" },
	{ "calls(f > 1", 7, ") is missing" },
	{ "calls > 1", 6, "VALUE(GLOB)" },
	{ "(f) > 1", 0, "VALUE(GLOB)" },
	{ "> 1", 0, "VALUE(GLOB)" },
	{ "Calls(f) > 1", 0, "VALUE(GLOB)" },
};

TEST(expression_parse_points_at_what_is_wrong, EACH(0, ARRAY_SIZE(bad)))
{
	struct expression out;
	struct expression_error error = { SIZE_MAX, "" };

	ck_assert_int_eq(expression_parse(bad[_i].text, false, &out, &error),
			 -EINVAL);
	ck_assert_uint_eq(error.at, bad[_i].at);
	ck_assert_ptr_nonnull(strstr(error.why, bad[_i].why));
}

TEST(expression_parse_bare_takes_a_glob_alone)
{
	struct expression out;
	struct expression_error error;

	ck_assert_int_eq(expression_parse("parse* > 5ms", true, &out, &error),
			 0);
	ck_assert_str_eq(out.value, "");
	ck_assert_str_eq(out.glob, "parse*");
	ck_assert_int_eq(
		expression_parse("f(int) const > 5ms", true, &out, &error), 0);
	ck_assert_str_eq(out.glob, "f(int) const");
	ck_assert_int_eq(expression_parse(" > 5ms", true, &out, &error),
			 -EINVAL);
}

TEST(expression_parse_refuses_what_is_too_long)
{
	char text[EXPRESSION_GLOB + 64];
	struct expression out;
	struct expression_error error;

	memset(text, 'a', sizeof(text));
	memcpy(text, "calls(", 6);
	strcpy(text + 6 + EXPRESSION_GLOB - 1, ") > 1");
	ck_assert_int_eq(expression_parse(text, false, &out, &error), 0);
	strcpy(text + 6 + EXPRESSION_GLOB, ") > 1");
	ck_assert_int_eq(expression_parse(text, false, &out, &error), -EINVAL);
	memset(text, 'a', EXPRESSION_WORD);
	strcpy(text + EXPRESSION_WORD, "(f) > 1");
	ck_assert_int_eq(expression_parse(text, false, &out, &error), -EINVAL);
	ck_assert_int_eq(expression_parse(text + 1, false, &out, &error), 0);
}
