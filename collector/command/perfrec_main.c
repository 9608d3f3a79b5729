/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/command/cmd_aggregate.h"
#include "collector/command/cmd_annotate.h"
#include "collector/command/cmd_cc.h"
#include "collector/command/cmd_complete.h"
#include "collector/command/cmd_ctl.h"
#include "collector/command/cmd_cut.h"
#include "collector/command/cmd_diff.h"
#include "collector/command/cmd_doctor.h"
#include "collector/command/cmd_export.h"
#include "collector/command/cmd_find.h"
#include "collector/command/cmd_graph.h"
#include "collector/command/cmd_index.h"
#include "collector/command/cmd_mcp.h"
#include "collector/command/cmd_merge.h"
#include "collector/command/cmd_open.h"
#include "collector/command/cmd_record.h"
#include "collector/command/cmd_replay.h"
#include "collector/command/cmd_report.h"
#include "collector/command/cmd_top.h"
#include "collector/command/cmd_what_if.h"
#include "collector/options/opts.h"

/* perfrec itself only has --help and --version. */
static int take_nothing(void *to, const struct opts_value *value)
{
	(void)to;
	(void)value;
	return OPTS_GO_ON;
}

static int show_help(int argc, char **argv)
{
	enum opts_command command = CMD_MAIN;

	if (argc > 2) {
		log_err("'%.200s': one command at a time", argv[2]);
		return OPTS_WRONG;
	}
	if (argc == 2)
		command = opts_find_command(argv[1]);
	if (command == CMD_COUNT)
		return opts_unknown_command(argv[1]);
	opts_print_help(command, stdout);
	return text_out_finish() ? OPTS_FAILED : OPTS_OK;
}

int main(int argc, char **argv)
{
	static int (*const commands[CMD_COUNT])(int argc, char **argv) = {
		[CMD_RECORD] = cmd_record,   [CMD_REPORT] = cmd_report,
		[CMD_CTL] = cmd_ctl,	     [CMD_CC] = cmd_cc,
		[CMD_CXX] = cmd_cc,	     [CMD_DOCTOR] = cmd_doctor,
		[CMD_REPLAY] = cmd_replay,   [CMD_DUMP] = cmd_dump,
		[CMD_GRAPH] = cmd_graph,     [CMD_ANNOTATE] = cmd_annotate,
		[CMD_DIFF] = cmd_diff,	     [CMD_AGGREGATE] = cmd_aggregate,
		[CMD_OPEN] = cmd_open,	     [CMD_EXPORT] = cmd_export,
		[CMD_TOP] = cmd_top,	     [CMD_FIND] = cmd_find,
		[CMD_CUT] = cmd_cut,	     [CMD_INDEX] = cmd_index,
		[CMD_MERGE] = cmd_merge,     [CMD_MCP] = cmd_mcp,
		[CMD_WHAT_IF] = cmd_what_if,
	};
	enum opts_command command;
	int result;

	log_init("perfrec", LOG_INFO);
	if (argc > 1 && strcmp(argv[1], "__complete") == 0)
		return cmd_complete(argc - 1, argv + 1);
	result = opts_parse(CMD_MAIN, argc, argv, take_nothing, NULL);
	if (result != OPTS_GO_ON)
		return result;
	if (optind >= argc || !argv[optind][0]) {
		opts_print_help(CMD_MAIN, stderr);
		return OPTS_WRONG;
	}
	argc -= optind;
	argv += optind;
	if (strcmp(argv[0], "help") == 0)
		return show_help(argc, argv);
	command = opts_find_command(argv[0]);
	if (command == CMD_COUNT)
		return opts_unknown_command(argv[0]);
	return commands[command](argc, argv);
}
