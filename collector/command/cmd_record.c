/* SPDX-License-Identifier: Apache-2.0
 *
 * Most options are perfrec-collect's: opts.def says which. They are checked
 * here, where a mistake costs nothing, and handed on as they were written.
 *
 * No file is touched before the program to run has been found. If it cannot be
 * started after all, the older recording that was moved away is put back.
 */
#include "collector/command/cmd_record.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/options/collect_options.h"
#include "collector/options/opts.h"
#include "collector/output/output_dir.h"
#include "collector/output/own_files.h"
#include "collector/command/spawn.h"
#include "collector/page/page.h"
#include "collector/repair/repair.h"
#include "collector/show/summary_losses.h"
#include "collector/show/summary_print.h"
#include "collector/read/summary_read.h"
#include "collector/command/supervise.h"
#include "shared/environment.h"

struct record_options {
	const char *dir;
	uint64_t ring_bytes; /* 0: as the environment says */
	struct flight_mix mix;
	bool cpu_given; /* --cpu, and so not the default */
	bool json, quiet, follow, full_names;
	bool html, no_source;
	bool separated; /* "--" is before the command */
	char **command;
	const char **forward; /* options of perfrec-collect, as given */
	size_t forward_count;
	char **joined; /* those of them that were made here */
	size_t joined_count;
};

/* Remembers the option for perfrec-collect, which reads it once more. Returns
 * OPTS_GO_ON or OPTS_FAILED. */
static int forward_option(struct record_options *options,
			  const struct opts_value *value)
{
	char **joined = &options->joined[options->joined_count];

	if (value->text && opts_is_optional(value->id)) {
		if (asprintf(joined, "%s=%s", value->name, value->text) < 0) {
			log_err("out of memory");
			return OPTS_FAILED;
		}
		options->joined_count++;
		options->forward[options->forward_count++] = *joined;
		return OPTS_GO_ON;
	}
	options->forward[options->forward_count++] = value->name;
	if (value->text)
		options->forward[options->forward_count++] = value->text;
	return OPTS_GO_ON;
}

static int take_record_option(void *to, const struct opts_value *value)
{
	struct record_options *options = to;

	if (opts_is_forwarded(value->id) &&
	    forward_option(options, value) != OPTS_GO_ON)
		return OPTS_FAILED;
	flight_mix_take(&options->mix, value);
	switch (value->id) {
	case OPT_RECORDING_DIR:
		options->dir = value->text;
		break;
	case OPT_RING_SIZE:
		options->ring_bytes = value->number;
		break;
	case OPT_CPU:
		options->cpu_given = !value->usual;
		break;
	case OPT_INHERIT:
		/* By the environment: the program hands it on. */
		if (!value->usual &&
		    setenv(ENV_INHERIT, value->word ? "on" : "off", 1) < 0) {
			log_err("out of memory");
			return OPTS_FAILED;
		}
		break;
	case OPT_FOLLOW:
		options->follow = true;
		break;
	case OPT_FULL_NAMES:
		options->full_names = true;
		break;
	case OPT_JSON:
		options->json = true;
		break;
	case OPT_RECORD_HTML:
		options->html = true;
		break;
	case OPT_NO_SOURCE:
		options->no_source = true;
		break;
	case OPT_QUIET:
		options->quiet = true;
		break;
	default:
		assert(opts_is_forwarded(value->id));
	}
	return OPTS_GO_ON;
}

static int parse_record_line(int argc, char **argv,
			     struct record_options *options)
{
	int result =
		opts_parse(CMD_RECORD, argc, argv, take_record_option, options);

	if (result == OPTS_GO_ON && optind >= argc) {
		log_err("no command to record: perfrec record [options] -- "
			"COMMAND [ARGUMENT...]");
		return OPTS_WRONG;
	}
	if (result == OPTS_GO_ON && options->no_source && !options->html) {
		log_err("--no-source: only with --html");
		return OPTS_WRONG;
	}
	if (result == OPTS_GO_ON)
		result = flight_mix_check(&options->mix);
	options->command = argv + optind;
	options->separated = optind > 1 && !strcmp(argv[optind - 1], "--");
	return result;
}

/* The command line of perfrec-collect: its options, then the words of the
 * program, which go into the trace. The caller frees the array, and not the
 * words. NULL: no memory. */
static const char **collector_command(const struct record_options *options,
				      const char *dir,
				      const struct spawn_parts *parts,
				      size_t room)
{
	static char control_fd[8];
	const char **argv = calloc(room, sizeof(*argv));
	const char **to = argv;

	if (!argv)
		return NULL;
	snprintf(control_fd, sizeof(control_fd), "%d", SPAWN_CONTROL_FD);
	*to++ = parts->collector;
	*to++ = "--recording";
	*to++ = control_fd;
	*to++ = "-o";
	*to++ = dir;
	/* Nobody asked for samples, or the summary says it. */
	if (!options->cpu_given || !options->quiet)
		*to++ = "--quiet-notes";
	for (size_t i = 0; i < options->forward_count; i++)
		*to++ = options->forward[i];
	*to++ = "--";
	for (char **word = options->command; *word; word++)
		*to++ = *word;
	return argv;
}

/* @unwritten: files could not be written. The collector has said why, but not
 * if the trace reached its limit. */
static void show_summary(const struct record_options *options, bool unwritten)
{
	const struct summary_print_options print = {
		.dir = options->dir,
		.limit = SUMMARY_LIMIT,
		.full_names = options->full_names,
	};
	struct summary *summary;

	if (summary_read(options->dir, &summary))
		return;
	if (options->json)
		summary_write_json(summary, 0, stderr);
	else if (!options->quiet)
		summary_print(summary, &print, stderr);
	if (options->quiet && !options->json) {
		if (unwritten && !summary->totals.trace_limited)
			summary->totals.trace_stopped = NULL;
		summary_losses_print(summary, "perfrec: lost ", stderr);
		summary_losses_print_went_on(summary, "perfrec: ", stderr);
	}
	summary_free(&summary);
}

/* An option that was meant for us, perhaps: the program took it, or ignored it.
 * Who writes "--" knows. */
static void hint_at_option(const struct record_options *options)
{
	char **word = options->command;

	if (options->quiet || options->json || options->separated)
		return;
	while (*++word && strcmp(*word, "--") != 0)
		if (opts_is_spelled(CMD_RECORD, *word)) {
			log_info("%s came behind the command, so it went to "
				 "'%s': options of perfrec record come before "
				 "the command",
				 *word, options->command[0]);
			return;
		}
}

static bool has_summary(const char *dir)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/" SUMMARY_NAME, dir);

	return length < (int)sizeof(path) && access(path, F_OK) == 0;
}

/* 0 or -errno. */
static int write_page(const struct record_options *options)
{
	const struct page_options page = { .dir = options->dir,
					   .no_source = options->no_source,
					   .quiet = options->quiet };
	int err = page_write(&page);

	if (!err && !options->quiet)
		log_info("open '%s/" PAGE_NAME "' in a browser", options->dir);
	return err;
}

/* The collector was killed. */
static void hint_at_rest(const struct record_options *options)
{
	if (options->mix.options.on) {
		repair_tidy(options->dir);
		log_warn("the recording in '%s' is not complete: there are "
			 "only the snapshots that were told",
			 options->dir);
	} else {
		log_warn("the recording in '%s' is not complete: its trace "
			 "holds what came before (see it with perfrec report "
			 "%s; perfrec report --repair %s makes the other files "
			 "from it)",
			 options->dir, options->dir, options->dir);
	}
}

/* From here on the program decides how perfrec ends. But a recording that is
 * not whole must be seen as such: then exit status 0 becomes OPTS_FAILED. */
static _Noreturn void wait_and_exit(const struct record_options *options,
				    struct supervise *supervise)
{
	enum supervise_end end;
	int wait_status = supervise_wait(&supervise, &end);

	hint_at_option(options);
	if (end == SUPERVISE_LOST)
		hint_at_rest(options);
	else if (end == SUPERVISE_WHOLE ||
		 (end == SUPERVISE_UNWRITTEN && has_summary(options->dir)))
		show_summary(options, end == SUPERVISE_UNWRITTEN);
	if (options->html && end <= SUPERVISE_UNWRITTEN && write_page(options))
		end = SUPERVISE_UNWRITTEN;
	if (end != SUPERVISE_WHOLE && end != SUPERVISE_LEFT && wait_status == 0)
		wait_status = W_EXITCODE(OPTS_FAILED, 0);
	supervise_exit(wait_status);
}

static int record_program(const struct record_options *options, size_t room,
			  const sigset_t *mask)
{
	struct spawn_program program;
	struct spawn_parts parts;
	struct output_dir output;
	struct supervise *supervise;
	struct supervise_plan plan = {
		.parts = &parts,
		.program = &program,
		.mask = mask,
		.ring_kb = options->ring_bytes / 1024,
		.progress = !options->quiet,
		.follow = options->follow,
	};
	const char **collector_argv;
	int err;

	if (spawn_find_program(options->command, &program) ||
	    spawn_find_parts(&parts))
		return OPTS_FAILED;
	if (output_dir_prepare(options->dir, &output))
		return OPTS_FAILED;
	collector_argv = collector_command(options, output.dir, &parts, room);
	plan.collector_argv = (char *const *)collector_argv;
	if (!collector_argv)
		log_err("out of memory");
	err = collector_argv ? supervise_start(&plan, &supervise) : -ENOMEM;
	free(collector_argv);
	if (err) {
		output_dir_undo(&output);
		if (err > 0)
			supervise_exit(W_EXITCODE(0, err));
		return OPTS_FAILED;
	}
	output_dir_commit(&output, options->quiet);
	wait_and_exit(options, supervise);
}

int cmd_record(int argc, char **argv)
{
	/* Every word of ours may be handed on, every default, and a few words
	 * of perfrec's. */
	const size_t room = 2 * ((size_t)argc + OPT_COUNT) + 16;
	struct record_options options = {
		.forward = calloc(room, sizeof(*options.forward)),
		.joined = calloc(room, sizeof(*options.joined)),
	};
	sigset_t limit, mask;
	int result;

	/* See supervise.c. */
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &limit, &mask);
	if (!options.forward || !options.joined) {
		free(options.forward);
		free(options.joined);
		log_err("out of memory");
		return OPTS_FAILED;
	}
	result = parse_record_line(argc, argv, &options);
	if (result == OPTS_GO_ON && spawn_check_environment(options.ring_bytes))
		result = OPTS_WRONG;
	if (result == OPTS_GO_ON)
		result = record_program(&options, room, &mask);
	while (options.joined_count)
		free(options.joined[--options.joined_count]);
	free(options.joined);
	free(options.forward);
	return result;
}
