/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of options and its parser: values of each kind at their limits.
 * Facts that opts.def repeats, or that follow the order of an enum, must agree.
 */
#include "collector/options/opts.h"
#include "tests/suite.h"

#include <getopt.h>
#include <inttypes.h>

#include "collector/base/log.h"
#include "collector/command/report_trace.h"
#include "collector/options/collect_options.h"
#include "collector/options/opts_inner.h"
#include "collector/options/spelling.h"
#include "collector/show/range_report.h"
#include "collector/show/report_view.h"
#include "collector/show/summary_print.h"

/* --- the table ----------------------------------------------------------- */

static bool has_word(const char *text, const char *word)
{
	const char *at = text;
	size_t length = strlen(word);

	while ((at = strstr(at, word)) != NULL) {
		if ((at == text ||
		     !strchr("abcdefghijklmnopqrstuvwxyz", at[-1])) &&
		    (!at[length] || strchr(" ,;:.(\n", at[length])))
			return true;
		at += length;
	}
	return false;
}

TEST(opts_help_tells_every_word, EACH(0, OPT_COUNT))
{
	const struct opts_row *row = &opts_rows[_i];

	for (size_t i = 0; row->choices[i]; i++)
		ck_assert_msg(has_word(row->help, row->choices[i]),
			      "'%s' is not in '%s'", row->choices[i],
			      row->help);
}

TEST(opts_help_fits_into_80_columns, EACH(0, CMD_COUNT))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	opts_print_help((enum opts_command)_i, out);
	fclose(out);
	ck_assert_uint_gt(size, 0);
	ck_assert_int_eq(text[size - 1], '\n');
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		ck_assert_msg(strlen(line) <= 80, "too long: %s", line);
		ck_assert_msg(line[strlen(line) - 1] != ' ', "'%s'", line);
	}
	free(text);
}

TEST(opts_names_of_a_command_differ)
{
	for (size_t i = 0; i < OPT_COUNT; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct opts_row *a = &opts_rows[i];
			const struct opts_row *b = &opts_rows[j];

			if (!(a->commands & b->commands))
				continue;
			if (a->name && b->name)
				ck_assert_str_ne(a->name, b->name);
			if (a->letter && b->letter)
				ck_assert_str_ne(a->letter, b->letter);
		}
	}
}

TEST(opts_forwarded_is_of_the_collector_too, EACH(0, OPT_COUNT))
{
	const uint32_t both = IN_COLLECT | IN_RECORD;

	if (opts_is_forwarded((enum opts_id)_i)) {
		ck_assert_uint_eq(opts_rows[_i].commands, both);
		ck_assert_ptr_nonnull(opts_rows[_i].name);
	}
}

TEST(opts_words_stand_in_the_order_of_their_enum)
{
	static const struct {
		enum opts_id id;
		size_t number;
		const char *word;
	} words[] = {
		{ OPT_ALLOC, ALLOC_OFF, "off" },
		{ OPT_ALLOC, ALLOC_AUTO, "auto" },
		{ OPT_ALLOC, ALLOC_EXACT, "exact" },
		{ OPT_ALLOC, ALLOC_SAMPLED, "sampled" },
		{ OPT_CPU, CPU_PERF, "perf" },
		{ OPT_CPU, CPU_SIGNAL, "signal" },
		{ OPT_ON_FULL, WIRE_ON_FULL_BLOCK, "block" },
		{ OPT_ON_FULL, WIRE_ON_FULL_DROP, "drop" },
		{ OPT_LOG, LOG_ERR, "error" },
		{ OPT_LOG, LOG_WARN, "warning" },
		{ OPT_LOG, LOG_INFO, "info" },
		{ OPT_LOG, LOG_DBG, "debug" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		ck_assert_str_eq(opts_choice(words[i].id, words[i].number),
				 words[i].word);
}

static bool view_has_key(const char *name, const char *key, const char **keys)
{
	const struct report_view *view = report_view_find(name);
	const struct report_trace_view *trace = report_trace_find(name);

	ck_assert_msg(view || trace, "there is no view '%s'", name);
	if (view)
		return report_view_has_key(view, key, keys);
	*keys = trace->key_text;
	return report_trace_has_key(trace, key);
}

TEST(opts_sort_has_the_keys_of_all_views)
{
	const char *const *views = opts_rows[OPT_VIEW].choices;
	const char *const *words = opts_rows[OPT_SORT].choices;

	ck_assert_str_eq(views[0], "functions");
	for (size_t i = 0; words[i]; i++) {
		bool known = strstr("self total calls name median p99 max",
				    words[i]);
		enum range_order order;
		const char *keys;

		known |= range_report_find_order(words[i], &order, &keys);
		for (size_t j = 1; views[j]; j++)
			known |= view_has_key(views[j], words[i], &keys);
		ck_assert_msg(known, "no view has the key '%s'", words[i]);
	}
	for (size_t j = 1; views[j]; j++) {
		char list[256], *key;
		const char *keys;

		view_has_key(views[j], "", &keys);
		snprintf(list, sizeof(list), "%s", keys);
		for (key = strtok(list, ", "); key; key = strtok(NULL, ", "))
			if (strcmp(key, "or") != 0)
				ck_assert_msg(opts_find_choice(words, key,
							       strlen(key)) >=
						      0,
					      "--sort has no '%s'", key);
	}
}

TEST(opts_defaults_are_the_constants)
{
	const char *limit = opts_rows[OPT_LIMIT].usually;
	struct collect_options options;
	char name[] = "perfrec-collect", *argv[] = { name, NULL };

	ck_assert_int_eq(collect_options_parse(1, argv, &options), OPTS_GO_ON);
	ck_assert_uint_eq(options.alloc, ALLOC_OFF);
	ck_assert_uint_eq(options.alloc_period, ALLOC_PERIOD_DEFAULT);
	ck_assert_uint_eq(options.stack_bytes, STACK_BYTES_DEFAULT);
	ck_assert(options.cpu_auto && options.sched);
	ck_assert_uint_eq(options.on_full, WIRE_ON_FULL_DROP);
	ck_assert_uint_eq(options.log_level, LOG_INFO);
	ck_assert_str_eq(options.output, RECORDING_DIR);
	ck_assert_int_eq(options.control_fd, -1);
	ck_assert_int_eq(atoi(limit), SUMMARY_LIMIT);
}

/* --- values -------------------------------------------------------------- */

static const struct {
	enum opts_id id;
	const char *text;
	uint64_t number;
	size_t word;
} good[] = {
	{ OPT_DEPTH, "1", 1, 0 },
	{ OPT_DEPTH, "65535", 65535, 0 },
	{ OPT_WORKERS, "8", 8, 0 },
	{ OPT_LIMIT, "0", 0, 0 },
	{ OPT_LIMIT, "4294967295", UINT32_MAX, 0 },
	{ OPT_RECORDING, "0", 0, 0 },
	{ OPT_STACK_SIZE, "512", 512, 0 },
	{ OPT_STACK_SIZE, "60k", 60 << 10, 0 },
	{ OPT_RING_SIZE, "64K", 64 << 10, 0 },
	{ OPT_RING_SIZE, "256M", 256 << 20, 0 },
	{ OPT_MAX_SIZE, "256K", 256 << 10, 0 },
	{ OPT_MAX_SIZE, "16777215T", UINT64_C(16777215) << 40, 0 },
	{ OPT_MAX_TOTAL, "1", 1, 0 },
	{ OPT_SNAPSHOT_INTERVAL, "100ms", 100000000, 0 },
	{ OPT_SNAPSHOT_INTERVAL, "24h", UINT64_C(86400000000000), 0 },
	{ OPT_ALLOC, "off", ALLOC_PERIOD_DEFAULT, ALLOC_OFF },
	{ OPT_ALLOC, "sampled", ALLOC_PERIOD_DEFAULT, ALLOC_SAMPLED },
	{ OPT_ALLOC, "sampled:1", 1, ALLOC_SAMPLED },
	{ OPT_ALLOC, "sampled:1G", 1 << 30, ALLOC_SAMPLED },
	{ OPT_CPU, "off", 0, CPU_PERF },
	{ OPT_CPU, "1", 1, CPU_PERF },
	{ OPT_CPU, "10000,perf", 10000, CPU_PERF },
	{ OPT_CPU, "250,signal", 250, CPU_SIGNAL },
	{ OPT_COUNTERS, "instructions", 1, 0 },
	{ OPT_COUNTERS, "cycles,instructions", 3, 0 },
	{ OPT_COUNTERS, "branch-misses,cache-misses,cycles,instructions", 27,
	  0 },
	{ OPT_MIN_DURATION, "0", 0, 0 },
	{ OPT_MIN_DURATION, "0us", 0, 0 },
	{ OPT_MIN_DURATION, "1.5us", 1500, 0 },
	{ OPT_MIN_DURATION, "60m", 3600000000000, 0 },
	{ OPT_CALL_FROM, "0", 0, 0 },
	{ OPT_ON_FULL, "drop", 0, WIRE_ON_FULL_DROP },
	{ OPT_VIEW, "span", 0, 3 },
	{ OPT_FILTER, "*", 0, 0 },
	{ OPT_FILTER, "@lib*", 0, 0 },
	{ OPT_CATEGORIES, "net*,-net.debug", 0, 0 },
	{ OPT_CATEGORIES, "-*", 0, 0 },
	{ OPT_OUTPUT, " ", 0, 0 },
};

TEST(opts_value_that_is_allowed_is_read, EACH(0, ARRAY_SIZE(good)))
{
	struct opts_value value = { .id = good[_i].id, .text = good[_i].text };

	ck_assert_msg(opts_value_read(&value), "'%s' is refused", value.text);
	ck_assert_uint_eq(value.number, good[_i].number);
	ck_assert_uint_eq(value.word, good[_i].word);
}

static const struct {
	enum opts_id id;
	const char *text, *want; /* part of the message */
} bad[] = {
	{ OPT_DEPTH, "0", "give a number from 1 to 65535" },
	{ OPT_DEPTH, "65536", "give a number from 1 to 65535" },
	{ OPT_DEPTH, "", "give a number from 1 to 65535" },
	{ OPT_DEPTH, "3x", "give a number from 1 to 65535" },
	{ OPT_WORKERS, "9", "give a number from 1 to 8" },
	{ OPT_LIMIT, "-1", "give a number from 0 to 4294967295" },
	{ OPT_LIMIT, "4294967296", "give a number from 0 to 4294967295" },
	{ OPT_STACK_SIZE, "511", "give a size from 512 to 60K" },
	{ OPT_STACK_SIZE, "61441", "give a size from 512 to 60K" },
	{ OPT_RING_SIZE, "63K", "give a size from 64K to 256M" },
	{ OPT_MAX_SIZE, "255K",
	  "give a size of at least 256K, such as 500M or 4G" },
	{ OPT_MAX_TOTAL, "0", "give a size of at least 1, such as 500M or 4G" },
	{ OPT_SNAPSHOT_INTERVAL, "99ms",
	  "give a time from 100ms to 24h, such as 10s or 5m" },
	{ OPT_SNAPSHOT_INTERVAL, "25h",
	  "give a time from 100ms to 24h, such as 10s or 5m" },
	{ OPT_MIN_DURATION, "3600000000001ns",
	  "give a time with its unit (ns, us, ms, s, m or h) of at most 1h, "
	  "such as 1.5us or 10ms" },
	{ OPT_MIN_DURATION, "1",
	  "give a time with its unit (ns, us, ms, s, m or h) of at most 1h, "
	  "such as 1.5us or 10ms" },
	{ OPT_MIN_DURATION, "",
	  "give a time with its unit (ns, us, ms, s, m or h) of at most 1h, "
	  "such as 1.5us or 10ms" },
	{ OPT_MIN_DURATION, "-1us",
	  "give a time with its unit (ns, us, ms, s, m or h) of at most 1h, "
	  "such as 1.5us or 10ms" },
	{ OPT_CALL_MIN, "10",
	  "give a time with its unit (ns, us, ms, s, m or h), such as 1.5us "
	  "or 10ms" },
	{ OPT_ALLOC, "some", NULL },
	{ OPT_ALLOC, "", NULL },
	{ OPT_ALLOC, "exact:1", NULL },
	{ OPT_ALLOC, "sampled:", NULL },
	{ OPT_ALLOC, "sampled:0", NULL },
	{ OPT_ALLOC, "sampled:1073741825", NULL },
	{ OPT_CPU, "0", NULL },
	{ OPT_CPU, "10001", NULL },
	{ OPT_CPU, "1000099", NULL },
	{ OPT_CPU, "99999999999999999999", NULL },
	{ OPT_CPU, "", NULL },
	{ OPT_CPU, "99,", NULL },
	{ OPT_CPU, "99,perfs", NULL },
	{ OPT_CPU, "off,perf", NULL },
	{ OPT_CPU, ",signal", NULL },
	{ OPT_COUNTERS, "", NULL },
	{ OPT_COUNTERS, "branches", NULL },
	{ OPT_COUNTERS, "cycle", NULL },
	{ OPT_COUNTERS, "cycles,", NULL },
	{ OPT_COUNTERS, ",cycles", NULL },
	{ OPT_COUNTERS, "cycles,cycles", NULL },
	{ OPT_COUNTERS, "cycles, instructions", NULL },
	{ OPT_COUNTERS,
	  "instructions,cycles,cache-references,cache-misses,branch-misses",
	  "choose instructions, cycles, cache-references, cache-misses or "
	  "branch-misses, or at most 4 of these with commas between them" },
	{ OPT_ON_FULL, "", "choose block or drop" },
	{ OPT_ON_FULL, "dro", "choose block or drop" },
	{ OPT_ON_FULL, "drops", "choose block or drop" },
	{ OPT_VIEW, "all",
	  "choose functions, cpu, heap, span, wait, lock, path or io" },
	{ OPT_FILTER, "", NULL },
	{ OPT_FILTER, "@", NULL },
	{ OPT_CATEGORIES, "", NULL },
	{ OPT_CATEGORIES, ", ,-", NULL },
	{ OPT_CATEGORIES, "a\tb", NULL },
	{ OPT_OUTPUT, "", "give the name of a folder" },
	{ OPT_SOCKET, "", "give the path of a socket" },
	{ OPT_CC_ONLY, "", "give the path of a source or of a folder" },
	{ OPT_CC_EXCLUDE_FUNCTION, "", "give a part of a name" },
	{ OPT_ALLOW_UID, "", "give the name or the number of a user" },
};

TEST(opts_value_that_is_not_allowed_is_refused, EACH(0, ARRAY_SIZE(bad)))
{
	struct opts_value value = { .id = bad[_i].id, .text = bad[_i].text };
	char want[OPTS_TEXT_BYTES];

	ck_assert_msg(!opts_value_read(&value), "'%s' is taken", value.text);
	opts_value_want(value.id, want, sizeof(want));
	ck_assert_uint_gt(strlen(want), strlen("give "));
	if (bad[_i].want)
		ck_assert_str_eq(want, bad[_i].want);
}

static bool is_taken(enum opts_id id, uint64_t number)
{
	char text[32];
	struct opts_value value = { .id = id, .text = text };

	snprintf(text, sizeof(text), "%" PRIu64 "%s", number,
		 opts_rows[id].kind == OPTS_TIME ? "ms" : "");
	return opts_value_read(&value);
}

/* Each row accepts the ends of its range and refuses values beyond. */
TEST(opts_range_holds, EACH(0, OPT_COUNT))
{
	const struct opts_row *row = &opts_rows[_i];
	enum opts_id id = (enum opts_id)_i;
	uint64_t unit = row->kind == OPTS_TIME ? 1000000 : 1;
	uint64_t least = row->least / unit, most = row->most / unit;

	if (row->kind != OPTS_NUMBER && row->kind != OPTS_SIZE &&
	    row->kind != OPTS_TIME)
		return;
	ck_assert(is_taken(id, least));
	ck_assert(!least || !is_taken(id, least - 1));
	ck_assert(is_taken(id, most ? most : UINT64_MAX));
	ck_assert(!most || !is_taken(id, most + 1));
}

TEST(opts_value_want_has_room, EACH(0, OPT_COUNT))
{
	char want[OPTS_TEXT_BYTES], more[2 * OPTS_TEXT_BYTES];

	opts_value_want((enum opts_id)_i, want, sizeof(want));
	opts_value_want((enum opts_id)_i, more, sizeof(more));
	ck_assert_str_eq(want, more);
}

TEST(opts_list_is_a_sentence)
{
	static const char *const words[] = { "a", "b", "c" };
	char text[16];

	ck_assert_str_eq(opts_list(words, 0, text, sizeof(text)), "");
	ck_assert_str_eq(opts_list(words, 1, text, sizeof(text)), "a");
	ck_assert_str_eq(opts_list(words, 2, text, sizeof(text)), "a or b");
	ck_assert_str_eq(opts_list(words, 3, text, sizeof(text)), "a, b or c");
	ck_assert_str_eq(opts_list(words, 3, text, 5), "a, b");
	ck_assert_str_eq(opts_list(words, 3, text, 3), "a,");
}

/* --- command lines ------------------------------------------------------- */

struct seen { /* calls of opts_parse() back */
	char text[256];
	size_t defaults;
};

static int take_seen(void *to, const struct opts_value *value)
{
	struct seen *seen = to;
	size_t length = strlen(seen->text);

	if (value->usual)
		seen->defaults++;
	else
		snprintf(seen->text + length, sizeof(seen->text) - length,
			 "%s=%s ", value->name, value->text ? value->text : "");
	return value->id == OPT_FOLLOW ? OPTS_FAILED : OPTS_GO_ON;
}

static int parse(enum opts_command command, const char *line, struct seen *seen)
{
	static char words[256];
	char *argv[32];
	int argc = 0;

	*seen = (struct seen){ 0 };
	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return opts_parse(command, argc, argv, take_seen, seen);
}

TEST(opts_parse_calls_back_in_order)
{
	size_t defaults = 0;
	struct seen seen;

	for (size_t i = 0; i < OPT_COUNT; i++)
		defaults +=
			opts_has(CMD_RECORD, i) && opts_usual(CMD_RECORD, i);
	ck_assert_uint_gt(defaults, 0);
	ck_assert_int_eq(parse(CMD_RECORD,
			       "record -o d --dep 3 -q --filter=a ls -q",
			       &seen),
			 OPTS_GO_ON);
	ck_assert_str_eq(seen.text, "-o=d --depth=3 -q= --filter=a ");
	ck_assert_int_eq(optind, 7);
	ck_assert_uint_eq(seen.defaults, defaults);
	/* report and ctl accept options behind their arguments. */
	ck_assert_int_eq(parse(CMD_CTL, "ctl list --json", &seen), OPTS_GO_ON);
	ck_assert_str_eq(seen.text, "--json= ");
	ck_assert_int_eq(optind, 2);
}

TEST(opts_parse_ends_with_what_is_returned)
{
	struct seen seen;

	ck_assert_int_eq(
		parse(CMD_RECORD, "record --follow --depth 0 ls", &seen),
		OPTS_FAILED);
	ck_assert_str_eq(seen.text, "--follow= ");
}

TEST(opts_parse_refuses_what_is_wrong)
{
	static const struct {
		enum opts_command command;
		const char *line;
	} lines[] = {
		{ CMD_RECORD, "record --frob" },
		{ CMD_RECORD, "record -z" },
		{ CMD_RECORD, "record --depth" },
		{ CMD_RECORD, "record -o" },
		{ CMD_RECORD, "record --json=1" },
		{ CMD_RECORD, "record --depth 0" },
		{ CMD_RECORD, "record --s" }, /* ambiguous */
		{ CMD_RECORD, "record --view cpu" }, /* of another command */
		{ CMD_CC, "cc -O2" },
		{ CMD_MAIN, "perfrec --json" },
	};
	struct seen seen;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		ck_assert_int_eq(parse(lines[i].command, lines[i].line, &seen),
				 OPTS_WRONG);
		ck_assert_str_eq(seen.text, "");
	}
}

TEST(opts_commands_have_their_names)
{
	ck_assert_uint_eq(opts_find_command("record"), CMD_RECORD);
	ck_assert_uint_eq(opts_find_command("c++"), CMD_CXX);
	ck_assert_uint_eq(opts_find_command("perfrec"), CMD_COUNT);
	ck_assert_uint_eq(opts_find_command(""), CMD_COUNT);
	ck_assert_int_eq(opts_find_operand(CMD_CTL, "list"), 0);
	ck_assert_int_eq(opts_find_operand(CMD_CTL, "lis"), -1);
}

/* --- spelling ------------------------------------------------------------ */

TEST(spelling_nearest_is_the_one_that_was_meant)
{
	static const char *const words[] = { "--filter", "--follow", NULL,
					     "--depth", "--cpu" };
	static const struct {
		const char *text, *meant;
	} cases[] = {
		{ "--fitler", "--filter" }, /* exchanged letters */
		{ "--filtre", "--filter" },
		{ "--flter", "--filter" },
		{ "--depthh", "--depth" },
		{ "--dept", "--depth" },
		{ "--dpth", "--depth" },
		{ "--gpu", "--cpu" },
		{ "--xyz", NULL },
		{ "--fo", NULL },
		{ "", NULL },
		{ "-----------------------------------------", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got =
			spelling_nearest(cases[i].text, strlen(cases[i].text),
					 words, ARRAY_SIZE(words));

		ck_assert_msg(got == cases[i].meant ||
				      (got && cases[i].meant &&
				       !strcmp(got, cases[i].meant)),
			      "%s is %s", cases[i].text, got ? got : "nothing");
	}
}

TEST(spelling_nearest_of_two_is_none)
{
	static const char *const words[] = { "--max-size", "--map-size" };

	ck_assert_ptr_null(spelling_nearest("--maz-size", 10, words, 2));
	ck_assert_ptr_eq(spelling_nearest("--max-siz", 9, words, 2), words[0]);
	/* The comparison ends at the length. */
	ck_assert_ptr_eq(spelling_nearest("--max-size=4G", 10, words, 2),
			 words[0]);
}

static void begin_suite(void)
{
	log_init("test_opts", LOG_ERR);
}

SUITE(begin_suite, NULL);
