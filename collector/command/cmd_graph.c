/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_graph.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/command/function_choice.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"
#include "collector/read/pprof_read.h"
#include "collector/read/summary_read.h"
#include "collector/show/graph.h"

struct graph_line {
	const char *word, *dir;
	size_t limit; /* 0: all */
	bool json, full_names;
};

static int take_graph_option(void *to, const struct opts_value *value)
{
	struct graph_line *line = to;

	switch (value->id) {
	case OPT_GRAPH_LIMIT:
		line->limit = value->number;
		break;
	case OPT_FULL_NAMES:
		line->full_names = true;
		break;
	case OPT_JSON:
		line->json = true;
		break;
	default:
		assert(!"an option of perfrec graph that nobody takes");
	}
	return OPTS_GO_ON;
}

static int show_graph(const struct graph_line *line,
		      const struct summary *summary, const struct pprof *pprof)
{
	const char *name;
	struct pprof_rows rows;
	struct graph graph = { 0 };
	int err;

	if (pprof_rows_by_function(pprof, &rows)) {
		log_err("out of memory");
		name = NULL;
	} else {
		name = function_choose(line->word, &rows, summary,
				       FUNCTION_CALLS, line->dir);
		pprof_rows_free(&rows);
	}
	if (!name)
		return OPTS_FAILED;
	err = pprof_rows_by_stack(pprof, &rows);
	if (!err)
		err = graph_make(pprof, &rows, summary, name, &graph);
	if (!err)
		err = line->json ? graph_write_json(&graph, stdout)
				 : graph_print(&graph, line->limit,
					       line->full_names, stdout);
	graph_release(&graph);
	pprof_rows_free(&rows);
	if (err == -EBADMSG)
		log_err("'%s/" WALL_PROFILE_NAME "' has no calls", line->dir);
	else if (err == -EIO)
		(void)text_out_finish();
	else if (err)
		log_err("cannot write the graph: %s", strerror(-err));
	return err ? OPTS_FAILED : OPTS_OK;
}

int cmd_graph(int argc, char **argv)
{
	struct graph_line line = { .dir = RECORDING_DIR };
	struct summary *summary = NULL;
	struct pprof *pprof = NULL;
	int err, result = opts_parse(CMD_GRAPH, argc, argv, take_graph_option,
				     &line);

	if (result == OPTS_GO_ON)
		result = function_choice_operands("perfrec graph", argc, argv,
						  &line.word, &line.dir);
	if (result != OPTS_GO_ON)
		return result;
	if (summary_read(line.dir, &summary))
		return OPTS_FAILED;
	err = pprof_read(line.dir, WALL_PROFILE_NAME, &pprof);
	if (err == -ENOENT)
		log_err("'%s' has no calls of functions: there is "
			"no " WALL_PROFILE_NAME " in it (see perfrec-cc(1))",
			line.dir);
	result = err ? OPTS_FAILED : show_graph(&line, summary, pprof);
	pprof_free(&pprof);
	summary_free(&summary);
	return result;
}
