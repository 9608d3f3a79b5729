/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_index.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/command/trace_command.h"
#include "collector/cut/reindex.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"
#include "collector/show/progress.h"

struct index_line {
	const char *dir;
	bool again;
};

static int take_index_option(void *to, const struct opts_value *value)
{
	struct index_line *line = to;

	switch (value->id) {
	case OPT_INDEX_AGAIN:
		line->again = true;
		break;
	default:
		assert(!"an option of perfrec index that nobody takes");
	}
	return OPTS_GO_ON;
}

static int parse_index_line(int argc, char **argv, struct index_line *line)
{
	int result = opts_parse(CMD_INDEX, argc, argv, take_index_option, line);

	if (result != OPTS_GO_ON)
		return result;
	if (argc - optind > 1) {
		log_err("'%.2000s': one recording at a time", argv[optind + 1]);
		return OPTS_WRONG;
	}
	if (optind < argc)
		line->dir = argv[optind];
	if (!line->dir[0]) {
		log_err("'': give the name of a folder");
		return OPTS_WRONG;
	}
	return OPTS_GO_ON;
}

static int print_made(const char *dir, const struct reindex_result *result)
{
	const struct trace_reindex_result *trace = &result->trace;
	const struct trace_read_totals totals = {
		.size = trace->size,
		.at = trace->at,
		.cut = trace->read_err ? 0 : trace->size - trace->at,
		.packets = trace->packets,
	};
	char slices[SIZE_TEXT], size[SIZE_TEXT];
	int status = trace_command_check(dir, trace->read_err, &totals);
	char count[SIZE_TEXT];

	if (trace->given_up)
		log_warn("%s thread%s of '%.2000s' %s only partly in the index "
			 "(out of memory, or packets that perfrec does not "
			 "write): commands read the rest from the trace",
			 size_format_count(trace->given_up, count),
			 trace->given_up == 1 ? "" : "s", dir,
			 trace->given_up == 1 ? "is" : "are");
	printf("%s/" INDEX_NAME ": %s call%s, %s\n", dir,
	       size_format_count(trace->slices, slices),
	       trace->slices == 1 ? "" : "s",
	       size_format_bytes(result->bytes, size));
	return text_out_finish() ? OPTS_FAILED : status;
}

int cmd_index(int argc, char **argv)
{
	struct index_line line = { .dir = RECORDING_DIR };
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	struct reindex_result result;
	int status = parse_index_line(argc, argv, &line);
	sigset_t limit;

	if (status != OPTS_GO_ON)
		return status;
	/* A write beyond RLIMIT_FSIZE is an ordinary error. */
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &limit, NULL);
	progress_begin(&progress, "reading the trace", true);
	result = reindex_folder(line.dir, line.again, &tell);
	progress_end(&progress);
	if (result.end == REINDEX_NO_TRACE)
		trace_command_log_open(line.dir, -ENOENT);
	reindex_log(line.dir, &result);
	if (result.end == REINDEX_NEEDLESS)
		return OPTS_OK;
	if (result.end == REINDEX_DONE || result.end == REINDEX_PART)
		return print_made(line.dir, &result);
	return OPTS_FAILED;
}
