/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_ctl.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json_text.h"
#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/command/ctl_ask.h"
#include "collector/names/name_fold.h"
#include "collector/options/ctl_wire.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/output/cache_files.h"
#include "collector/show/table.h"
#include "collector/show/terminal.h"
#include "shared/compiler.h"

struct ctl_options {
	const char *socket, *dir;
	bool json, full_names;
	const char *verb, *target; /* target: NULL for all */
	const char *list; /* of categories or changes; may be NULL */
	const char *why; /* of a snapshot; may be NULL */
	uint64_t timeout_ns; /* of flush and snapshot; 0: default */
	/* Timeout and reason of a snapshot, as in ctl_wire.h. */
	char timeout[CTL_REQUEST_MAX / 4];
	/* Changes of functions, as in ctl_wire.h. */
	char changes[CTL_REQUEST_MAX / 2];
};

/* --- the command line ---------------------------------------------------- */

static int add_change(struct ctl_options *options, char state,
		      const struct opts_value *value)
{
	size_t length = strlen(options->changes);
	size_t room = sizeof(options->changes) - length;

	if (strpbrk(value->text, "\t\n"))
		return opts_refuse(value,
				   "give a pattern without tabs and newlines");
	if ((size_t)snprintf(options->changes + length, room, "%s%c%s",
			     length ? "\t" : "", state, value->text) >= room)
		return opts_refuse(value, "give fewer patterns at once");
	return OPTS_GO_ON;
}

static int take_ctl_option(void *to, const struct opts_value *value)
{
	struct ctl_options *options = to;

	switch (value->id) {
	case OPT_CTL_SOCKET:
		options->socket = value->text;
		break;
	case OPT_CTL_DIR:
		options->dir = value->text;
		break;
	case OPT_FULL_NAMES:
		options->full_names = true;
		break;
	case OPT_JSON:
		options->json = true;
		break;
	case OPT_CTL_TIMEOUT:
		options->timeout_ns = value->number;
		break;
	case OPT_CTL_WHY:
		if (strpbrk(value->text, "\t\n") ||
		    strlen(value->text) > CTL_REQUEST_MAX / 8)
			return opts_refuse(value, "give a short text without "
						  "tabs and newlines");
		options->why = value->text;
		break;
	case OPT_CTL_SPAN:
		return add_change(options, CTL_FUNCTIONS_SPAN, value);
	case OPT_CTL_COUNT:
		return add_change(options, CTL_FUNCTIONS_COUNT, value);
	case OPT_CTL_OFF:
		return add_change(options, CTL_FUNCTIONS_OFF, value);
	default:
		assert(!"an option of perfrec ctl that nobody takes");
	}
	return OPTS_GO_ON;
}

static int refuse_word(const char *word, const char *why)
{
	log_err("'%.200s': %s; see perfrec ctl --help", word, why);
	return OPTS_WRONG;
}

static int refuse_verb(const char *verb)
{
	char verbs[128];

	opts_list_operands(CMD_CTL, verbs, sizeof(verbs));
	if (verb)
		log_err("unknown command '%.200s': choose %s; see perfrec ctl "
			"--help",
			verb, verbs);
	else
		log_err("give a command: choose %s; see perfrec ctl --help",
			verbs);
	return OPTS_WRONG;
}

/* The last word of `perfrec ctl categories` is its list, even if it begins with
 * '-'. Returns the number of remaining words. */
static int take_list(int argc, char **argv, struct ctl_options *options)
{
	for (int i = 1; i < argc - 1; i++) {
		if (strcmp(argv[i], "categories") != 0)
			continue;
		if (!strncmp(argv[argc - 1], "--", 2))
			break;
		options->list = argv[argc - 1];
		return argc - 1;
	}
	return argc;
}

static int check_list(const struct ctl_options *options)
{
	if (options->list)
		return opts_check(OPT_CATEGORIES, "categories", options->list);
	log_err("give a list of categories, such as 'net*,-net.debug'; see "
		"perfrec ctl --help");
	return OPTS_WRONG;
}

static int take_words(int argc, char **argv, struct ctl_options *options)
{
	if (argc < 1)
		return refuse_verb(NULL);
	if (opts_find_operand(CMD_CTL, argv[0]) < 0)
		return refuse_verb(argv[0]);
	if (!strcmp(argv[0], "categories") && check_list(options) != OPTS_GO_ON)
		return OPTS_WRONG;
	if (argc > 1 && !strcmp(argv[0], "forget"))
		return refuse_word(argv[1], "forget is for all programs");
	if (argc > 1 && !strcmp(argv[0], "stats"))
		return refuse_word(argv[1], "stats are of all programs");
	if (argc > 2)
		return refuse_word(argv[2], "one target at a time");
	if (!strcmp(argv[0], "functions")) {
		options->list = options->changes[0] ? options->changes : NULL;
	} else if (options->changes[0]) {
		log_err("--span, --count and --off go with functions; see "
			"perfrec ctl --help");
		return OPTS_WRONG;
	}
	if (options->why && strcmp(argv[0], "snapshot") != 0) {
		log_err("--why goes with snapshot; see perfrec ctl --help");
		return OPTS_WRONG;
	}
	if (!strcmp(argv[0], "flush") || !strcmp(argv[0], "snapshot")) {
		if (!options->timeout_ns)
			options->timeout_ns = FLUSH_NS_USUAL;
		snprintf(options->timeout, sizeof(options->timeout), "%llu%s%s",
			 (unsigned long long)(options->timeout_ns / 1000000),
			 options->why ? "\t" : "",
			 options->why ? options->why : "");
		options->list = options->timeout;
	} else if (options->timeout_ns) {
		log_err("--timeout goes with flush and snapshot; see perfrec "
			"ctl --help");
		return OPTS_WRONG;
	}
	options->verb = argv[0];
	options->target = argc > 1 ? argv[1] : NULL;
	if (argc == 2 && (!argv[1][0] || strchr(argv[1], '\n') ||
			  strlen(argv[1]) > CTL_REQUEST_MAX / 4))
		return refuse_word(argv[1],
				   "give the pid or the name of a program");
	if (options->socket && options->dir) {
		log_err("give --socket or -o, not both; see perfrec ctl "
			"--help");
		return OPTS_WRONG;
	}
	return OPTS_GO_ON;
}

/* --- output -------------------------------------------------------------- */

static const char *ctl_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static uint64_t ctl_number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

/* Prints @name, padded to @width columns. Programs choose their names, so
 * control characters are removed. */
static void print_padded_name(const char *name, int width)
{
	char clean[NAME_FOLD_BYTES];
	int columns;

	name_fold_clean(name, clean);
	columns = (int)terminal_width(clean);
	printf("%s%*s", clean, width > columns ? width - columns : 0, "");
}

/* Returns the budget @name of the program @row. NULL: an older collector has
 * none. */
static const json_t *find_budget(const json_t *row, const char *name)
{
	const json_t *budgets = json_object_get(row, "budgets");

	for (size_t i = 0; i < json_array_size(budgets); i++)
		if (!strcmp(ctl_text(json_array_get(budgets, i), "name"), name))
			return json_array_get(budgets, i);
	return NULL;
}

static void print_list(const json_t *answer)
{
	const json_t *programs = json_object_get(answer, "programs");

	printf("%7s  %-15s  %-9s  %7s  %12s  %8s  %9s  %9s  %9s  %9s  %s\n",
	       "PID", "PROGRAM", "STATE", "THREADS", "CALLS", "LOST", "FOR",
	       "TRACE", "MEMORY", "NAMES", "FOLDER");
	for (size_t i = 0; i < json_array_size(programs); i++) {
		const json_t *row = json_array_get(programs, i);
		char spans[SIZE_TEXT], lost[SIZE_TEXT], bytes[SIZE_TEXT];
		char memory[SIZE_TEXT], names[SIZE_TEXT];
		const json_t *budgets;
		uint64_t seconds;
		char text[32];

		printf("%7llu  ", (unsigned long long)ctl_number(row, "pid"));
		print_padded_name(ctl_text(row, "program"), 15);
		printf("  %-9s  %7llu  %12s  %8s  ", ctl_text(row, "state"),
		       (unsigned long long)ctl_number(row, "threads"),
		       size_format_count(ctl_number(row, "spans"), spans),
		       size_format_count(ctl_number(row, "lost"), lost));
		seconds = ctl_number(row, "seconds");
		if (seconds < 60)
			snprintf(text, sizeof(text), "%us",
				 (unsigned int)seconds);
		else if (seconds < 3600)
			snprintf(text, sizeof(text), "%um%02us",
				 (unsigned int)(seconds / 60),
				 (unsigned int)(seconds % 60));
		else
			snprintf(text, sizeof(text), "%lluh%02um",
				 (unsigned long long)(seconds / 3600),
				 (unsigned int)(seconds / 60 % 60));
		printf("%9s  ", text);
		printf("%9s  %9s  %9s  ",
		       size_format_bytes(ctl_number(row, "bytes"), bytes),
		       size_format_bytes(
			       ctl_number(find_budget(row, "memory"), "bytes"),
			       memory),
		       size_format_bytes(
			       ctl_number(find_budget(row, "names"), "bytes"),
			       names));
		print_padded_name(ctl_text(row, "folder"), 0);
		putchar('\n');
		budgets = json_object_get(row, "budgets");
		for (size_t j = 0; j < json_array_size(budgets); j++) {
			const json_t *budget = json_array_get(budgets, j);
			char most[SIZE_TEXT];

			if (!ctl_text(budget, "full_since")[0])
				continue;
			printf("%7s  no room for ", "");
			print_padded_name(ctl_text(budget, "name"), 0);
			printf(" since ");
			print_padded_name(ctl_text(budget, "full_since"), 0);
			printf(": it may have %s\n",
			       size_format_bytes(
				       ctl_number(budget, "bytes_max"), most));
		}
	}
}

static void print_done(const char *what, const json_t *answer)
{
	const json_t *programs = json_object_get(answer, "programs");

	for (size_t i = 0; i < json_array_size(programs); i++) {
		const json_t *row = json_array_get(programs, i);

		printf("%s %llu ", what,
		       (unsigned long long)ctl_number(row, "pid"));
		print_padded_name(ctl_text(row, "program"), 0);
		printf(" (");
		print_padded_name(ctl_text(row, "folder"), 0);
		puts(")");
	}
}

static void print_files(const json_t *row)
{
	const json_t *files = json_object_get(row, "files");

	for (size_t i = 0; i < json_array_size(files); i++) {
		const char *file = json_string_value(json_array_get(files, i));

		print_padded_name(ctl_text(row, "folder"), 0);
		putchar('/');
		print_padded_name(file ? file : "", 0);
		putchar('\n');
	}
}

/* Logs each row in @key of @answer as not @what. Returns true if there are
 * any. */
static bool say_not_done(const json_t *answer, const char *key,
			 const char *what)
{
	const json_t *rows = json_object_get(answer, key);

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		log_err("'%s' is not %s: %s", ctl_text(row, "folder"), what,
			ctl_text(row, "why"));
	}
	return json_array_size(rows) > 0;
}

static const struct table_column function_columns[] = {
	{ "STATE", 12, true, 0 },  { "CALLS", 15, false, 1 },
	{ "MEAN", 9, false, 3 },   { "COST/CALL", 10, false, 2 },
	{ "OF CPU", 6, false, 0 }, { "SITES", 5, false, 4 },
};

static void add_ctl_function(struct table *table, const json_t *row)
{
	const char *refused = ctl_text(row, "refused");
	char state[32], calls[SIZE_TEXT] = "", mean[SIZE_TEXT] = "";
	char cost[32], share[32], sites[32], why[512];
	const char *cells[] = { state, calls, mean, cost, share, sites };

	snprintf(state, sizeof(state), "%s", ctl_text(row, "state"));
	if (json_object_get(row, "calls"))
		size_format_count(ctl_number(row, "calls"), calls);
	if (ctl_number(row, "mean_ns"))
		size_format_ns(ctl_number(row, "mean_ns"), mean);
	snprintf(cost, sizeof(cost), "%.1f ns",
		 json_number_value(json_object_get(row, "cost_each_ns")));
	snprintf(share, sizeof(share), "%.1f%%",
		 100 * json_number_value(json_object_get(row, "cost_share")));
	snprintf(sites, sizeof(sites), "%llu",
		 (unsigned long long)ctl_number(row, "sites"));
	table_add(table, cells, ctl_text(row, "name"), NULL);
	if (json_is_true(json_object_get(row, "gated")))
		snprintf(why, sizeof(why), "(left out by the gate%s%s)",
			 refused[0] ? ": " : "", refused);
	else
		snprintf(why, sizeof(why), "(stays as it is: %s)", refused);
	if (refused[0] || json_is_true(json_object_get(row, "gated")))
		table_behind(table, why);
}

static int print_program_functions(const struct ctl_options *options,
				   const json_t *answer)
{
	const struct terminal terminal = terminal_of(stdout);
	const json_t *programs = json_object_get(answer, "functions");
	int err = 0;

	for (size_t i = 0; i < json_array_size(programs) && !err; i++) {
		const json_t *rows = json_object_get(
			json_array_get(programs, i), "functions");
		struct table table;

		table_init(&table, function_columns,
			   ARRAY_SIZE(function_columns), "FUNCTION");
		table.indent = "";
		table.full_names = options->full_names;
		for (size_t j = 0; j < json_array_size(rows); j++)
			add_ctl_function(&table, json_array_get(rows, j));
		err = table_print(&table, &terminal, stdout);
		table_release(&table);
	}
	return err;
}

static uint64_t stat_of(const json_t *answer, const char *key)
{
	return ctl_number(json_object_get(answer, "stats"), key);
}

static void print_sum_stats(const json_t *answer)
{
	char programs[SIZE_TEXT], spans[SIZE_TEXT], lost[SIZE_TEXT];
	char disk[SIZE_TEXT], most[SIZE_TEXT] = "";
	char count[SIZE_TEXT], bytes[SIZE_TEXT];
	unsigned long long removed;

	if (stat_of(answer, "disk_bytes_max"))
		size_format_bytes(stat_of(answer, "disk_bytes_max"), most);
	printf("recordings: %llu going on, %llu finishing; so far %s "
	       "program%s, %s calls, %s lost; %s on disk%s%s\n",
	       (unsigned long long)stat_of(answer, "going_on"),
	       (unsigned long long)stat_of(answer, "finishing"),
	       size_format_count(stat_of(answer, "programs"), programs),
	       stat_of(answer, "programs") == 1 ? "" : "s",
	       size_format_count(stat_of(answer, "spans"), spans),
	       size_format_count(stat_of(answer, "lost"), lost),
	       size_format_bytes(stat_of(answer, "disk_bytes"), disk),
	       most[0] ? " of " : "", most);
	removed = stat_of(answer, "removed");
	if (removed)
		printf("removed: %s old recording%s, %s (--keep-recordings)\n",
		       size_format_count(removed, count), size_plural(removed),
		       size_format_bytes(stat_of(answer, "removed_bytes"),
					 bytes));
}

static void print_refusals(const json_t *answer)
{
	const json_t *rows =
		json_object_get(json_object_get(answer, "stats"), "refusals");

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		char count[SIZE_TEXT];

		printf("refused: %s, because ",
		       size_format_count(ctl_number(row, "programs"), count));
		print_padded_name(ctl_text(row, "why"), 0);
		putchar('\n');
	}
}

static const struct table_column recording_columns[] = {
	{ "PROCS", 5, false, 5 },   { "THREADS", 7, false, 6 },
	{ "BEHIND", 9, false, 0 },  { "UNREAD", 9, false, 0 },
	{ "FULLEST", 9, false, 4 }, { "RING", 9, false, 7 },
	{ "MEMORY", 9, false, 2 },  { "TRACE", 9, false, 1 },
	{ "LOST", 8, false, 3 },
};

static const char *folder_name(const json_t *row)
{
	const char *folder = ctl_text(row, "folder");

	return path_name(folder);
}

static void add_stats_recording(struct table *table, const json_t *row)
{
	char text[ARRAY_SIZE(recording_columns)][SIZE_TEXT];
	const char *cells[ARRAY_SIZE(recording_columns)] = {
		size_format_count(ctl_number(row, "processes"), text[0]),
		size_format_count(ctl_number(row, "threads"), text[1]),
		size_format_ns(ctl_number(row, "lag_ns"), text[2]),
		size_format_bytes(ctl_number(row, "unread_bytes"), text[3]),
		size_format_bytes(ctl_number(row, "fullest_bytes"), text[4]),
		size_format_bytes(ctl_number(row, "ring_bytes"), text[5]),
		size_format_bytes(ctl_number(row, "memory_bytes"), text[6]),
		size_format_bytes(ctl_number(row, "trace_bytes"), text[7]),
		size_format_count(ctl_number(row, "lost"), text[8]),
	};

	table_add(table, cells, folder_name(row), NULL);
	if (ctl_number(row, "lagging"))
		table_behind(table, "(its disk or its names are behind)");
}

/* State of the flight recorders. NO SNAP.: triggers without snapshot. */
static const struct table_column flight_columns[] = {
	{ "KEPT", 9, false, 0 },      { "MEMORY", 9, false, 0 },
	{ "TRIGGERS", 8, false, 2 },  { "NO SNAP.", 8, false, 1 },
	{ "SNAPSHOTS", 9, false, 0 }, { "REMOVED", 7, false, 4 },
	{ "FAILED", 6, false, 3 },    { "ON DISK", 9, false, 5 },
};

static void add_flight(struct table *table, const json_t *row)
{
	char text[ARRAY_SIZE(flight_columns)][SIZE_TEXT];
	const char *cells[ARRAY_SIZE(flight_columns)] = {
		size_format_ns(ctl_number(row, "flight_kept_ns"), text[0]),
		size_format_bytes(ctl_number(row, "flight_bytes"), text[1]),
		size_format_count(ctl_number(row, "triggers"), text[2]),
		size_format_count(ctl_number(row, "lost_triggers"), text[3]),
		size_format_count(ctl_number(row, "snapshots"), text[4]),
		size_format_count(ctl_number(row, "removed_snapshots"),
				  text[5]),
		size_format_count(ctl_number(row, "unwritten_snapshots"),
				  text[6]),
		size_format_bytes(ctl_number(row, "snapshot_bytes"), text[7]),
	};

	if (ctl_number(row, "flight_bytes_max"))
		table_add(table, cells, folder_name(row), NULL);
}

static int print_table_rows(const struct ctl_options *options,
			    const json_t *rows,
			    const struct table_column *columns,
			    size_t column_count,
			    void (*add)(struct table *table, const json_t *row))
{
	const struct terminal terminal = terminal_of(stdout);
	struct table table;
	int err = 0;

	table_init(&table, columns, column_count, "FOLDER");
	table.indent = "";
	table.full_names = options->full_names;
	for (size_t i = 0; i < json_array_size(rows); i++)
		add(&table, json_array_get(rows, i));
	if (table.count || table.failed)
		err = table_print(&table, &terminal, stdout);
	table_release(&table);
	return err;
}

static int print_stats(const struct ctl_options *options, const json_t *answer)
{
	const json_t *rows =
		json_object_get(json_object_get(answer, "stats"), "recordings");
	int err;
	char up[SIZE_TEXT], cpu[SIZE_TEXT], memory[SIZE_TEXT];
	char lag[SIZE_TEXT], names[SIZE_TEXT], names_most[SIZE_TEXT];
	char tables[SIZE_TEXT], tables_most[SIZE_TEXT];
	char bytes[SIZE_TEXT], waiting[SIZE_TEXT];

	printf("perfrec-collect (pid %llu): up %s, CPU %s, memory %s, files "
	       "%llu of %llu\n",
	       (unsigned long long)ctl_number(
		       json_object_get(answer, "collector"), "pid"),
	       size_format_ns(stat_of(answer, "uptime_ns"), up),
	       size_format_ns(stat_of(answer, "cpu_ns"), cpu),
	       size_format_bytes(stat_of(answer, "rss_bytes"), memory),
	       (unsigned long long)stat_of(answer, "open_files"),
	       (unsigned long long)stat_of(answer, "open_files_max"));
	print_sum_stats(answer);
	printf("drain: %llu worker%s, at most %s behind\n",
	       (unsigned long long)stat_of(answer, "workers"),
	       stat_of(answer, "workers") == 1 ? "" : "s",
	       size_format_ns(stat_of(answer, "lag_ns"), lag));
	printf("names: %s (of one recording at most %s), symbol tables: %s "
	       "(%s)\n",
	       size_format_bytes(stat_of(answer, "names_bytes"), names),
	       size_format_bytes(stat_of(answer, "names_bytes_max"),
				 names_most),
	       size_format_bytes(stat_of(answer, "tables_bytes"), tables),
	       size_format_bytes(stat_of(answer, "tables_bytes_max"),
				 tables_most));
	printf("helpers: %llu running, %llu started, %llu failed\n",
	       (unsigned long long)stat_of(answer, "helpers"),
	       (unsigned long long)stat_of(answer, "helpers_started"),
	       (unsigned long long)stat_of(answer, "helpers_failed"));
	if (stat_of(answer, "push_windows") || stat_of(answer, "push_full") ||
	    stat_of(answer, "push_failed")) {
		printf("push: %llu windows (%s) sent, %llu (%s) waiting, %llu "
		       "given up; %llu requests refused, %llu sent again\n",
		       (unsigned long long)stat_of(answer, "pushed_windows"),
		       size_format_bytes(stat_of(answer, "pushed_bytes"),
					 bytes),
		       (unsigned long long)stat_of(answer,
						   "push_spooled_windows"),
		       size_format_bytes(stat_of(answer, "push_spooled_bytes"),
					 waiting),
		       (unsigned long long)stat_of(answer,
						   "push_dropped_windows"),
		       (unsigned long long)stat_of(answer, "push_refused"),
		       (unsigned long long)stat_of(answer, "push_retries"));
	}
	print_refusals(answer);
	err = print_table_rows(options, rows, recording_columns,
			       ARRAY_SIZE(recording_columns),
			       add_stats_recording);
	return err ? err
		   : print_table_rows(options, rows, flight_columns,
				      ARRAY_SIZE(flight_columns), add_flight);
}

static int print_answer(const struct ctl_options *options, const json_t *answer)
{
	if (!strcmp(options->verb, "list"))
		print_list(answer);
	else if (!strcmp(options->verb, "flush")) {
		const json_t *flushed = json_object_get(answer, "flushed");

		for (size_t i = 0; i < json_array_size(flushed); i++)
			print_files(json_array_get(flushed, i));
	} else if (!strcmp(options->verb, "stop") && !options->target)
		printf("ended perfrec-collect (pid %llu)\n",
		       (unsigned long long)ctl_number(
			       json_object_get(answer, "collector"), "pid"));
	else if (!strcmp(options->verb, "stop"))
		print_done("ended", answer);
	else if (!strcmp(options->verb, "snapshot")) {
		const json_t *rows = json_object_get(answer, "snapshots");

		for (size_t i = 0; i < json_array_size(rows); i++) {
			print_padded_name(
				ctl_text(json_array_get(rows, i), "folder"), 0);
			putchar('\n');
		}
	} else if (!strcmp(options->verb, "categories"))
		print_done("told", answer);
	else if (!strcmp(options->verb, "functions"))
		return print_program_functions(options, answer);
	else if (!strcmp(options->verb, "stats"))
		return print_stats(options, answer);
	else if (!strcmp(options->verb, "forget"))
		printf("forgot %llu module%s\n",
		       (unsigned long long)ctl_number(answer, "forgotten"),
		       ctl_number(answer, "forgotten") == 1 ? "" : "s");
	else
		print_done(!strcmp(options->verb, "pause") ? "paused"
							   : "resumed",
			   answer);
	return 0;
}

/* --- ctl forget --------------------------------------------------------------
 *
 * The learned states are in files of the user, so no collector is required.
 */

static int forget(json_t **out)
{
	unsigned int removed, plans;
	char folder[PATH_MAX];
	int err = cache_files_forget(CACHE_PREFIX_FUNCTIONS, &removed);

	if (!err)
		err = cache_files_forget(CACHE_PREFIX_PLANS, &plans);
	if (err && cache_files_folder(folder))
		log_err("cannot forget: %s", strerror(-err));
	else if (err)
		log_err("cannot remove the files in '%s': %s", folder,
			strerror(-err));
	if (err)
		return err;
	*out = json_pack("{s:i}", "forgotten", (int)removed);
	return *out ? 0 : -ENOMEM;
}

/* --- JSON ---------------------------------------------------------------- */

#define CTL_JSON_VERSION 1

static int ask_for_answer(const struct ctl_options *options, json_t **out)
{
	const struct ctl_request request = { .command = "ctl",
					     .words = options->verb,
					     .socket = options->socket,
					     .dir = options->dir,
					     .verb = options->verb,
					     .target = options->target,
					     .list = options->list,
					     .wait_ns = options->timeout_ns };

	return ctl_ask(&request, out);
}

int cmd_ctl(int argc, char **argv)
{
	struct ctl_options options = { 0 };
	int result;
	json_t *answer;
	bool partial;
	int err = 0;
	bool some;

	argc = take_list(argc, argv, &options);
	result = opts_parse(CMD_CTL, argc, argv, take_ctl_option, &options);
	if (result != OPTS_GO_ON)
		return result;
	result = take_words(argc - optind, argv + optind, &options);
	if (result != OPTS_GO_ON)
		return result;
	if (!strcmp(options.verb, "forget") ? forget(&answer)
					    : ask_for_answer(&options, &answer))
		return OPTS_FAILED;
	if (options.json) {
		const json_t *programs = json_object_get(answer, "functions");

		for (size_t i = 0; i < json_array_size(programs); i++) {
			json_t *rows = json_object_get(
				json_array_get(programs, i), "functions");

			for (size_t j = 0; j < json_array_size(rows); j++) {
				json_t *row = json_array_get(rows, j);
				char text[NAME_FOLD_BYTES];

				name_fold(ctl_text(row, "name"), text);
				json_object_set_new(row, "short",
						    json_text(text));
			}
		}
		json_object_set_new(answer, "version",
				    json_integer(CTL_JSON_VERSION));
		json_text_write(answer, JSON_INDENT(2), stdout);
		putchar('\n');
	} else {
		err = print_answer(&options, answer);
	}
	some = say_not_done(answer, "not_flushed", "flushed");

	partial = say_not_done(answer, "not_written", "in a snapshot") || some;
	json_decref(answer);
	if (err)
		log_err("out of memory");
	return text_out_finish() || err || partial ? OPTS_FAILED : OPTS_OK;
}
