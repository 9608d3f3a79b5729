/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cut_calls.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/command/trace_command.h"
#include "collector/read/call_search.h"
#include "collector/show/progress.h"
#include "shared/compiler.h"

/* --- the command line --- */

/* Returns ":N" at the end of "FUNC:N", or NULL, also for "ns::2". */
static const char *count_behind(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (!colon || colon == text || colon[-1] == ':' || !colon[1] ||
	    colon[1 + strspn(colon + 1, "0123456789")])
		return NULL;
	return colon;
}

static int take_slowest(struct cut_calls *calls, const struct opts_value *value)
{
	const char *colon = count_behind(value->text);
	size_t length =
		colon ? (size_t)(colon - value->text) : strlen(value->text);

	calls->limit = 1;
	if (colon &&
	    size_parse_count(colon + 1, 1, CUT_CALLS_MAX, &calls->limit))
		return opts_refuse(value, "behind the colon, give a number of "
					  "calls from 1 to 1000");
	if (length >= sizeof(calls->expression.function))
		return opts_refuse(value, "give a shorter name");
	memcpy(calls->expression.function, value->text, length);
	calls->expression.function[length] = '\0';
	calls->expression.min_ns = 0;
	calls->expression.max_ns = UINT64_MAX;
	calls->expression.conditions.count = 0;
	return OPTS_GO_ON;
}

static int take_around(struct cut_calls *calls, const struct opts_value *value)
{
	struct expression_error error;

	calls->limit = CUT_CALLS_MAX;
	if (!call_expression_parse(value->text, &calls->expression, &error))
		return OPTS_GO_ON;
	expression_complain(value->name, value->text, &error);
	return OPTS_WRONG;
}

int cut_calls_take(struct cut_calls *calls, const struct opts_value *value,
		   bool *taken)
{
	*taken = true;
	switch (value->id) {
	case OPT_CUT_AROUND:
	case OPT_CUT_SLOWEST:
		if (calls->option && strcmp(calls->option, value->name) != 0) {
			log_err("%s: not together with %s; choose one",
				value->name, calls->option);
			return OPTS_WRONG;
		}
		calls->option = value->name;
		calls->text = value->text;
		return value->id == OPT_CUT_AROUND ? take_around(calls, value)
						   : take_slowest(calls, value);
	case OPT_CUT_MARGIN:
		calls->has_margin = true;
		calls->margin_ns = value->number;
		return OPTS_GO_ON;
	default:
		*taken = false;
		return OPTS_GO_ON;
	}
}

/* --- the calls --- */

static bool saw_cut_function(const void *search, uint32_t text)
{
	return call_search_saw_function(search, text);
}

static int add_calls(const struct cut_calls *calls, const char *dir,
		     const struct call_search *search,
		     struct cut_ranges *ranges, struct cut_calls_found *found)
{
	int err = 0;

	found->matched = search->matched;
	found->count = search->count;
	found->bounds = search->bounds;
	if (!search->count) {
		/* A damaged trace may have lost them. */
		if (trace_command_check(dir, search->err, &search->totals) ==
		    OPTS_OK) {
			if (!search->met_function)
				trace_command_say_function(
					calls->option,
					calls->expression.function,
					search->reader, saw_cut_function,
					search);
			else if (!search->met_thread)
				trace_command_say_thread(calls->thread,
							 search->reader);
			else
				log_err("%s '%.200s': no call matches; perfrec "
					"find '%.200s' lists the calls of this "
					"function",
					calls->option, calls->text,
					calls->expression.function);
		}
		return -ESRCH;
	}
	for (size_t i = 0; i < search->count && !err; i++) {
		uint64_t took =
			search->calls[i].end_ns - search->calls[i].begin_ns;
		uint64_t margin = calls->has_margin
					  ? calls->margin_ns
					  : MAX(took / 10, CUT_MARGIN_LEAST_NS);
		uint64_t before = MIN(margin, search->calls[i].begin_ns);
		uint64_t after =
			MIN(margin, UINT64_MAX - 1 - search->calls[i].end_ns);

		/* A range excludes its end, so the end is after that of the
		 * call. */
		err = cut_ranges_add(ranges, search->calls[i].begin_ns - before,
				     search->calls[i].end_ns + after + 1);
	}
	return err;
}

int cut_calls_find(const struct cut_calls *calls, const char *dir,
		   const char *path, const struct time_range *within,
		   struct cut_ranges *ranges, struct cut_calls_found *found)
{
	const struct call_wish wish = {
		.function = calls->expression.function,
		.min_ns = calls->expression.min_ns,
		.max_ns = calls->expression.max_ns,
		.conditions = calls->expression.conditions.count
				      ? &calls->expression.conditions
				      : NULL,
		.range = *within,
		.thread = calls->thread,
		.limit = calls->limit,
	};
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	struct call_search *search;
	int err;

	progress_begin(&progress, "looking for the calls", true);
	err = call_search_run(path, &wish, &tell, &search);
	progress_end(&progress);
	if (err)
		return err;
	err = add_calls(calls, dir, search, ranges, found);
	call_search_free(&search);
	return err;
}
