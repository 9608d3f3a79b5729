/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/drain/traceparent.h"
#include "tests/suite.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"
#define ZEROS "00000000000000000000000000000000"

static bool parses(const char *text)
{
	static const struct trace_ids none;
	struct trace_ids ids;
	bool good = traceparent_parse(text, strlen(text), &ids);

	ck_assert_int_eq(good, trace_ids_are_set(&ids));
	if (!good)
		ck_assert_mem_eq(&ids, &none, sizeof(ids));
	return good;
}

TEST(traceparent_of_the_standard_is_read)
{
	static const char text[] = "00-" TRACE "-" SPAN "-01";
	struct trace_ids ids;

	ck_assert(traceparent_parse(text, strlen(text), &ids));
	ck_assert_uint_eq(ids.trace[0], 0x4b);
	ck_assert_uint_eq(ids.trace[15], 0x36);
	ck_assert_uint_eq(ids.span[1], 0xf0);
	ck_assert_uint_eq(ids.span[7], 0xb7);
	ck_assert(parses("00-" TRACE "-" SPAN "-ff"));
	ck_assert(parses("cc-" TRACE "-" SPAN "-00"));
	ck_assert(parses("cc-" TRACE "-" SPAN "-00-more"));
}

TEST(traceparent_of_another_form_is_none)
{
	ck_assert(!parses(""));
	ck_assert(!parses("00-" TRACE "-" SPAN));
	ck_assert(!parses("00-" TRACE "-" SPAN "-1"));
	ck_assert(!parses("00-" TRACE "-" SPAN "-01-"));
	ck_assert(!parses("00-" TRACE "-" SPAN "-01 "));
	ck_assert(!parses("cc-" TRACE "-" SPAN "-00more"));
	ck_assert(!parses("ff-" TRACE "-" SPAN "-01"));
	ck_assert(!parses("0-" TRACE "-" SPAN "-011"));
	ck_assert(!parses("00-" TRACE "_" SPAN "-01"));
	ck_assert(!parses("00-" ZEROS "-" SPAN "-01"));
	ck_assert(!parses("00-" TRACE "-0000000000000000-01"));
	ck_assert(!parses("00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01"));
	ck_assert(!parses("00-4bf92f3577b34da6a3ce929d0e0e473g-" SPAN "-01"));
	ck_assert(!parses("0x-" TRACE "-" SPAN "-01"));
	ck_assert(!parses("00-" TRACE "-" SPAN "-0x"));
}
