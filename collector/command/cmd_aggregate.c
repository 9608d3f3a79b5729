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

int cmd_aggregate(int argc, char **argv)
{
	struct aggregate_line line = { 0 };
	struct runs runs;
	size_t count;
	int result = opts_parse(CMD_AGGREGATE, argc, argv,
				take_aggregate_option, &line);
	int err;
	uint32_t metric;
	char keys[512] = "";

	if (result != OPTS_GO_ON)
		return result;
	count = (size_t)(argc - optind);
	if (!count || count > RUNS_MAX) {
		log_err("give the folders of 1 to %d recordings", RUNS_MAX);
		return OPTS_WRONG;
	}
	if (runs_read(argv + optind, count, count, false, &runs))
		return OPTS_FAILED;
	metric = runs_find_metric(&runs, line.value);
	line.print.metric = metric;
	if (metric != RUNS_NONE) {
		result = OPTS_GO_ON;
	} else {
		for (size_t i = 0; i < runs.metric_count; i++) {
			size_t length = strlen(keys);

			snprintf(keys + length, sizeof(keys) - length, "%s%s",
				 i ? ", " : "", runs.metric[i].key);
		}
		log_err("--value '%.64s': the recordings have %s", line.value,
			keys);
		result = OPTS_WRONG;
	}
	if (result == OPTS_GO_ON) {
		if (line.json && !line.limited)
			line.print.limit = 0;
		err = line.json
			      ? aggregate_write_json(&runs, &line.print, stdout)
			      : aggregate_print(&runs, &line.print, stdout);
		if (!err) {
			result = OPTS_OK;
		} else {
			if (err == -EIO)
				(void)text_out_finish();
			else
				log_err("cannot write the table: %s",
					strerror(-err));
			result = OPTS_FAILED;
		}
	}
	runs_release(&runs);
	return result;
}
