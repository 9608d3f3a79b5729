/* SPDX-License-Identifier: Apache-2.0
 *
 * Most options belong to perfrec-collect (see opts.def). They are checked here,
 * where a mistake has no cost, and forwarded unchanged.
 *
 * No file changes before the program was found. If it cannot start after all,
 * the older recording is moved back.
 */
#include "collector/command/cmd_record.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/base/shell_command.h"
#include "collector/command/spawn.h"
#include "collector/command/supervise.h"
#include "collector/doctor/repair.h"
#include "collector/options/collect_options.h"
#include "collector/options/opts.h"
#include "collector/output/output_dir.h"
#include "collector/output/own_files.h"
#include "collector/page/page.h"
#include "collector/read/summary_read.h"
#include "collector/show/summary_losses.h"
#include "collector/show/summary_print.h"
#include "shared/compiler.h"
#include "shared/environment.h"
#include "shared/function_shm.h"

struct record_options {
	const char *dir;
	uint64_t ring_bytes; /* 0: from the environment */
	struct flight_mix mix;
	struct push_options push;
	bool cpu_given; /* --cpu was given */
	/* --args, --args-strings, and --patch or --calls-to were given */
	bool args, args_strings, adds_calls;
	const char *patch_image; /* a folder; or NULL */
	bool json, quiet, follow, full_names;
	bool html, no_source;
	const char *on_finish; /* a command, or NULL */
	uint64_t on_finish_ns; /* its time limit */
	bool separated; /* "--" precedes the command */
	char **command;
	const char **forward; /* options for perfrec-collect, as given */
	size_t forward_count;
	char **joined; /* entries of forward that were allocated here */
	size_t joined_count;
};

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
	char functions[16];

	if (opts_is_forwarded(value->id) &&
	    forward_option(options, value) != OPTS_GO_ON)
		return OPTS_FAILED;
	flight_mix_take(&options->mix, value);
	if (push_options_has(value))
		return push_options_take(&options->push, value);
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
		/* Set in the environment, so the program passes it on. */
		if (!value->usual &&
		    setenv(ENV_INHERIT, value->word ? "on" : "off", 1) < 0) {
			log_err("out of memory");
			return OPTS_FAILED;
		}
		break;
	case OPT_ARGS:
		options->args = true;
		break;
	case OPT_ARGS_STRINGS:
		options->args_strings = true;
		break;
	case OPT_PATCH_IMAGE:
		options->patch_image = value->text;
		break;
	case OPT_CALLS_TO:
	case OPT_PATCH:
		options->adds_calls = true;
		/* The program waits until its functions are moved, and has all
		 * numbers for them. */
		snprintf(functions, sizeof(functions), "%u", FUNCTIONS_MAX);
		if (setenv("PERFREC_DEADLINE_MS", "60000", 0) < 0 ||
		    setenv("PERFREC_FUNCTIONS", functions, 0) < 0) {
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
	case OPT_ON_FINISH:
		options->on_finish = value->text;
		break;
	case OPT_ON_FINISH_TIMEOUT:
		options->on_finish_ns = value->number;
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

/* The program makes a file in this folder, or goes on without, so the reasons
 * are found here. */
static int use_patch_image(const struct record_options *options)
{
	char *folder = realpath(options->patch_image, NULL);
	struct statvfs mount;
	struct statfs system;
	int result = OPTS_WRONG;

	if (!options->adds_calls)
		log_err("--patch-image: only with --patch or --calls-to");
	else if (!folder || access(folder, W_OK | X_OK) < 0 ||
		 statvfs(folder, &mount) < 0 || statfs(folder, &system) < 0)
		log_err("--patch-image: cannot write to %s: %s",
			options->patch_image, strerror(errno));
	else if (system.f_type != TMPFS_MAGIC || mount.f_flag & ST_NOEXEC)
		log_err("--patch-image: %s is not on a tmpfs, or is mounted "
			"noexec: choose another folder, such as one in "
			"/dev/shm or /run/user",
			options->patch_image);
	else if (setenv(ENV_PATCH_IMAGE, folder, 1) < 0)
		log_err("out of memory");
	else
		result = OPTS_GO_ON;
	free(folder);
	return result;
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
	if (result == OPTS_GO_ON)
		result = push_options_check(&options->push);
	if (result == OPTS_GO_ON)
		result = collect_options_check_args(options->args,
						    options->args_strings,
						    options->adds_calls);
	if (result == OPTS_GO_ON && options->patch_image)
		result = use_patch_image(options);
	options->command = argv + optind;
	options->separated = optind > 1 && !strcmp(argv[optind - 1], "--");
	return result;
}

/* Returns the command line of perfrec-collect: its options, then the words of
 * the program for the trace. The caller frees the array, but not the words.
 * NULL: no memory. */
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
	/* Without --cpu, nobody asked for samples; otherwise the summary has
	 * the notes. */
	if (!options->cpu_given || !options->quiet)
		*to++ = "--quiet-notes";
	if (options->quiet)
		*to++ = "--quiet-push";
	for (size_t i = 0; i < options->forward_count; i++)
		*to++ = options->forward[i];
	*to++ = "--";
	for (char **word = options->command; *word; word++)
		*to++ = *word;
	return argv;
}

/* @unwritten: some files could not be written. The collector has logged the
 * reason, except for a trace that reached its limit. */
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

/* Warns of an option of perfrec after the command, which the program received.
 * A user who writes "--" does this deliberately. */
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

static int write_recorded_page(const struct record_options *options)
{
	const struct page_options page = { .dir = options->dir,
					   .no_source = options->no_source,
					   .quiet = options->quiet };
	int err = page_write(&page);

	if (!err && !options->quiet)
		log_info("open '%s/" PAGE_NAME "' in a browser", options->dir);
	return err;
}

/* Returns a descriptor that is readable after a signal to end perfrec, or -1.
 * supervise.c has blocked these signals. */
static int watch_end(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void run_on_finish(const struct record_options *options,
			  int program_status, bool whole)
{
	char *folder = realpath(options->dir, NULL);
	char recording[PATH_MAX + 32], name[NAME_MAX + 32], exit_status[64];
	const char *const variables[] = {
		recording,
		name,
		exit_status,
		whole ? "PERFREC_STATUS=whole" : "PERFREC_STATUS=unwritten",
		ENV_NOT_RECORDED,
	};
	const struct shell_command command = {
		.text = options->on_finish,
		.variables = variables,
		.variable_count = ARRAY_SIZE(variables),
		.hidden = options->push.url_count ? push_options_secrets : NULL,
		.limit_ns = options->on_finish_ns,
		.stop_fd = watch_end(),
	};
	int wait_status = 0, err;
	char how[128];

	snprintf(recording, sizeof(recording), "PERFREC_RECORDING=%s",
		 folder ? folder : options->dir);
	snprintf(name, sizeof(name), "PERFREC_PROGRAM=%.*s", NAME_MAX,
		 path_name(options->command[0]));
	/* The exit status, or for a signal 128 plus its number as shells do. */
	snprintf(exit_status, sizeof(exit_status), "PERFREC_EXIT_STATUS=%d",
		 WIFEXITED(program_status) ? WEXITSTATUS(program_status)
					   : 128 + WTERMSIG(program_status));
	free(folder);
	err = shell_command_run(&command, &wait_status);
	if (err || wait_status)
		log_warn("--on-finish: %s",
			 shell_command_end(&command, err, wait_status, how,
					   sizeof(how)));
	close(command.stop_fd);
}

/* From here on, the program's end determines that of perfrec. Exception: after
 * an incomplete recording, exit status 0 becomes OPTS_FAILED. */
static _Noreturn void wait_and_exit(const struct record_options *options,
				    struct supervise *supervise)
{
	enum supervise_end end;
	int wait_status = supervise_wait(&supervise, &end);

	hint_at_option(options);
	if (end == SUPERVISE_LOST) {
		if (options->mix.options.on) {
			repair_tidy(options->dir);
			log_warn("the recording in '%s' is not complete: it "
				 "has only the snapshots named above",
				 options->dir);
		} else {
			log_warn("the recording in '%s' is not complete: its "
				 "trace ends there (perfrec report %s shows "
				 "it; perfrec report --repair %s makes the "
				 "other files from it)",
				 options->dir, options->dir, options->dir);
		}
	} else if (end == SUPERVISE_WHOLE ||
		   (end == SUPERVISE_UNWRITTEN &&
		    own_files_exists(options->dir, SUMMARY_NAME)))
		show_summary(options, end == SUPERVISE_UNWRITTEN);
	if (options->html && end <= SUPERVISE_UNWRITTEN &&
	    write_recorded_page(options))
		end = SUPERVISE_UNWRITTEN;
	if (options->on_finish && end <= SUPERVISE_UNWRITTEN)
		run_on_finish(options, wait_status, end == SUPERVISE_WHOLE);
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
	/* Room for all words and defaults, and a few words of perfrec. */
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
