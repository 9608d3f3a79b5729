/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_top.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/command/ctl_ask.h"
#include "collector/command/top_session.h"
#include "collector/options/ctl_wire.h"
#include "collector/options/opts.h"
#include "collector/show/top_rates.h"
#include "collector/show/top_screen.h"

struct top_line {
	struct ctl_request request;
	bool json, batch, full_names;
	uint64_t interval_ns;
	uint64_t count; /* tables; 0: unlimited */
	uint64_t limit; /* functions; 0: all */
	bool has_limit;
};

static int take_top_option(void *to, const struct opts_value *value)
{
	struct top_line *line = to;

	switch (value->id) {
	case OPT_TOP_SOCKET:
		line->request.socket = value->text;
		break;
	case OPT_TOP_DIR:
		line->request.dir = value->text;
		break;
	case OPT_TOP_INTERVAL:
		line->interval_ns = value->number;
		break;
	case OPT_TOP_BATCH:
		line->batch = true;
		break;
	case OPT_TOP_COUNT:
		line->count = value->number;
		break;
	case OPT_TOP_LIMIT:
		line->limit = value->number;
		line->has_limit = true;
		break;
	case OPT_FULL_NAMES:
		line->full_names = true;
		break;
	case OPT_JSON:
		line->json = true;
		break;
	default:
		assert(!"an option of perfrec top that nobody takes");
	}
	return OPTS_GO_ON;
}

static int refuse_operand(const char *word, const char *why)
{
	log_err("'%.200s': %s; see perfrec top --help", word, why);
	return OPTS_WRONG;
}

static int print_one(const struct top_line *line, const json_t *before,
		     const json_t *after, bool first)
{
	struct top_rates rates;
	int err = top_rates_make(before, after, &rates);

	if (err == -EPROTO)
		log_err("perfrec-collect gives no sums: it is of another "
			"version, or out of memory");
	else if (err)
		log_err("out of memory");
	if (err)
		return err;
	if (line->json) {
		top_rates_print_json(&rates, line->limit, stdout);
	} else {
		if (!first)
			putchar('\n');
		err = top_rates_print(&rates, line->limit, line->full_names,
				      stdout);
		if (err)
			log_err("out of memory");
	}
	top_rates_release(&rates);
	return err;
}

/* Returns true if the terminal can show the full-screen view, or warns that it
 * cannot. */
static bool wants_screen(const struct top_line *line)
{
	const char *why;

	if (line->json || line->batch || line->count || line->has_limit)
		return false;
	if (top_screen_is_possible(&why))
		return true;
	if (why)
		log_warn("%s: tables follow", why);
	return false;
}

int cmd_top(int argc, char **argv)
{
	struct top_line line = { .request = { .command = "top", .verb = "top" },
				 .interval_ns = 2000000000,
				 .limit = 20 };
	char found[SOCKET_PATH_BYTES];
	int result = opts_parse(CMD_TOP, argc, argv, take_top_option, &line);
	const char *target = argc > optind ? argv[optind] : NULL;

	if (result != OPTS_GO_ON)
		return result;
	if (argc > optind + 1)
		return refuse_operand(argv[optind + 1], "one target at a time");
	if (target && (!target[0] || strpbrk(target, "\t\n") ||
		       strlen(target) > CTL_REQUEST_MAX / 4))
		return refuse_operand(target,
				      "give the pid or the name of a program");
	if (line.request.socket && line.request.dir) {
		log_err("give --socket or -o, not both; see perfrec top "
			"--help");
		return OPTS_WRONG;
	}
	line.request.target = target;
	if (ctl_find(&line.request, found))
		return OPTS_FAILED;
	if (line.json && !line.has_limit)
		line.limit = 0;
	if (!wants_screen(&line)) {
		json_t *before;
		int err = ctl_ask(&line.request, &before);
		json_t *after;

		if (err)
			return OPTS_FAILED;
		err = 0;
		for (uint64_t i = 0; !err && (!line.count || i < line.count);
		     i++) {
			struct timespec left = {
				.tv_sec =
					(time_t)(line.interval_ns / 1000000000),
				.tv_nsec = (long)(line.interval_ns % 1000000000)
			};

			while (nanosleep(&left, &left) < 0 && errno == EINTR)
				;
			err = ctl_ask(&line.request, &after);
			if (err)
				break;
			err = print_one(&line, before, after, i == 0);
			json_decref(before);
			before = after;
			/* The reader is gone; text_out_finish() reports it. */
			if (fflush(stdout))
				break;
		}
		json_decref(before);
		return text_out_finish() || err ? OPTS_FAILED : OPTS_OK;
	}
	return top_session(&line.request, line.interval_ns, line.full_names)
		       ? OPTS_FAILED
		       : OPTS_OK;
}
