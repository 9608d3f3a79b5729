/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_find.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/command/range_command.h"
#include "collector/command/trace_command.h"
#include "collector/options/call_expression.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"
#include "collector/read/call_search.h"
#include "collector/read/trace_index.h"
#include "collector/show/find_list.h"
#include "collector/show/progress.h"

#define LIMIT_USUAL 20

struct find_line {
	const char *dir, *text;
	struct call_expression expression;
	struct range_command range;
	struct call_wish wish;
	char trace_id[REQUEST_ID_DIGITS + 1];
	bool limited, json, full_names;
};

static int take_find_option(void *to, const struct opts_value *value)
{
	struct find_line *line = to;

	if (range_command_take(&line->range, value))
		return OPTS_GO_ON;
	switch (value->id) {
	case OPT_CALL_THREAD:
		line->wish.thread = value->text;
		break;
	case OPT_FIND_TRACE_ID:
		line->wish.trace_id = value->text;
		break;
	case OPT_FIND_LIMIT:
		line->wish.limit = value->number;
		line->limited = true;
		break;
	case OPT_FIND_SORT:
		line->wish.by_time = value->word == 1;
		break;
	case OPT_FULL_NAMES:
		line->full_names = true;
		break;
	case OPT_JSON:
		line->json = true;
		break;
	default:
		assert(!"an option without a case here");
	}
	return OPTS_GO_ON;
}

/* The operands are FUNC [DIR]. DIR FUNC is accepted as well. */
static int take_operands(struct find_line *line, int argc, char **argv)
{
	bool swapped = argc == 2 && trace_command_is_folder(argv[0]) &&
		       !trace_command_is_folder(argv[1]);

	if (argc < 1 || argc > 2 || !argv[0][0] || (argc == 2 && !argv[1][0])) {
		log_err("give a function, and maybe a time and the folder of a "
			"recording: perfrec find 'FUNC > TIME' [DIR]");
		return OPTS_WRONG;
	}
	line->text = argv[swapped];
	if (argc == 2)
		line->dir = argv[!swapped];
	return OPTS_GO_ON;
}

/* The user may give upper or lower case. Traces have lower case. */
static bool take_trace_id(struct find_line *line)
{
	const char *given = line->wish.trace_id;
	char *id = line->trace_id;

	if (strlen(given) != REQUEST_ID_DIGITS ||
	    strspn(given, "0123456789abcdefABCDEF") != REQUEST_ID_DIGITS ||
	    strspn(given, "0") == REQUEST_ID_DIGITS) {
		log_err("--trace-id: '%.100s' is no trace id: give 32 "
			"hexadecimal digits, not all 0",
			given);
		return false;
	}
	for (size_t i = 0; i < REQUEST_ID_DIGITS; i++)
		id[i] = (char)(given[i] >= 'A' && given[i] <= 'F'
				       ? given[i] + ('a' - 'A')
				       : given[i]);
	line->wish.trace_id = id;
	return true;
}

static int parse_find_line(int argc, char **argv, struct find_line *line)
{
	int result = opts_parse(CMD_FIND, argc, argv, take_find_option, line);
	struct expression_error error;

	if (result == OPTS_GO_ON)
		result = take_operands(line, argc - optind, argv + optind);
	if (result != OPTS_GO_ON)
		return result;
	if (line->wish.trace_id && !take_trace_id(line))
		return OPTS_WRONG;
	if (call_expression_parse(line->text, &line->expression, &error)) {
		expression_complain("perfrec find", line->text, &error);
		return OPTS_WRONG;
	}
	line->wish.function = line->expression.function;
	line->wish.min_ns = line->expression.min_ns;
	line->wish.max_ns = line->expression.max_ns;
	if (line->expression.conditions.count)
		line->wish.conditions = &line->expression.conditions;
	if (!line->limited)
		line->wish.limit = line->json ? 0 : LIMIT_USUAL;
	return range_command_check(&line->range);
}

/* Returns 0, or -errno as range_command_read() and call_search_run(). */
static int run_search(struct find_line *line, struct call_search **out)
{
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	char path[PATH_MAX];
	int err = trace_command_path(line->dir, path);

	if (!err)
		err = range_command_part(&line->range, line->dir, path,
					 &line->wish.range);
	if (err)
		return err;
	progress_begin(&progress, "reading the trace", true);
	err = call_search_run(path, &line->wish, &tell, out);
	progress_end(&progress);
	return err;
}

static bool saw_found_function(const void *search, uint32_t text)
{
	return call_search_saw_function(search, text);
}

/* Returns the name in the first condition whose argument no call has, or NULL.
 * With a time not all arguments were read. */
static const char *unnamed_argument(const struct find_line *line,
				    const struct call_search *search)
{
	const struct argument_conditions *conditions =
		&line->expression.conditions;

	for (uint32_t i = 0;
	     !line->expression.compares && i < conditions->count; i++)
		if (!(search->named >> i & 1))
			return conditions->list[i].name;
	return NULL;
}

static void say_none(const struct find_line *line,
		     const struct call_search *search)
{
	char calls[SIZE_TEXT], shortest[SIZE_TEXT], longest[SIZE_TEXT];
	bool part = line->wish.thread || range_command_given(&line->range);
	/* With a minimum, the search skips shorter calls by the index, so the
	 * shortest one is unknown. */
	bool at_most = line->wish.min_ns;
	const char *unnamed = unnamed_argument(line, search);

	if (!search->met_function)
		trace_command_say_function("perfrec find", line->wish.function,
					   search->reader, saw_found_function,
					   search);
	else if (!search->met_thread)
		trace_command_say_thread(line->wish.thread, search->reader);
	else if (!search->met_request)
		log_err("no thread worked on a request with the trace id %s",
			line->wish.trace_id);
	else if (!search->seen && line->wish.trace_id)
		log_err("'%.200s' has calls, but none in this request%s",
			line->wish.function, part ? " in the chosen part" : "");
	else if (!search->seen)
		log_err("'%.200s' has calls, but none in the chosen %s",
			line->wish.function,
			!range_command_given(&line->range) ? "thread"
			: line->wish.thread		   ? "thread and range"
							   : "range");
	else if (unnamed)
		log_err("no call of '%.200s' has an argument '%s' (perfrec "
			"record --args records arguments and results)",
			line->wish.function, unnamed);
	else if (line->wish.conditions)
		log_err("no call matches '%.200s': %s call%s%s %s other "
			"arguments%s",
			line->text, size_format_count(search->seen, calls),
			search->seen == 1 ? "" : "s",
			part ? " in the chosen part" : "",
			search->seen == 1 ? "has" : "have",
			line->expression.compares ? " or times" : "");
	else
		log_err("no call matches '%.200s': %s call%s%s took %s%s%s",
			line->text, size_format_count(search->seen, calls),
			search->seen == 1 ? "" : "s",
			part ? " in the chosen part" : "",
			at_most ? "at most"
				: size_format_ns(search->shortest_ns, shortest),
			at_most ? " " : " to ",
			size_format_ns(search->longest_ns, longest));
}

static int print_found(const struct find_line *line,
		       const struct call_search *search)
{
	const struct find_list list = {
		.search = search,
		.expression = line->text,
		.first_ns = search->bounds.first_ns,
		.full_names = line->full_names,
	};
	int err = 0;

	if (!search->count)
		say_none(line, search);
	if (line->json && search->met_function && search->met_thread)
		err = find_list_write_json(&list, stdout);
	else if (search->count)
		err = find_list_print(&list, stdout);
	if (err == -EIO)
		(void)text_out_finish();
	else if (err)
		log_err("out of memory");
	return err;
}

int cmd_find(int argc, char **argv)
{
	struct find_line line = { .dir = RECORDING_DIR };
	struct call_search *search = NULL;
	int err, status, result = parse_find_line(argc, argv, &line);

	if (result != OPTS_GO_ON)
		return result;
	err = run_search(&line, &search);
	if (err) {
		if (err != -EDOM)
			trace_command_log_open(line.dir, err);
		return OPTS_FAILED;
	}
	if (!search->totals.packets) {
		status = trace_command_check(line.dir, search->err,
					     &search->totals);
		call_search_free(&search);
		return status;
	}
	err = print_found(&line, search);
	trace_command_say_short(search->reader);
	trace_command_say_index(line.dir, trace_index_told(search->index),
				search->totals.size);
	status = trace_command_check(line.dir, search->err, &search->totals);
	if (err || !search->count)
		status = OPTS_FAILED;
	call_search_free(&search);
	return status;
}
