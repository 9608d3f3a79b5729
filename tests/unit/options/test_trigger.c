/* SPDX-License-Identifier: Apache-2.0
 *
 * trigger: the meaning of each spelling, and positions of errors.
 */
#include "collector/options/trigger.h"
#include "tests/suite.h"

#include <errno.h>
#include <signal.h>

static const struct {
	const char *text, *name;
	uint64_t min_ns;
} calls[] = {
	{ "f > 10ms", "f", 10000001 },
	{ " f>=10ms ", "f", 10000000 },
	{ "f > 0ns", "f", 1 },
	{ "parse_* > 1.5us", "parse_*", 1501 },
	{ "@libfoo.so* > 1s", "@libfoo.so*", 1000000001 },
	{ "operator> > 5ns", "operator>", 6 },
	{ "int ns::f<A<int> >(B<C>) > 5ns", "int ns::f<A<int> >(B<C>)", 6 },
	{ "crash > 5ns", "crash", 6 },
	{ "counter >= 5ns", "counter", 5 },
	{ "annotation>5ns", "annotation", 6 },
	{ "signal > 5ns", "signal", 6 },
	{ "call > 5ns", "call", 6 },
	{ "call f > 5ns", "f", 6 },
	{ "call counter f(int) > 5ns", "counter f(int)", 6 },
	{ "call call > 5ns", "call", 6 },
	{ "crashes(int) > 5ns", "crashes(int)", 6 },
	{ "counter::f() > 5ns", "counter::f()", 6 },
};

TEST(a_call_has_a_name_and_a_time, EACH(0, ARRAY_SIZE(calls)))
{
	struct expression_error error;
	struct trigger out;

	ck_assert_int_eq(trigger_parse(calls[_i].text, &out, &error), 0);
	ck_assert_int_eq(out.kind, TRIGGER_CALL);
	ck_assert_str_eq(out.name, calls[_i].name);
	ck_assert_uint_eq(out.min_ns, calls[_i].min_ns);
	ck_assert_ptr_eq(out.text, calls[_i].text);
}

static const struct {
	const char *text, *name, *argument[2];
	uint32_t count;
	uint64_t min_ns;
} conditioned[] = {
	{ "f(size > 4096) > 5ns", "f", { "size" }, 1, 6 },
	{ "call f(a=1,ret<0) >= 5ns", "f", { "a", "ret" }, 2, 5 },
	{ "ns::g<int>(text = \"a > b\") > 5ns",
	  "ns::g<int>",
	  { "text" },
	  1,
	  6 },
	{ "crash(number = 6) > 5ns", "crash", { "number" }, 1, 6 },
	{ "f(int, char*) > 5ns", "f(int, char*)", { NULL }, 0, 6 },
};

TEST(a_call_may_have_conditions_on_its_arguments,
     EACH(0, ARRAY_SIZE(conditioned)))
{
	struct expression_error error;
	struct trigger out;

	ck_assert_int_eq(trigger_parse(conditioned[_i].text, &out, &error), 0);
	ck_assert_int_eq(out.kind, TRIGGER_CALL);
	ck_assert_str_eq(out.name, conditioned[_i].name);
	ck_assert_uint_eq(out.min_ns, conditioned[_i].min_ns);
	ck_assert_ptr_eq(out.text, conditioned[_i].text);
	ck_assert_uint_eq(out.conditions.count, conditioned[_i].count);
	for (uint32_t i = 0; i < out.conditions.count; i++)
		ck_assert_str_eq(out.conditions.list[i].name,
				 conditioned[_i].argument[i]);
}

static const struct {
	const char *text, *name;
	double times;
	bool equal;
} relative[] = {
	{ "f > p99", "f", 1, false },
	{ "f >= p99", "f", 1, true },
	{ "f > 5 x p99", "f", 5, false },
	{ "f > 5x p99", "f", 5, false },
	{ "f >5*p99", "f", 5, false },
	{ "f >= 1.5 * p99  ", "f", 1.5, true },
	{ "call f<int> > 1000000 x p99", "f<int>", 1e6, false },
};

TEST(a_call_may_be_held_against_the_p99_of_its_function,
     EACH(0, ARRAY_SIZE(relative)))
{
	struct expression_error error;
	struct trigger out;

	ck_assert_int_eq(trigger_parse(relative[_i].text, &out, &error), 0);
	ck_assert_int_eq(out.kind, TRIGGER_P99);
	ck_assert_str_eq(out.name, relative[_i].name);
	ck_assert_double_eq(out.times, relative[_i].times);
	ck_assert_int_eq(out.equal, relative[_i].equal);
}

static const struct {
	const char *text, *name;
	double bound;
	bool greater, equal;
} counters[] = {
	{ "counter queue > 100", "queue", 100, true, false },
	{ "counter queue depth >= 100", "queue depth", 100, true, true },
	{ "counter free* < 5", "free*", 5, false, false },
	{ "counter t <= -0.5", "t", -0.5, false, true },
	{ "counter a->b > 2K", "a->b", 2048, true, false },
	{ "counter lag > 5ms", "lag", 5e6, true, false },
	{ "counter heap > 1.5G", "heap", 1.5 * (1 << 30), true, false },
};

TEST(a_counter_has_a_bound_on_one_side, EACH(0, ARRAY_SIZE(counters)))
{
	struct expression_error error;
	struct trigger out;

	ck_assert_int_eq(trigger_parse(counters[_i].text, &out, &error), 0);
	ck_assert_int_eq(out.kind, TRIGGER_COUNTER);
	ck_assert_str_eq(out.name, counters[_i].name);
	ck_assert_double_eq(out.bound, counters[_i].bound);
	ck_assert_int_eq(out.greater, counters[_i].greater);
	ck_assert_int_eq(out.equal, counters[_i].equal);
	ck_assert_int_eq(trigger_is_beyond(&out, out.bound), out.equal);
	ck_assert_int_eq(trigger_is_beyond(&out, out.bound + 1), out.greater);
	ck_assert_int_eq(trigger_is_beyond(&out, out.bound - 1), !out.greater);
}

static const struct {
	const char *text;
	enum trigger_kind kind;
	const char *name;
	int signal;
} others[] = {
	{ "annotation", TRIGGER_ANNOTATION, "", 0 },
	{ "annotation too late ", TRIGGER_ANNOTATION, "too late", 0 },
	{ "annotation > late", TRIGGER_CALL, NULL, 0 },
	{ "annotation late*", TRIGGER_ANNOTATION, "late*", 0 },
	{ "signal USR1", TRIGGER_SIGNAL, "", SIGUSR1 },
	{ " signal  SIGUSR2 ", TRIGGER_SIGNAL, "", SIGUSR2 },
	{ "crash", TRIGGER_CRASH, "", 0 },
	{ " crash ", TRIGGER_CRASH, "", 0 },
};

TEST(a_word_says_what_else_it_is_of, EACH(0, ARRAY_SIZE(others)))
{
	struct expression_error error;
	struct trigger out;
	int err = trigger_parse(others[_i].text, &out, &error);

	ck_assert_int_eq(err, others[_i].name ? 0 : -EINVAL);
	if (err)
		return;
	ck_assert_int_eq(out.kind, others[_i].kind);
	ck_assert_str_eq(out.name, others[_i].name);
	ck_assert_int_eq(out.signal, others[_i].signal);
}

static const struct {
	const char *text;
	size_t at;
	const char *why; /* part of the expected message */
} bad[] = {
	{ "", 0, "give a trigger" },
	{ "  ", 2, "give a trigger" },
	{ "f(size > 4096, 1) > 1ms", 14, "NAME > NUMBER" },
	{ "call f(a > ) > 1ms", 11, "a value to compare" },
	{ "f(a=1,b=1,c=1,d=1) > 1ms", 14, "at most 3 conditions" },
	{ "f", 1, "comparison is missing" },
	{ "parse_request  ", 15, "comparison is missing" },
	{ "operator>", 9, "comparison is missing" },
	{ "f<A<int> >", 10, "comparison is missing" },
	{ "call", 4, "comparison is missing" },
	{ "call f", 6, "comparison is missing" },
	{ "> 5ms", 0, "name of a function" },
	{ "@ > 5ms", 0, "name of a function" },
	{ "f < 5ms", 2, "most calls are short" },
	{ "f <= 5ms", 2, "most calls are short" },
	{ "f => 5ms", 2, "choose >" },
	{ "f >", 3, "give a time" },
	{ "f > soon", 4, "multiple of the p99" },
	{ "f > -5ms", 4, "give a time" },
	{ "f > 10", 6, "unit" },
	{ "f > 10 parsecs", 4, "its unit" },
	{ "f > 99999999999999999999s", 4, "too large" },
	{ "f > p98", 4, "multiple of the p99" },
	{ "f > p999", 4, "multiple of the p99" },
	{ "f > p99 x 5", 4, "multiple of the p99" },
	{ "f > 5 x", 7, "give p99" },
	{ "f > 5 * p50", 8, "give p99" },
	{ "f > 5 x p99 or so", 8, "give p99" },
	{ "f > 0.5 x p99", 4, "factor from 1" },
	{ "f > 1000001 x p99", 4, "factor from 1" },
	{ "f > 1.2.3 x p99", 4, "factor" },
	{ "f > 11111111111111111111111111111111 x p99", 4, "too long" },
	{ "counter", 7, "comparison is missing" },
	{ "counter queue", 13, "comparison is missing" },
	{ "counter queue > ", 16, "give a number" },
	{ "counter queue > many", 16, "give a number" },
	{ "counter queue > --5", 17, "give a number" },
	{ "counter queue > 5%", 16, "without %" },
	{ "counter queue > 5 parsecs", 18, "or no unit" },
	{ "counter queue => 5", 14, "choose >" },
	{ "signal", 6, "choose USR1" },
	{ "signal KILL", 7, "choose USR1" },
	{ "signal USR1 USR2", 7, "choose USR1" },
	{ "crash now", 6, "crash takes no argument" },
};

TEST(an_error_has_the_place_of_what_is_wrong, EACH(0, ARRAY_SIZE(bad)))
{
	struct expression_error error = { 0 };
	struct trigger out;

	ck_assert_int_eq(trigger_parse(bad[_i].text, &out, &error), -EINVAL);
	ck_assert_msg(error.at == bad[_i].at, "'%s': %zu: %s", bad[_i].text,
		      error.at, error.why);
	ck_assert_msg(strstr(error.why, bad[_i].why), "'%s': %s", bad[_i].text,
		      error.why);
}

TEST(a_name_that_is_too_long_is_refused)
{
	static char text[EXPRESSION_GLOB + 32];
	struct expression_error error;
	struct trigger out;

	memset(text, 'f', EXPRESSION_GLOB - 1);
	strcpy(text + EXPRESSION_GLOB - 1, " > 5ms");
	ck_assert_int_eq(trigger_parse(text, &out, &error), 0);
	text[EXPRESSION_GLOB - 1] = 'f';
	ck_assert_int_eq(trigger_parse(text, &out, &error), -EINVAL);
	ck_assert_uint_eq(error.at, 0);
}

TEST(any_text_is_read_or_refused_with_a_place_in_it)
{
	static const char *const pieces[] = {
		"f",  "<",    ">",	 "=", " ",	"5",   ".",
		"ms", "p99",  "x",	 "*", "signal", "-",   "USR1",
		"%",  "call", "counter", "@", "crash",	"K99",
	};
	struct expression_error error;
	struct trigger out;
	unsigned int seed = 7;
	char text[80];

	for (int i = 0; i < 200000; i++) {
		int count = rand_r(&seed) % 10;

		text[0] = '\0';
		for (int j = 0; j < count; j++)
			strcat(text, pieces[(size_t)rand_r(&seed) %
					    ARRAY_SIZE(pieces)]);
		if (!trigger_parse(text, &out, &error))
			continue;
		ck_assert_uint_le(error.at, strlen(text));
		ck_assert_uint_gt(strlen(error.why), 0);
	}
}
