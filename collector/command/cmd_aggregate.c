/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_aggregate.h"

#include <errno.h>
#include <assert.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/compare/aggregate.h"
#include "collector/options/opts.h"

struct aggregate_line {
	struct aggregate_options print;
	const char *value;
	bool json, limited;
};

static int take_aggregate_option(void *to, const struct opts_value *value)
{
	struct aggregate_line *line = to;

	switch (value->id) {
	case OPT_AGGREGATE_VALUE:
		line->value = value->text;
		break;
	case OPT_AGGREGATE_LIMIT:
		line->print.limit = value->number;
		line->limited = !value->usual;
		break;
	case OPT_FULL_NAMES:
		line->print.full_names = true;
		break;
	case OPT_JSON:
		line->json = true;
		break;
	default:
		assert(!"an option of perfrec aggregate that nobody takes");
	}
	return OPTS_GO_ON;
}

static int choose_metric(struct aggregate_line *line, const struct runs *runs)
{
	uint32_t metric = runs_find_metric(runs, line->value);
	char keys[512] = "";

	line->print.metric = metric;
	if (metric != RUNS_NONE)
		return OPTS_GO_ON;
	for (size_t i = 0; i < runs->metric_count; i++) {
		size_t length = strlen(keys);

		snprintf(keys + length, sizeof(keys) - length, "%s%s",
			 i ? ", " : "", runs->metric[i].key);
	}
	log_err("--value '%.64s': the recordings have %s", line->value, keys);
	return OPTS_WRONG;
}

static int show_aggregate(struct aggregate_line *line, const struct runs *runs)
{
	int err, result = choose_metric(line, runs);

	if (result != OPTS_GO_ON)
		return result;
	if (line->json && !line->limited)
		line->print.limit = 0;
	err = line->json ? aggregate_write_json(runs, &line->print, stdout)
			 : aggregate_print(runs, &line->print, stdout);
	if (!err)
		return OPTS_OK;
	if (err == -EIO)
		(void)text_out_finish();
	else
		log_err("cannot write the table: %s", strerror(-err));
	return OPTS_FAILED;
}

int cmd_aggregate(int argc, char **argv)
{
	struct aggregate_line line = { 0 };
	struct runs runs;
	size_t count;
	int result = opts_parse(CMD_AGGREGATE, argc, argv,
				take_aggregate_option, &line);

	if (result != OPTS_GO_ON)
		return result;
	count = (size_t)(argc - optind);
	if (!count || count > RUNS_MAX) {
		log_err("give the folders of 1 to %d recordings", RUNS_MAX);
		return OPTS_WRONG;
	}
	if (runs_read(argv + optind, count, count, false, &runs))
		return OPTS_FAILED;
	result = show_aggregate(&line, &runs);
	runs_release(&runs);
	return result;
}
