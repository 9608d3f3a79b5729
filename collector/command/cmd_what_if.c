/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_what_if.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/command/trace_command.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/read/what_if.h"
#include "collector/show/progress.h"

#define WHAT_IF_VERSION 1
#define PERCENT_MAX 1000

struct what_if_line {
	const char *dir;
	struct what_if_change changes[WHAT_IF_CHANGES_MAX];
	uint32_t count;
	bool json;
};

static int take_what_if_option(void *to, const struct opts_value *value)
{
	struct what_if_line *line = to;

	assert(value->id == OPT_JSON);
	(void)value;
	line->json = true;
	return OPTS_GO_ON;
}

/* Splits "FUNC -N%" or "FUNC +N%", in place. Returns false if @text is no change. */
static bool parse_change(char *text, struct what_if_change *out)
{
	char *sign = strrchr(text, ' '), *end;
	double percent;

	if (!sign || sign == text || (sign[1] != '-' && sign[1] != '+') ||
	    !strchr("0123456789.", sign[2]))
		return false;
	percent = strtod(sign + 1, &end);
	if (strcmp(end, "%") != 0 || !(percent >= -100) ||
	    !(percent <= PERCENT_MAX))
		return false;
	while (sign > text && *sign == ' ')
		*sign-- = '\0';
	*out = (struct what_if_change){ .pattern = text,
					.factor = 1 + percent / 100 };
	return *text;
}

/* Takes the changes and the folder behind optind. Returns OPTS_GO_ON, or
 * OPTS_WRONG after a message. */
static int take_what_if_operands(struct what_if_line *line, int argc,
				 char **argv)
{
	for (int i = optind; i < argc; i++) {
		struct what_if_change change;

		if (!parse_change(argv[i], &change)) {
			if (i == argc - 1 && line->count && argv[i][0]) {
				line->dir = argv[i];
				break;
			}
			log_err("'%.200s' is no change: write 'FUNC -N%%', "
				"such as 'parse* -50%%'",
				argv[i]);
			return OPTS_WRONG;
		}
		if (change.pattern[0] == '@') {
			log_err("'%.200s': give the name of a function: a "
				"trace has no modules",
				change.pattern);
			return OPTS_WRONG;
		}
		if (line->count == WHAT_IF_CHANGES_MAX) {
			log_err("more than %d changes", WHAT_IF_CHANGES_MAX);
			return OPTS_WRONG;
		}
		line->changes[line->count++] = change;
	}
	if (line->count)
		return OPTS_GO_ON;
	log_err("give a change, and maybe the folder of a recording: "
		"perfrec what-if 'FUNC -50%%' [DIR]");
	return OPTS_WRONG;
}

/* Returns true if the calls of changes were counted. */
static bool has_calls(const struct what_if *answer)
{
	return answer->result != WHAT_IF_NO_CALLS &&
	       answer->result != WHAT_IF_NO_SWITCHES;
}

/* Returns a word for JSON; NULL: there is an estimate. */
static const char *refusal_word(enum what_if_result result)
{
	switch (result) {
	case WHAT_IF_ESTIMATE:
		break;
	case WHAT_IF_NO_CALLS:
		return "no calls";
	case WHAT_IF_NO_SWITCHES:
		return "no switches";
	case WHAT_IF_CPU_BOUND:
		return "CPU-bound";
	case WHAT_IF_NOT_REPRODUCED:
		return "not reproduced";
	case WHAT_IF_CIRCLE:
		return "circle of waits";
	case WHAT_IF_OTHER_PROGRAMS:
		return "other programs";
	case WHAT_IF_UNKNOWN_WAITS:
		return "unknown waits";
	case WHAT_IF_OTHER_THREADS:
		return "other threads";
	}
	return NULL;
}

static json_t *known_number(uint64_t ns)
{
	return ns ? json_number(ns) : json_null();
}

static int print_what_if_json(const struct what_if_line *line,
			      const struct what_if *answer)
{
	const char *refusal = refusal_word(answer->result);
	const bool known = answer->estimate_ns || !refusal;
	const bool counted = has_calls(answer);
	json_t *list = json_array();

	for (uint32_t i = 0; i < line->count; i++)
		json_array_append_new(
			list,
			json_pack("{s:o, s:f, s:o, s:o}", "function",
				  json_text(line->changes[i].pattern), "factor",
				  line->changes[i].factor, "calls",
				  counted ? json_number(line->changes[i].calls)
					  : json_null(),
				  "on_cpu_ns",
				  counted ? json_number(
						    line->changes[i].on_cpu_ns)
					  : json_null()));
	return json_text_print(
		json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:I, "
			  "s:I, s:I, s:I}",
			  "version", WHAT_IF_VERSION, "changes", list, "run_ns",
			  known_number(answer->length_ns), "replayed_ns",
			  known_number(answer->replayed_ns), "refused",
			  refusal ? json_string(refusal) : json_null(),
			  "estimate_ns",
			  refusal ? json_null()
				  : json_number(answer->estimate_ns),
			  "low_ns",
			  known ? json_number(answer->low_ns) : json_null(),
			  "high_ns",
			  known ? json_number(answer->high_ns) : json_null(),
			  "cpus", (int)answer->cpus, "on_cpu_ns",
			  (json_int_t)answer->on_cpu_ns, "shared_ns",
			  (json_int_t)answer->shared_ns, "stolen_ns",
			  (json_int_t)answer->stolen_ns, "unknown_ns",
			  (json_int_t)answer->unknown_ns),
		stdout);
}

static void print_refusal(const struct what_if *answer)
{
	char low[SIZE_TEXT], high[SIZE_TEXT], time[SIZE_TEXT];

	size_format_ns(answer->low_ns, low);
	size_format_ns(answer->high_ns, high);
	fputs("  estimate   none: ", stdout);
	switch (answer->result) {
	case WHAT_IF_ESTIMATE:
		break;
	case WHAT_IF_NO_CALLS:
		puts("the recording has no calls of threads: add --patch "
		     "to perfrec record");
		break;
	case WHAT_IF_NO_SWITCHES:
		puts("the switches of its threads are not known (perfrec "
		     "record --sched on; perfrec doctor says what the kernel "
		     "permits)");
		break;
	case WHAT_IF_CPU_BOUND:
	case WHAT_IF_NOT_REPRODUCED:
		printf("%sthe same run takes %s when it is replayed without a "
		       "change\n",
		       answer->result == WHAT_IF_CPU_BOUND ? "CPU-bound: " : "",
		       size_format_ns(answer->replayed_ns, time));
		break;
	case WHAT_IF_CIRCLE:
		puts("its threads wait for each other when they are replayed; "
		     "some of its wakers must be wrong");
		break;
	case WHAT_IF_OTHER_PROGRAMS:
		printf("between %s and %s; other programs had the "
		       "CPUs for %s (sum over threads)\n",
		       low, high, size_format_ns(answer->stolen_ns, time));
		break;
	case WHAT_IF_UNKNOWN_WAITS:
		printf("between %s and %s; no record says who ended waits of "
		       "%s (sum over threads)\n",
		       low, high, size_format_ns(answer->unknown_ns, time));
		break;
	case WHAT_IF_OTHER_THREADS:
		printf("between %s and %s; no record says whether the run "
		       "waits for the ends of its threads\n",
		       low, high);
		break;
	}
}

static int print_what_if(const struct what_if_line *line,
			 const struct what_if *answer)
{
	const double run = (double)answer->length_ns;
	char text[SIZE_TEXT], low[SIZE_TEXT], high[SIZE_TEXT];

	fputs("\nperfrec: ", stdout);
	text_out(line->dir, stdout);
	printf("\n\n  run        %s\n",
	       answer->length_ns ? size_format_ns(answer->length_ns, text)
				 : "not known");
	for (uint32_t i = 0; i < line->count; i++) {
		const struct what_if_change *change = &line->changes[i];

		fputs("  change     ", stdout);
		text_out(change->pattern, stdout);
		printf(" %+.4g %%", (change->factor - 1) * 100);
		if (has_calls(answer))
			printf(": %s call%s, %s on a CPU with all inside",
			       size_format_count(change->calls, text),
			       size_plural(change->calls),
			       size_format_ns(change->on_cpu_ns, low));
		putchar('\n');
	}
	if (answer->result == WHAT_IF_ESTIMATE)
		printf("  estimate   %s (%+.1f %%), between %s and %s\n",
		       size_format_ns(answer->estimate_ns, text),
		       run ? 100 * ((double)answer->estimate_ns / run - 1) : 0,
		       size_format_ns(answer->low_ns, low),
		       size_format_ns(answer->high_ns, high));
	else
		print_refusal(answer);
	return fflush(stdout) || ferror(stdout) ? -EIO : 0;
}

int cmd_what_if(int argc, char **argv)
{
	struct what_if_line line = { .dir = RECORDING_DIR };
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	struct what_if answer;
	char path[PATH_MAX];
	int err, status,
		result = opts_parse(CMD_WHAT_IF, argc, argv,
				    take_what_if_option, &line);

	if (result == OPTS_GO_ON)
		result = take_what_if_operands(&line, argc, argv);
	if (result != OPTS_GO_ON)
		return result;
	err = trace_command_path(line.dir, path);
	progress_begin(&progress, "reading the trace", true);
	if (!err)
		err = what_if_read(path, line.changes, line.count, &tell,
				   &answer);
	progress_end(&progress);
	if (err) {
		trace_command_log_open(line.dir, err);
		return OPTS_FAILED;
	}
	for (uint32_t i = 0; has_calls(&answer) && i < line.count; i++)
		if (!line.changes[i].calls) {
			log_err("no call in '%s' matches '%.200s'; perfrec "
				"report lists its functions",
				line.dir, line.changes[i].pattern);
			return OPTS_FAILED;
		}
	err = line.json ? print_what_if_json(&line, &answer)
			: print_what_if(&line, &answer);
	if (err == -EIO)
		(void)text_out_finish();
	else if (err)
		log_err("out of memory");
	status = trace_command_check(line.dir, answer.err, &answer.totals);
	return err || answer.result != WHAT_IF_ESTIMATE ? OPTS_FAILED : status;
}
