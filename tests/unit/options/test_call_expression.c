/* SPDX-License-Identifier: Apache-2.0
 *
 * call_expression: finding the comparison in a text whose names contain < and
 * >, the permitted parts, and positions of errors.
 */
#include "collector/options/call_expression.h"
#include "tests/suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"

#define MOST UINT64_MAX

static const struct {
	const char *text, *function;
	uint64_t min_ns, max_ns;
} good[] = {
	{ "f", "f", 0, MOST },
	{ "  f \t", "f", 0, MOST },
	{ "f > 10ms", "f", 10000001, MOST },
	{ "f >= 10ms", "f", 10000000, MOST },
	{ "f < 10ms", "f", 0, 9999999 },
	{ "f <= 10ms", "f", 0, 10000000 },
	{ "f>1.5us", "f", 1501, MOST },
	{ "f >=2 s ", "f", 2000000000, MOST },
	{ "f > 0ns", "f", 1, MOST },
	{ "f >= 0ns", "f", 0, MOST },
	{ "f <= 0ns", "f", 0, 0 },
	{ "f < 1ns", "f", 0, 0 },
	{ "parse_* > 1m", "parse_*", 60000000001, MOST },
	{ "ns::f(int, char*) > 5ns", "ns::f(int, char*)", 6, MOST },
	{ "f(unsigned long) const", "f(unsigned long) const", 0, MOST },
	{ "a<b>::f(int)", "a<b>::f(int)", 0, MOST },
	{ "a<b>::f(int) > 5ns", "a<b>::f(int)", 6, MOST },
	{ "a<b>::f(int)<5ns", "a<b>::f(int)", 0, 4 },
	{ "a<3>", "a<3>", 0, MOST },
	{ "a<3> > 5ns", "a<3>", 6, MOST },
	{ "int ns::f<A<int> >(B<C>)", "int ns::f<A<int> >(B<C>)", 0, MOST },
	{ "f<A<int> >", "f<A<int> >", 0, MOST },
	{ "f<A<int> > > 5ns", "f<A<int> >", 6, MOST },
	{ "f<A<int> > const", "f<A<int> > const", 0, MOST },
	{ "f(g<int> const&)", "f(g<int> const&)", 0, MOST },
	{ "operator>", "operator>", 0, MOST },
	{ "operator> > 5ns", "operator>", 6, MOST },
	{ "operator>>", "operator>>", 0, MOST },
	{ "operator>> >= 5ns", "operator>>", 5, MOST },
	{ "operator< < 5ns", "operator<", 0, 4 },
	{ "operator<", "operator<", 0, MOST },
	{ "operator<=", "operator<=", 0, MOST },
	{ "operator<=>", "operator<=>", 0, MOST },
	{ "operator<=> > 5ns", "operator<=>", 6, MOST },
	{ "operator->", "operator->", 0, MOST },
	{ "a::operator->(int) > 5ns", "a::operator->(int)", 6, MOST },
	{ "ns::operator>(A, B)", "ns::operator>(A, B)", 0, MOST },
	{ "ns::operator><int>(A) > 5ns", "ns::operator><int>(A)", 6, MOST },
	{ "bool operator< <A>(B<A>)", "bool operator< <A>(B<A>)", 0, MOST },
	{ "f<* > 5ns", "f<*", 6, MOST },
	{ "main::{lambda(int)#1}::operator()(int) const > 5ns",
	  "main::{lambda(int)#1}::operator()(int) const", 6, MOST },
	{ "f [clone .part.0] > 5ns", "f [clone .part.0]", 6, MOST },
	{ "vec<T>::at<3>", "vec<T>::at<3>", 0, MOST },
	{ "f = 5ms", "f = 5ms", 0, MOST },
};

TEST(the_last_comparison_of_a_text_is_the_one_that_counts,
     EACH(0, ARRAY_SIZE(good)))
{
	struct call_expression out;
	struct expression_error error;

	ck_assert_int_eq(call_expression_parse(good[_i].text, &out, &error), 0);
	ck_assert_str_eq(out.function, good[_i].function);
	ck_assert_uint_eq(out.min_ns, good[_i].min_ns);
	ck_assert_uint_eq(out.max_ns, good[_i].max_ns);
	ck_assert_int_eq(out.compares, good[_i].min_ns ||
					       good[_i].max_ns != MOST ||
					       strstr(good[_i].text, ">= 0"));
}

static const struct {
	const char *text;
	size_t at;
	const char *why; /* part of the expected message */
} bad[] = {
	{ "", 0, "name of a function" },
	{ "   ", 3, "name of a function" },
	{ "> 5ms", 0, "name of a function" },
	{ "  >= 5ms", 2, "name of a function" },
	{ "@lib.so > 5ms", 0, "no modules" },
	{ "f >", 3, "give a time" },
	{ "f > ", 4, "give a time" },
	{ "f >=", 4, "give a time" },
	{ "f > fast", 4, "give a time" },
	{ "f > -5ms", 4, "give a time" },
	{ "f > =5ms", 4, "give a time" },
	{ "f < x", 4, "give a time" },
	{ "f<int> > x", 9, "give a time" },
	{ "operator> > x", 12, "give a time" },
	{ "f > 5", 5, "unit" },
	{ "f > 5  ", 5, "unit" },
	{ "f > 5 parsecs", 4, "its unit" },
	{ "f > 5ms and more", 4, "its unit" },
	{ "f > 5msec", 4, "its unit" },
	{ "f > 5MS", 4, "its unit" },
	{ "f > 1.2.3ms", 4, "its unit" },
	{ "f > 5.ms", 4, "its unit" },
	{ "f > 99999999999999999999s", 4, "too large" },
	{ "f > 584942417400s", 4, "too large" },
	{ "f < 0ns", 2, "less than 0" },
	{ "f => 5ms", 2, "choose >" },
};

TEST(an_error_has_the_place_of_what_is_wrong, EACH(0, ARRAY_SIZE(bad)))
{
	struct call_expression out;
	struct expression_error error = { 0 };

	ck_assert_int_eq(call_expression_parse(bad[_i].text, &out, &error),
			 -EINVAL);
	ck_assert_uint_eq(error.at, bad[_i].at);
	ck_assert_msg(strstr(error.why, bad[_i].why), "'%s': %s", bad[_i].text,
		      error.why);
}

TEST(a_name_or_a_time_that_is_too_long_is_refused)
{
	static char text[EXPRESSION_GLOB + 32];
	struct call_expression out;
	struct expression_error error;

	memset(text, 'f', EXPRESSION_GLOB - 1);
	ck_assert_int_eq(call_expression_parse(text, &out, &error), 0);
	text[EXPRESSION_GLOB - 1] = 'f';
	ck_assert_int_eq(call_expression_parse(text, &out, &error), -EINVAL);
	memset(text, '9', sizeof(text) - 1);
	memcpy(text, "f > ", 4);
	memcpy(text + sizeof(text) - 4, "ms", 3);
	ck_assert_int_eq(call_expression_parse(text, &out, &error), -EINVAL);
	ck_assert_uint_eq(error.at, 4);
}

/* Conditions on arguments: the function and the time that are left, and each
 * condition as NAME COMPARISON TEXT. */
static const struct {
	const char *text, *function, *conditions;
	uint64_t min_ns;
} with_arguments[] = {
	{ "f(size > 4096) > 1ms", "f", "size > 4096", 1000001 },
	{ "f(a>=-3,b!=x*)", "f", "a >= -3|b != x*", 0 },
	{ "ns::f<A<int> >(ret < 0) ", "ns::f<A<int> >", "ret < 0", 0 },
	{ "f(name = \"a, b\", on = true)", "f", "name = a, b|on = true", 0 },
	{ "f(a.b<=0x10)", "f", "a.b <= 0x10", 0 },
	{ "f(name = \"x)y\", b = \"((\") > 1ms", "f", "name = x)y|b = ((",
	  1000001 },
	{ "operator\"\" _km(a = \")\")", "operator\"\" _km", "a = )", 0 },
	{ "f(int, char*) > 5ns", "f(int, char*)", "", 6 },
	{ "f(A<3>)", "f(A<3>)", "", 0 },
	{ "f()", "f()", "", 0 },
	{ "operator()(int)", "operator()(int)", "", 0 },
	{ "operator()(n = 1)", "operator()", "n = 1", 0 },
};

TEST(conditions_on_arguments_are_told_from_parameters,
     EACH(0, ARRAY_SIZE(with_arguments)))
{
	const struct argument_condition *list;
	struct expression_error error;
	struct call_expression got;
	char text[1024] = "";

	ck_assert_msg(
		!call_expression_parse(with_arguments[_i].text, &got, &error),
		"%s", with_arguments[_i].text);
	list = got.conditions.list;
	for (uint32_t i = 0; i < got.conditions.count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s%s %s%s%s %s", i ? "|" : "", list[i].name,
			 list[i].greater && list[i].less ? "!"
			 : list[i].greater		 ? ">"
			 : list[i].less			 ? "<"
							 : "",
			 list[i].equal ? "=" : "",
			 list[i].greater && list[i].less ? "=" : "",
			 list[i].text);
	ck_assert_str_eq(text, with_arguments[_i].conditions);
	ck_assert_str_eq(got.function, with_arguments[_i].function);
	ck_assert_uint_eq(got.min_ns, with_arguments[_i].min_ns);
}

TEST(malformed_conditions_are_refused_at_their_place)
{
	static const struct {
		const char *text;
		size_t at;
	} list[] = {
		{ "f(a > )", 6 },
		{ "f(a > b)", 6 },
		{ "f(a > 1, b)", 8 },
		{ "f(a > \"1\")", 7 },
		{ "f(a=1,b=1,c=1,d=1)", 14 },
		{ "f(ret < 0", 1 },
		{ "f(a = \"x)", 6 },
	};
	struct expression_error error;
	struct call_expression got;

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		ck_assert_int_eq(
			call_expression_parse(list[i].text, &got, &error),
			-EINVAL);
		ck_assert_msg(error.at == list[i].at, "'%s': %zu", list[i].text,
			      error.at);
	}
}

TEST(any_text_is_read_or_refused_with_a_place_in_it)
{
	static const char signs[] = "f<>=- 5ms.operator(),!\"";
	struct call_expression out;
	struct expression_error error;
	unsigned int seed = 7;
	char text[24];

	for (int i = 0; i < 200000; i++) {
		size_t length = (size_t)rand_r(&seed) % (sizeof(text) - 1);

		for (size_t j = 0; j < length; j++)
			text[j] = signs[(size_t)rand_r(&seed) %
					(sizeof(signs) - 1)];
		text[length] = '\0';
		if (call_expression_parse(text, &out, &error))
			ck_assert_uint_le(error.at, length);
		else
			ck_assert_msg(out.function[0] &&
					      out.min_ns <= out.max_ns,
				      "'%s'", text);
	}
}
