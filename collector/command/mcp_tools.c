/* SPDX-License-Identifier: Apache-2.0
 *
 * Each call runs in a child process, so a damaged recording or a slow command
 * ends the child and not the server. The child also reports wrong arguments, as
 * errors of the command.
 */
#include "collector/command/mcp_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/json_text.h"
#include "collector/base/log.h"
#include "collector/base/text_out.h"
#include "collector/command/cmd_annotate.h"
#include "collector/command/cmd_diff.h"
#include "collector/command/cmd_find.h"
#include "collector/command/cmd_graph.h"
#include "collector/command/cmd_replay.h"
#include "collector/command/cmd_report.h"
#include "collector/command/mcp_answer.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "shared/compiler.h"

#define TOOL_SECONDS 60
#define TOOL_OUTPUT_BYTES ((size_t)64 << 20)
#define SIDE_MAX 16 /* recordings on each side of diff */
#define ARGUMENTS_MAX 64
#define USUAL_ITEMS 20
#define TOOL_WORDS 3
#define TOOL_PARAMETERS 8

enum parameter_kind {
	PARAMETER_TEXT = 1, /* the value of an option */
	PARAMETER_FUNCTION,
	PARAMETER_RECORDING,
	PARAMETER_BEFORE, /* recordings of diff */
	PARAMETER_AFTER,
	PARAMETER_ITEMS, /* length of lists */
};

struct parameter {
	const char *name;
	enum parameter_kind kind;
	bool needed;
	const char *option; /* of PARAMETER_TEXT: with '=' at the end */
	const char *about;
};

#define RECORDING                                                           \
	{                                                                   \
		"recording", PARAMETER_RECORDING, false, NULL,              \
			"folder of the recording, below the served folder " \
			"(default: " RECORDING_DIR ")"                      \
	}
#define FUNCTION                                                   \
	{                                                          \
		"function", PARAMETER_FUNCTION, true, NULL,        \
			"name of a function, or a pattern such as" \
			" 'parse*' that matches one"               \
	}
#define LIMIT                                                                 \
	{                                                                     \
		"limit", PARAMETER_ITEMS, false, NULL,                        \
			"at most so many elements of each list (default: 20)" \
	}
#define TEXT(name, about)                                         \
	{                                                         \
		name, PARAMETER_TEXT, false, "--" name "=", about \
	}
#define FROM \
	TEXT("from", "start of a range, after the first call, such as 1.5ms")
#define UNTIL TEXT("until", "end of the range, such as 2s or 1500000ns")
#define THREAD TEXT("thread", "number or name of a thread")

/* The parameters are in the order of the command's operands. */
static const struct tool {
	const char *name, *about;
	int (*command)(int argc, char **argv);
	const char *words[TOOL_WORDS];
	bool text; /* not JSON */
	struct parameter parameters[TOOL_PARAMETERS];
} tools[] = {
	{ "summary",
	  "Start here: how far the figures of a recording can be trusted, its "
	  "time on CPU, runnable (waiting for a CPU) and blocked, memory, and "
	  "the functions that took most.",
	  cmd_report,
	  { "report", "--limit=10" },
	  true,
	  { RECORDING } },
	{ "functions",
	  "Functions with their times in ns, or bytes.",
	  cmd_report,
	  { "report", "--json" },
	  false,
	  { TEXT("view", "functions (default): calls, wall time, on CPU, "
			 "runnable, blocked; cpu: samples of all code; "
			 "span: calls, times and memory together"),
	    TEXT("sort", "self, total, calls, name, on-cpu, runnable, blocked, "
			 "p99, max, ...; it depends on the view"),
	    FROM, UNTIL, THREAD, LIMIT, RECORDING } },
	{ "callers",
	  "Callers and callees of a function, with counts and times.",
	  cmd_graph,
	  { "graph", "--json" },
	  false,
	  { LIMIT, FUNCTION, RECORDING } },
	{ "slow_calls",
	  "Single calls of a function, the longest first: when each began, how "
	  "long it took, its thread and arguments.",
	  cmd_find,
	  { "find", "--json", "--limit=1000" },
	  false,
	  { TEXT("sort", "duration (default) or time"),
	    FROM,
	    UNTIL,
	    THREAD,
	    LIMIT,
	    { "function", PARAMETER_FUNCTION, true, NULL,
	      "name or pattern, and maybe a condition: 'parse > 10ms'" },
	    RECORDING } },
	{ "replay",
	  "The calls of a range in the order of time, as indented text.",
	  cmd_replay,
	  { "replay" },
	  true,
	  { FROM, UNTIL, THREAD,
	    TEXT("min-duration", "only calls that took this long, such as 1ms"),
	    TEXT("depth", "only calls nested less than this deep"),
	    TEXT("function", "pattern: only these calls, and calls inside"),
	    RECORDING } },
	{ "waits",
	  "What blocked threads.",
	  cmd_report,
	  { "report", "--json" },
	  false,
	  { { "view", PARAMETER_TEXT, true, "--view=",
	      "wait: objects (locks, files, pipes, sleeps); lock: who held "
	      "each lock while others waited; path: the critical path "
	      "through the threads; io: files with calls, bytes, time" },
	    LIMIT,
	    RECORDING } },
	{ "heap",
	  "Functions by the memory that they allocated: in use at the end, at "
	  "the peak, in all.",
	  cmd_report,
	  { "report", "--json", "--view=heap" },
	  false,
	  { TEXT("sort", "inuse, allocated, total, blocks, peak, temporary"),
	    LIMIT, RECORDING } },
	{ "diff",
	  "Compares recordings before and after a change. Changes are told "
	  "from noise only with three or more of each.",
	  cmd_diff,
	  { "diff" },
	  true,
	  { { "before", PARAMETER_BEFORE, true, NULL, "list of recordings" },
	    { "after", PARAMETER_AFTER, true, NULL, "list of recordings" },
	    TEXT("limit", "rows of each value (default: 10)") } },
	{ "annotate",
	  "CPU time and allocations of the source lines of a function. Only "
	  "sources below the served folder have text.",
	  cmd_annotate,
	  { "annotate", "--json" },
	  false,
	  { LIMIT, FUNCTION, RECORDING } },
};

/* Iterates @p over the parameters of @tool. */
#define FOR_PARAMETERS(tool, p)                              \
	for (const struct parameter *p = (tool)->parameters; \
	     p < (tool)->parameters + TOOL_PARAMETERS && p->name; p++)

static bool is_side(const struct parameter *parameter)
{
	return parameter->kind == PARAMETER_BEFORE ||
	       parameter->kind == PARAMETER_AFTER;
}

/* --- tools/list ---------------------------------------------------------- */

static json_t *parameter_schema(const struct parameter *parameter)
{
	if (parameter->kind == PARAMETER_ITEMS)
		return json_pack("{s:s, s:s, s:i, s:i}", "type", "integer",
				 "description", parameter->about, "minimum", 1,
				 "maximum", MCP_ITEMS_MAX);
	if (is_side(parameter))
		return json_pack("{s:s, s:s, s:{s:s}, s:i, s:i}", "type",
				 "array", "description", parameter->about,
				 "items", "type", "string", "minItems", 1,
				 "maxItems", SIDE_MAX);
	return json_pack("{s:s, s:s}", "type", "string", "description",
			 parameter->about);
}

json_t *mcp_tools_list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		json_t *properties = json_object(), *needed = json_array();

		FOR_PARAMETERS(&tools[i], p)
		{
			json_object_set_new(properties, p->name,
					    parameter_schema(p));
			if (p->needed)
				json_array_append_new(needed,
						      json_string(p->name));
		}
		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:{s:s, s:o, s:o, s:b}, s:{s:b}}",
				  "name", tools[i].name, "description",
				  tools[i].about, "inputSchema", "type",
				  "object", "properties", properties,
				  "required", needed, "additionalProperties",
				  false, "annotations", "readOnlyHint", true));
	}
	return json_pack("{s:o}", "tools", list);
}

/* --- in the child: arguments to a command line --------------------------- */

/* Sets @path to the real path of @name. Returns false if it is not the current
 * folder or below it. */
static bool find_below(const char *name, char path[PATH_MAX])
{
	char top[PATH_MAX];
	size_t length;

	if (!realpath(".", top) || !realpath(name, path))
		return false;
	length = strcmp(top, "/") ? strlen(top) : 0;
	return !strncmp(path, top, length) &&
	       (!path[length] || path[length] == '/');
}

struct command_line {
	char *words[ARGUMENTS_MAX];
	int count;
};

static void add_tool_word(struct command_line *line, const char *option,
			  const char *text)
{
	/* The tables and SIDE_MAX limit the number of words. */
	if (line->count == ARGUMENTS_MAX - 1 ||
	    asprintf(&line->words[line->count++], "%s%s", option, text) < 0)
		_exit(OPTS_FAILED);
}

/* Adds the recording @value. Its whole path cannot be taken for an option. */
static int add_recording(struct command_line *line, const char *value)
{
	char path[PATH_MAX];

	if (!find_below(value, path)) {
		log_err("'%.200s': no folder below the one that is served; "
			"give a path relative to that one",
			value);
		return OPTS_WRONG;
	}
	add_tool_word(line, "", path);
	return OPTS_GO_ON;
}

static int add_side(struct command_line *line, const json_t *value)
{
	size_t count = json_array_size(value);

	if (!count || count > SIDE_MAX) {
		log_err("give 1 to %d recordings on each side", SIDE_MAX);
		return OPTS_WRONG;
	}
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(value, i));
		int result = text ? add_recording(line, text) : OPTS_WRONG;

		if (result != OPTS_GO_ON)
			return result;
	}
	return OPTS_GO_ON;
}

static int add_parameter(struct command_line *line,
			 const struct parameter *parameter, const json_t *value)
{
	const char *text = json_string_value(value);

	if (!value && parameter->kind == PARAMETER_RECORDING)
		text = RECORDING_DIR;
	else if (!value && !parameter->needed)
		return OPTS_GO_ON;
	if (parameter->kind == PARAMETER_ITEMS ? json_integer_value(value) < 1
					       : !is_side(parameter) && !text) {
		log_err("'%s': give %s", parameter->name,
			parameter->kind == PARAMETER_ITEMS ? "a number above 0"
							   : "a text");
		return OPTS_WRONG;
	}
	switch (parameter->kind) {
	case PARAMETER_TEXT:
		add_tool_word(line, parameter->option, text);
		break;
	case PARAMETER_FUNCTION:
		/* Options end here, so that no name is one. */
		add_tool_word(line, "", "--");
		add_tool_word(line, "", text);
		break;
	case PARAMETER_RECORDING:
		return add_recording(line, text);
	case PARAMETER_AFTER:
		add_tool_word(line, "", "--");
		return add_side(line, value);
	case PARAMETER_BEFORE:
		return add_side(line, value);
	case PARAMETER_ITEMS:
		break;
	}
	return OPTS_GO_ON;
}

static int check_names(const struct tool *tool, const json_t *arguments)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)arguments, key, value)
	{
		bool known = false;

		FOR_PARAMETERS(tool, p)
		known |= !strcmp(p->name, key);
		if (known)
			continue;
		log_err("unknown argument '%.200s' of %s", key, tool->name);
		return OPTS_WRONG;
	}
	return OPTS_GO_ON;
}

static int run_tool_command(const struct tool *tool, const json_t *arguments)
{
	struct command_line line = { .count = 0 };
	int result = check_names(tool, arguments);

	for (size_t i = 0; i < TOOL_WORDS && tool->words[i]; i++)
		add_tool_word(&line, "", tool->words[i]);
	FOR_PARAMETERS(tool, p)
	{
		if (result == OPTS_GO_ON)
			result = add_parameter(
				&line, p, json_object_get(arguments, p->name));
	}
	return result == OPTS_GO_ON ? tool->command(line.count, line.words)
				    : result;
}

/* --- in the server ------------------------------------------------------- */

/* The output of a command. */
struct output {
	char *text; /* owned, TOOL_OUTPUT_BYTES */
	size_t count;
	bool more; /* the rest is missing */
	char messages[MCP_MESSAGES_BYTES];
	int status; /* of waitpid() */
};

_Noreturn static void be_child(const struct tool *tool, const json_t *arguments,
			       int out, int messages)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(TOOL_SECONDS);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0 || dup2(messages, STDERR_FILENO) < 0)
		_exit(OPTS_FAILED);
	status = run_tool_command(tool, arguments);
	/* Not exit(): it would touch the server's input. */
	_exit(text_out_finish() ? OPTS_FAILED : status);
}

static void read_output(int fd, struct output *output)
{
	ssize_t got;

	while (output->count < TOOL_OUTPUT_BYTES &&
	       ((got = read(fd, output->text + output->count,
			    TOOL_OUTPUT_BYTES - output->count)) > 0 ||
		(got < 0 && errno == EINTR)))
		output->count += got > 0 ? (size_t)got : 0;
	output->more = output->count == TOOL_OUTPUT_BYTES;
}

/* Runs @tool. Returns 0 or -errno. The caller frees @output->text. */
static int run_tool_child(const struct tool *tool, const json_t *arguments,
			  struct output *output)
{
	int ends[2] = { -1, -1 }, err = 0;
	int messages = memfd_create("perfrec mcp", MFD_CLOEXEC);
	pid_t pid = -1;
	ssize_t got;

	output->text = malloc(TOOL_OUTPUT_BYTES);
	if (messages < 0 || !output->text || pipe2(ends, O_CLOEXEC))
		err = -errno;
	if (!err) {
		pid = fork();
		err = pid < 0 ? -errno : 0;
	}
	if (!pid)
		be_child(tool, arguments, ends[1], messages);
	if (ends[1] >= 0)
		close(ends[1]);
	if (!err) {
		read_output(ends[0], output);
		if (output->more)
			kill(pid, SIGKILL);
		while (waitpid(pid, &output->status, 0) < 0 && errno == EINTR)
			;
		output->more |= WIFSIGNALED(output->status);
		got = pread(messages, output->messages,
			    sizeof(output->messages) - 1, 0);
		output->messages[got > 0 ? got : 0] = '\0';
	}
	if (ends[0] >= 0)
		close(ends[0]);
	if (messages >= 0)
		close(messages);
	return err;
}

/* Drops the text of sources that are not below the served folder: a recording
 * may name any file as a source. */
static void drop_sources(json_t *answer)
{
	json_t *line;
	size_t i;

	json_array_foreach(json_object_get(answer, "lines"), i, line)
	{
		const char *file =
			json_string_value(json_object_get(line, "file"));
		char path[PATH_MAX];

		if (!file || !find_below(file, path))
			json_object_del(line, "source");
	}
}

static char *cut_output(const struct tool *tool, const json_t *arguments,
			const struct output *output)
{
	json_t *limit = json_object_get(arguments, "limit");
	size_t items = limit ? (size_t)json_integer_value(limit) : USUAL_ITEMS;
	char narrow[256] = ""; /* names of parameters */
	json_t *answer, *only;
	char *text;

	FOR_PARAMETERS(tool, p)
	{
		size_t used = strlen(narrow);

		if (p->kind == PARAMETER_TEXT || p->kind == PARAMETER_FUNCTION)
			snprintf(narrow + used, sizeof(narrow) - used, "%s%s",
				 used ? ", " : "", p->name);
	}
	if (!narrow[0])
		snprintf(narrow, sizeof(narrow), "other tools");
	if (tool->text)
		return mcp_answer_text(output->text, output->count,
				       output->more, narrow);
	answer = json_loadb(output->text, output->count, 0, NULL);
	/* The functions of a summary; the tool summary shows the rest. */
	only = json_object_get(answer, "view")
		       ? NULL
		       : json_object_get(answer, "functions");
	if (!strcmp(tool->name, "functions") && only) {
		only = json_pack("{s:O}", "functions", only);
		json_decref(answer);
		answer = only;
	}
	drop_sources(answer);
	text = answer ? mcp_answer_json(answer, items, narrow) : NULL;
	json_decref(answer);
	return text;
}

/* Returns why @output is no answer. */
static const char *explain_failure(const struct output *output)
{
	if (WIFSIGNALED(output->status) && WTERMSIG(output->status) == SIGALRM)
		return "this took longer than a minute; narrow it";
	if (output->count == TOOL_OUTPUT_BYTES)
		return "the answer is too long; narrow it";
	if (WIFSIGNALED(output->status))
		return "reading the recording failed";
	if (output->count)
		return "an element of the answer is too long; narrow it";
	return output->messages[0] ? output->messages : "no answer";
}

json_t *mcp_tools_call(const char *name, const json_t *arguments)
{
	struct output output = { .text = NULL };
	const struct tool *tool = NULL;
	char *text = NULL;
	json_t *content;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (!strcmp(tools[i].name, name))
			tool = &tools[i];
	if (!tool)
		return NULL;
	err = run_tool_child(tool, arguments, &output);
	if (err)
		snprintf(output.messages, sizeof(output.messages),
			 "cannot start a process: %s", strerror(-err));
	else if (output.count && (tool->text || WIFEXITED(output.status)))
		text = cut_output(tool, arguments, &output);
	content = json_pack("[{s:s, s:o}]", "type", "text", "text",
			    json_text(text ?: explain_failure(&output)));
	if (text && output.messages[0])
		json_array_append_new(
			content, json_pack("{s:s, s:o}", "type", "text", "text",
					   json_text(output.messages)));
	content = json_pack("{s:o, s:b}", "content", content, "isError", !text);
	free(text);
	free(output.text);
	return content;
}
