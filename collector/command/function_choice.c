/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/function_choice.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/search.h"
#include "collector/base/text_out.h"
#include "collector/names/name_pattern.h"
#include "collector/options/name_near.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"

#define LISTED_MAX 20

int function_choice_operands(const char *command, int argc, char **argv,
			     const char **word, const char **dir)
{
	argv += optind;
	argc -= optind;
	if (argc < 1 || argc > 2 || !argv[0][0] || (argc == 2 && !argv[1][0])) {
		log_err("give a function, and maybe the folder of a recording: "
			"%s FUNC [DIR]",
			command);
		return OPTS_WRONG;
	}
	*word = argv[0];
	if (argc == 2)
		*dir = argv[1];
	else if (own_files_exists(argv[0], SUMMARY_NAME) &&
		 !own_files_exists(*dir, SUMMARY_NAME)) {
		log_err("give a function: %s FUNC %.200s; perfrec report "
			"%.200s lists them",
			command, argv[0], argv[0]);
		return OPTS_WRONG;
	}
	return OPTS_GO_ON;
}

struct choice {
	const char *word, *dir;
	const struct pprof_rows *rows;
	const struct summary *summary;
	enum function_wish wish;
	const char **names; /* unique matches; room for all rows */
	size_t count;
};

static bool is_empty(const struct pprof_row *row)
{
	for (size_t i = 0; i < PPROF_VALUES_MAX; i++)
		if (row->total[i])
			return false;
	return true;
}

/* Collects the matching names, or only one if the word is its full name. */
static void take_matches(struct choice *choice)
{
	for (size_t i = 0; i < choice->rows->count; i++) {
		const struct pprof_frame *frame = choice->rows->list[i].frames;

		if (is_empty(&choice->rows->list[i]))
			continue;
		if (strcmp(frame->name, choice->word) == 0) {
			choice->names[0] = frame->name;
			choice->count = 1;
			return;
		}
		if (choice->count <= LISTED_MAX &&
		    name_pattern_matches(choice->word, frame->name,
					 frame->module) &&
		    !search_text(frame->name, choice->names, choice->count))
			choice->names[choice->count++] = frame->name;
	}
}

/* --- messages ------------------------------------------------------------- */

static size_t list_containing(const struct choice *choice)
{
	size_t count = 0;

	for (size_t i = 0; i < choice->rows->count && count < 5; i++) {
		const char *name = choice->rows->list[i].frames->name;

		if (is_empty(&choice->rows->list[i]) ||
		    !strcasestr(name, choice->word))
			continue;
		fputs("  ", stderr);
		text_out(name, stderr);
		fputc('\n', stderr);
		count++;
	}
	return count;
}

static const struct summary_function *find_bare(const struct choice *choice)
{
	const struct summary *summary = choice->summary;

	for (size_t i = 0; i < summary->function_count; i++)
		if (name_pattern_matches(choice->word,
					 summary->functions[i].name,
					 summary->functions[i].module))
			return &summary->functions[i];
	return NULL;
}

static const char *cause_of_lack(const struct choice *choice)
{
	if (choice->wish == FUNCTION_LINES)
		return " with samples or allocations";
	return "";
}

static void say_unknown(const struct choice *choice)
{
	const struct summary_function *bare = find_bare(choice);
	const struct summary_totals *totals = &choice->summary->totals;
	char *near;
	size_t count;
	const char **names;

	if (bare) {
		if (choice->wish == FUNCTION_LINES)
			log_err("'%.200s' has no samples and no allocations of "
				"'%.200s': its lines are unknown; sample more "
				"often (perfrec record --cpu 999), and see "
				"perfrec report %.200s",
				choice->dir, bare->name, choice->dir);
		else if (bare->state && strcmp(bare->state, "off") == 0)
			log_err("'%.200s' has no recorded calls of '%.200s': "
				"it was off (--overhead, or perfrec ctl "
				"functions --off); record again with "
				"--no-cache, or without --overhead",
				choice->dir, bare->name);
		else
			log_err("'%.200s' has no recorded calls of '%.200s': "
				"they were counted only; record again without "
				"--count and --overhead",
				choice->dir, bare->name);
		return;
	}
	if (choice->wish == FUNCTION_CALLS && !choice->summary->instrumented &&
	    !totals->spans && !totals->counted_calls) {
		log_err("'%.200s' has no calls: build the program with perfrec "
			"cc, or record it with --patch; perfrec report --view "
			"cpu %.200s has its functions",
			choice->dir, choice->dir);
		return;
	}
	count = choice->rows->count;
	names = calloc(count + 1, sizeof(*names));
	near = NULL;
	for (size_t i = 0; names && i < count; i++)
		names[i] = choice->rows->list[i].frames->name;
	if (names)
		near = name_near(choice->word, names, count);
	free(names);
	if (near)
		log_err("'%.200s' has no function '%.200s'%s: did you mean "
			"'%.200s'?",
			choice->dir, choice->word, cause_of_lack(choice), near);
	else {
		const char *dir = choice->dir;

		if (choice->summary->filtered && choice->wish == FUNCTION_CALLS)
			log_err("'%.200s' has no function '%.200s': maybe "
				"--filter or --exclude left it out, then "
				"record again without them; perfrec report "
				"%.200s lists what is there",
				dir, choice->word, dir);
		else
			log_err("'%.200s' has no function '%.200s'%s; perfrec "
				"report %s%.200s lists them",
				dir, choice->word, cause_of_lack(choice),
				choice->wish == FUNCTION_LINES ? "--view cpu "
							       : "",
				dir);
	}
	if (!near)
		list_containing(choice);
	free(near);
}

const char *function_choose(const char *word, const struct pprof_rows *rows,
			    const struct summary *summary,
			    enum function_wish wish, const char *dir)
{
	struct choice choice = {
		.word = word,
		.dir = dir,
		.rows = rows,
		.summary = summary,
		.wish = wish,
	};
	const char *chosen = NULL;

	choice.names = calloc(rows->count + 1, sizeof(*choice.names));
	if (!choice.names) {
		log_err("out of memory");
		return NULL;
	}
	take_matches(&choice);
	if (choice.count == 1)
		chosen = choice.names[0];
	else if (choice.count) {
		log_err("'%.200s' matches %s%zu functions: give one of these "
			"names",
			choice.word,
			choice.count > LISTED_MAX ? "more than " : "",
			choice.count > LISTED_MAX ? (size_t)LISTED_MAX
						  : choice.count);
		for (size_t i = 0; i < choice.count && i < LISTED_MAX; i++) {
			fputs("  ", stderr);
			text_out(choice.names[i], stderr);
			fputc('\n', stderr);
		}
	} else {
		say_unknown(&choice);
	}
	free(choice.names);
	return chosen;
}
