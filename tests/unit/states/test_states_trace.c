/* SPDX-License-Identifier: Apache-2.0
 *
 * Text of state changes in a trace.
 */
#include "collector/states/states_trace.h"

#include "collector/states/states.h"
#include "tests/suite.h"

static void says(const struct states_change *change, const char *text)
{
	char name[STATES_TRACE_TEXT];

	states_trace_name(change, name);
	ck_assert_str_eq(name, text);
}

TEST(states_trace_says_what_changed_and_why)
{
	struct states_change change = {
		.name = "f",
		.from = FUNCTION_SPAN,
		.to = FUNCTION_COUNTED,
	};

	says(&change, "perfrec: f only counted");
	change.share = 1u << 29; /* of 2^32 */
	change.mean_ns = 1500;
	says(&change,
	     "perfrec: f only counted: 12.5 % of the CPU time, 1.50 us a call");
	change.by_hand = true;
	change.to = FUNCTION_OFF;
	says(&change, "perfrec: f off: asked for, 12.5 % of the CPU time, "
		      "1.50 us a call");
	change.share = change.mean_ns = 0;
	says(&change, "perfrec: f off: asked for");
	change.by_hand = false;
	change.to = FUNCTION_SPAN;
	says(&change, "perfrec: f recorded again");
	change.episode = true;
	change.share = 1u << 29; /* of the time before */
	says(&change, "perfrec: f recorded for a moment");
	change.last_episode = true;
	says(&change, "perfrec: f recorded for a moment (later moments are "
		      "not shown)");
	change.to = FUNCTION_COUNTED;
	says(&change, "perfrec: f only counted again");
}

TEST(states_trace_of_a_long_name_fits)
{
	static char name[100000];
	struct states_change change = {
		.name = name,
		.to = FUNCTION_COUNTED,
		.share = UINT32_MAX,
		.mean_ns = UINT32_MAX,
		.by_hand = true,
	};
	char text[STATES_TRACE_TEXT];

	memset(name, 'x', sizeof(name) - 1);
	states_trace_name(&change, text);
	ck_assert_uint_lt(strlen(text), STATES_TRACE_TEXT);
	ck_assert_ptr_nonnull(strstr(text, "100.0 % of the CPU time"));
}
