/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a critical path stops, in words.
 */
#include "collector/show/path_list_json.h"

#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"

static struct critical_path g_path;
static const struct path_list g_list = { .path = &g_path };

static uint32_t number_text(const char *text)
{
	return trace_texts_number(&g_path.texts, (const uint8_t *)text,
				  strlen(text));
}

static void make_path(void)
{
	g_path.budget.left = 1 << 20;
	ck_assert_int_eq(trace_texts_init(&g_path.texts, &g_path.budget), 0);
}

static void release_path(void)
{
	trace_texts_release(&g_path.texts);
}

FIXTURE(make_path, release_path);

static void expect_stop(enum path_stop_why why, const char *wanted)
{
	const struct path_stop stop = {
		.why = why,
		.thread = number_text("worker"),
		.tid = 7,
		.object = number_text("[pipe 5]"),
	};
	char *text = path_stop_text(&g_list, &stop);

	ck_assert_str_eq(text, wanted);
	free(text);
}

TEST(a_path_says_why_it_stops)
{
	expect_stop(PATH_STOP_WAKER,
		    "no record says who ended the wait of thread 7 worker for "
		    "[pipe 5]");
	expect_stop(PATH_STOP_SILENT,
		    "no call was recorded of the thread that ended the wait of "
		    "thread 7 worker for [pipe 5]");
	expect_stop(PATH_STOP_START, "no record says who started thread 7 "
				     "worker");
	expect_stop(
		PATH_STOP_WAITED,
		"by the trace, thread 7 worker waited when it ended another "
		"wait");
}
