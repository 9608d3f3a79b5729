/* SPDX-License-Identifier: Apache-2.0
 *
 * Most options are the collector's: they are checked here, where a mistake
 * costs nothing, and handed on as they were written. Nothing is touched on
 * disk before the program to run has been found, and what was moved away is
 * put back when it cannot be started after all.
 */
#include "collector/command/cmd_record.h"

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

#include "collector/names/filter.h"
#include "collector/base/log.h"
#include "collector/options/metric_options.h"
#include "collector/output/output_dir.h"
#include "collector/output/own_files.h"
#include "collector/base/size.h"
#include "collector/command/spawn.h"
#include "collector/show/summary_losses.h"
#include "collector/show/summary_print.h"
#include "collector/read/summary_read.h"
#include "collector/command/supervise.h"
#include "collector/options/usage.h"
#include "shared/compiler.h"
#include "shared/record.h"
#include "shared/ring_shm.h"

#define RING_BYTES_MIN (RING_CELLS_MIN * sizeof(struct record))
#define RING_BYTES_MAX (RING_CELLS_MAX * sizeof(struct record))
/* Where perf_event is not permitted, only the summary says so. */
#define CPU_DEFAULT "99"
#define WORKERS_MAX DOORBELLS /* each sleeps on one of its own */

static const char usage[] =
	"usage: perfrec record [options] [--] COMMAND [ARGUMENT...]\n"
	"Run COMMAND and record it; print a summary when it has ended.\n"
	"\n"
	"  -o DIR              where to (default: " RECORD_DIR
	"); a recording\n"
	"                      that is there is kept as DIR.old\n"
	"  --filter GLOB       record only functions that match (@GLOB: "
	"modules);\n"
	"                      may be repeated\n"
	"  --exclude GLOB      do not record these; may be repeated\n"
	"  --depth N           record only spans nested less than N deep\n"
	"  --alloc MODE        allocations: exact, sampled, sampled:BYTES (a "
	"stack every\n"
	"                      BYTES on average, 512K if not given), auto "
	"(default:\n"
	"                      exact in instrumented programs, else "
	"sampled), off\n"
	"  --cpu HZ            sample CPU time HZ times a second (default: "
	"99) of each\n"
	"                      thread, or off; HZ,signal: by timers in the "
	"program\n"
	"                      instead of perf_event (HZ,perf)\n"
	"  --stack-size SIZE   the most to copy of a stack for a sample "
	"(default: 16K)\n"
	"  --snapshot-interval TIME\n"
	"                      write a heap profile every so often (10s, "
	"500ms)\n"
	"  --categories LIST   which annotations (perfrec.h) to record: globs "
	"and -globs,\n"
	"                      the last that matches decides (default: all "
	"but debug\n"
	"                      and slow)\n"
	"  --on-full block     when the ring of a thread is full, wait "
	"(default)\n"
	"  --on-full drop      ... or drop spans, and count them\n"
	"  --ring-size SIZE    of each thread's ring, 64K to 256M (default: "
	"4M)\n"
	"  --max-size SIZE     stop the trace at this size, 256K or more\n"
	"                      (default: 4G, or a tenth of the free space)\n"
	"  --compress          write a compressed trace\n"
	"  --workers N         threads that drain rings (default: one for two "
	"CPUs)\n"
	"  --follow            record until the last descendant of COMMAND has "
	"ended,\n"
	"                      not only COMMAND (Ctrl-C ends it then)\n"
	"  --json              print the summary as JSON\n"
	"  -q, --quiet         print no progress and no summary, only losses\n"
	"  --help, --version   print this, or the version\n"
	"\n"
	"SIZE is a number of bytes, or with K, M, G or T. The summary goes to\n"
	"stderr; the exit status is that of COMMAND.\n";

struct record_options {
	const char *dir;
	const char *on_full;
	const char *alloc, *cpu; /* as given; cpu NULL: it was not */
	uint64_t ring_bytes; /* 0: default */
	bool json, quiet, follow;
	char **command;
	const char **forward; /* the collector's, as given */
	size_t forward_count;
};

enum {
	OPT_FILTER = 256,
	OPT_EXCLUDE,
	OPT_DEPTH,
	OPT_ALLOC,
	OPT_CPU,
	OPT_STACK_SIZE,
	OPT_SNAPSHOT_INTERVAL,
	OPT_CATEGORIES,
	OPT_ON_FULL,
	OPT_RING_SIZE,
	OPT_MAX_SIZE,
	OPT_COMPRESS,
	OPT_WORKERS,
	OPT_FOLLOW,
	OPT_JSON,
	OPT_QUIET,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option option_table[] = {
	{ "filter", required_argument, NULL, OPT_FILTER },
	{ "exclude", required_argument, NULL, OPT_EXCLUDE },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "alloc", required_argument, NULL, OPT_ALLOC },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "stack-size", required_argument, NULL, OPT_STACK_SIZE },
	{ "snapshot-interval", required_argument, NULL, OPT_SNAPSHOT_INTERVAL },
	{ "categories", required_argument, NULL, OPT_CATEGORIES },
	{ "on-full", required_argument, NULL, OPT_ON_FULL },
	{ "ring-size", required_argument, NULL, OPT_RING_SIZE },
	{ "max-size", required_argument, NULL, OPT_MAX_SIZE },
	{ "compress", no_argument, NULL, OPT_COMPRESS },
	{ "workers", required_argument, NULL, OPT_WORKERS },
	{ "follow", no_argument, NULL, OPT_FOLLOW },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

/* The parsers return USAGE_GO_ON, or the exit status. */
static int forward(struct record_options *options, const char *name,
		   const char *value)
{
	options->forward[options->forward_count++] = name;
	if (value)
		options->forward[options->forward_count++] = value;
	return USAGE_GO_ON;
}

static int forward_count(struct record_options *options, const char *name,
			 uint64_t max)
{
	uint64_t count;

	if (!size_parse_count(optarg, 1, max, &count))
		return forward(options, name, optarg);
	log_err("%s '%s': give a number from 1 to %llu", name, optarg,
		(unsigned long long)max);
	return USAGE_WRONG;
}

/* @want: NULL, or what is wrong with the value. */
static int checked(const char *name, const char *want)
{
	if (!want)
		return USAGE_GO_ON;
	log_err("%s '%.200s': %s", name, optarg, want);
	return USAGE_WRONG;
}

static int forward_checked(struct record_options *options, const char *name,
			   const char *want)
{
	int result = checked(name, want);

	return result == USAGE_GO_ON ? forward(options, name, optarg) : result;
}

static int take_metric(int c, struct record_options *options)
{
	struct collect_options try;

	switch (c) {
	case OPT_ALLOC:
		options->alloc = optarg;
		return checked("--alloc",
			       metric_parse_alloc(optarg, &try.alloc,
						  &try.alloc_period));
	case OPT_CPU:
		options->cpu = optarg;
		return checked("--cpu", metric_parse_cpu(optarg, &try.cpu_hz,
							 &try.cpu_engine));
	case OPT_STACK_SIZE:
		return forward_checked(
			options, "--stack-size",
			metric_parse_stack(optarg, &try.stack_bytes));
	case OPT_SNAPSHOT_INTERVAL:
		return forward_checked(
			options, "--snapshot-interval",
			metric_parse_interval(optarg, &try.snapshot_ns));
	case OPT_MAX_SIZE:
		return forward_checked(
			options, "--max-size",
			metric_parse_max_size(optarg, &try.max_bytes));
	default:
		return forward_checked(
			options, "--categories",
			metric_parse_categories(optarg, &try.categories));
	}
}

static int take_on_full(struct record_options *options)
{
	options->on_full = optarg;
	if (strcmp(optarg, "block") == 0 || strcmp(optarg, "drop") == 0)
		return USAGE_GO_ON;
	log_err("--on-full '%s': choose block or drop", optarg);
	return USAGE_WRONG;
}

static int take_ring_size(struct record_options *options)
{
	if (!size_parse_bytes(optarg, &options->ring_bytes) &&
	    options->ring_bytes >= RING_BYTES_MIN &&
	    options->ring_bytes <= RING_BYTES_MAX)
		return USAGE_GO_ON;
	log_err("--ring-size '%s': give a size from 64K to 256M", optarg);
	return USAGE_WRONG;
}

static int take_dir(struct record_options *options)
{
	options->dir = optarg;
	if (optarg[0])
		return USAGE_GO_ON;
	log_err("-o '': give the name of a folder");
	return USAGE_WRONG;
}

static int take_option(int c, char **argv, struct record_options *options)
{
	switch (c) {
	case 'o':
		return take_dir(options);
	case OPT_FILTER:
		return forward_checked(options, "--filter",
				       filter_wants(optarg));
	case OPT_EXCLUDE:
		return forward_checked(options, "--exclude",
				       filter_wants(optarg));
	case OPT_DEPTH:
		return forward_count(options, "--depth", SPAN_DEPTH_MAX);
	case OPT_WORKERS:
		return forward_count(options, "--workers", WORKERS_MAX);
	case OPT_ALLOC:
	case OPT_CPU:
	case OPT_STACK_SIZE:
	case OPT_SNAPSHOT_INTERVAL:
	case OPT_CATEGORIES:
	case OPT_MAX_SIZE:
		return take_metric(c, options);
	case OPT_ON_FULL:
		return take_on_full(options);
	case OPT_RING_SIZE:
		return take_ring_size(options);
	case OPT_COMPRESS:
		return forward(options, "--compress", NULL);
	case OPT_FOLLOW:
		options->follow = true;
		return USAGE_GO_ON;
	case OPT_JSON:
		options->json = true;
		return USAGE_GO_ON;
	case 'q':
	case OPT_QUIET:
		options->quiet = true;
		return USAGE_GO_ON;
	case OPT_HELP:
		fputs(usage, stdout);
		return USAGE_OK;
	case OPT_VERSION:
		puts("perfrec " PERFREC_VERSION);
		return USAGE_OK;
	default:
		return usage_bad_option(c, argv, "perfrec record");
	}
}

static int parse_options(int argc, char **argv, struct record_options *options)
{
	int result = USAGE_GO_ON;
	int c;

	/* '+': what follows the command is the command's. */
	while (result == USAGE_GO_ON &&
	       (c = getopt_long(argc, argv, "+:o:q", option_table, NULL)) != -1)
		result = take_option(c, argv, options);
	if (result == USAGE_GO_ON && optind >= argc) {
		log_err("no command to record: perfrec record [options] -- "
			"COMMAND [ARGUMENT...]");
		return USAGE_WRONG;
	}
	options->command = argv + optind;
	return result;
}

/* The collector's command line: its options, then the program's words, which
 * go into the trace. The caller frees it, not what it points to. */
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
	*to++ = "--on-full";
	*to++ = options->on_full;
	*to++ = "--alloc";
	*to++ = options->alloc;
	*to++ = "--cpu";
	*to++ = options->cpu ? options->cpu : CPU_DEFAULT;
	/* The summary has them. */
	if (!options->cpu || !options->quiet)
		*to++ = "--quiet-notes";
	for (size_t i = 0; i < options->forward_count; i++)
		*to++ = options->forward[i];
	*to++ = "--";
	for (char **word = options->command; *word; word++)
		*to++ = *word;
	return argv;
}

/* @unwritten: the collector has said why the trace is not whole, if it is not
 * for its limit. */
static void show_summary(const struct record_options *options, bool unwritten)
{
	const struct summary_print_options print = {
		.dir = options->dir,
		.limit = SUMMARY_LIMIT,
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

static bool has_summary(const char *dir)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/" SUMMARY_NAME, dir);

	return length < (int)sizeof(path) && access(path, F_OK) == 0;
}

/* From here on the program decides how perfrec ends, but who has no whole
 * recording must not take it for one. */
static _Noreturn void wait_and_exit(const struct record_options *options,
				    struct supervise *supervise)
{
	enum supervise_end end;
	int wait_status = supervise_wait(&supervise, &end);

	if (end == SUPERVISE_LOST)
		log_warn("the recording in '%s' is not complete: its trace "
			 "holds what came before",
			 options->dir);
	else if (end == SUPERVISE_WHOLE || has_summary(options->dir))
		show_summary(options, end == SUPERVISE_UNWRITTEN);
	if (end == SUPERVISE_UNWRITTEN && wait_status == 0)
		wait_status = W_EXITCODE(USAGE_FAILED, 0);
	supervise_exit(wait_status);
}

static int record(const struct record_options *options, size_t room,
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
	int error;

	if (spawn_find_program(options->command, &program) ||
	    spawn_find_parts(&parts))
		return USAGE_FAILED;
	if (output_dir_prepare(options->dir, &output))
		return USAGE_FAILED;
	collector_argv = collector_command(options, output.dir, &parts, room);
	plan.collector_argv = (char *const *)collector_argv;
	error = collector_argv ? supervise_start(&plan, &supervise) : -ENOMEM;
	free(collector_argv);
	if (error) {
		output_dir_undo(&output);
		if (error > 0)
			supervise_exit(W_EXITCODE(0, error));
		return USAGE_FAILED;
	}
	output_dir_commit(&output, options->quiet);
	wait_and_exit(options, supervise);
}

int cmd_record(int argc, char **argv)
{
	/* Every word of ours may be handed on, with a few of perfrec's. */
	const size_t room = (size_t)argc * 2 + 16;
	struct record_options options = {
		.dir = RECORD_DIR,
		.on_full = "block",
		.alloc = "auto",
		.forward = calloc(room, sizeof(*options.forward)),
	};
	sigset_t limit, mask;
	int result;

	/* See supervise.c. */
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &limit, &mask);
	if (!options.forward) {
		log_err("out of memory");
		return USAGE_FAILED;
	}
	result = parse_options(argc, argv, &options);
	if (result == USAGE_GO_ON &&
	    spawn_check_environment(options.ring_bytes))
		result = USAGE_WRONG;
	if (result == USAGE_GO_ON)
		result = record(&options, room, &mask);
	free(options.forward);
	return result;
}
