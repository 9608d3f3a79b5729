/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_replay.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "collector/base/log.h"
#include "collector/command/call_command.h"
#include "collector/export/dump.h"
#include "collector/options/opts.h"
#include "collector/show/replay_text.h"
#include "collector/show/terminal.h"

#define OUT_BYTES (256u << 10)

struct replay_options {
	struct call_command call;
	struct replay_text_options text;
};

static int take_replay_option(void *to, const struct opts_value *value)
{
	struct replay_options *options = to;
	bool taken;
	int result = call_command_take(&options->call, value, &taken);

	if (taken)
		return result;
	switch (value->id) {
	case OPT_FULL_NAMES:
		options->text.full_names = true;
		break;
	default:
		assert(!"an option of perfrec replay that nobody takes");
	}
	return OPTS_GO_ON;
}

static int parse_line(enum opts_command command, int argc, char **argv,
		      struct replay_options *options)
{
	int result =
		opts_parse(command, argc, argv, take_replay_option, options);

	return result == OPTS_GO_ON
		       ? call_command_operands(&options->call, argc, argv)
		       : result;
}

int cmd_replay(int argc, char **argv)
{
	struct replay_options options = { 0 };
	int result = parse_line(CMD_REPLAY, argc, argv, &options);
	struct call_reader *reader;
	uint64_t late = 0;

	if (result != OPTS_GO_ON)
		return result;
	options.call.choice.sched = true;
	if (call_command_open(&options.call, stdout, &reader))
		return OPTS_FAILED;
	options.text.columns = terminal_of(stdout).columns;
	setvbuf(stdout, NULL, _IOFBF, OUT_BYTES);
	result = replay_text_print(reader, &options.text, stdout, &late);
	result = call_command_end(&options.call, reader, result);
	if (late)
		log_warn("%" PRIu64 " of the lines stand below lines of other "
			 "threads that happened later; --thread shows one "
			 "thread, in order",
			 late);
	call_reader_close(&reader);
	return result;
}

int cmd_dump(int argc, char **argv)
{
	struct replay_options options = { 0 };
	int result = parse_line(CMD_DUMP, argc, argv, &options);
	struct call_reader *reader;

	if (result != OPTS_GO_ON)
		return result;
	options.call.choice.sched = true;
	options.call.choice.self_times = true;
	if (call_command_open(&options.call, stdout, &reader))
		return OPTS_FAILED;
	setvbuf(stdout, NULL, _IOFBF, OUT_BYTES);
	result = dump_write(reader, stdout);
	result = call_command_end(&options.call, reader, result);
	call_reader_close(&reader);
	return result;
}
