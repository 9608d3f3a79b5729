/* SPDX-License-Identifier: Apache-2.0
 *
 * collect_options - perfrec-collect's command line, by getopt_long(3); the man
 * page is docs/man/perfrec-collect.1. Values that are wrong are said to be,
 * with what is wanted, and end with status 2.
 */
#include "collector/options/collect_options.h"

#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/options/metric_options.h"
#include "collector/base/size.h"
#include "collector/options/usage.h"

static const char g_help[] =
	"usage: perfrec-collect [options]\n"
	"\n"
	"Record every program of this user that runs with\n"
	"LD_PRELOAD=libperfrec_preload.so, each into a folder of its own,\n"
	"until SIGINT or SIGTERM.\n"
	"\n"
	"  -o, --output DIR      where the folders go (default: perfrec.data)\n"
	"      --socket PATH     where programs find the collector (default:\n"
	"                        $XDG_RUNTIME_DIR/perfrec.sock, else\n"
	"                        /run/user/UID/perfrec.sock, else\n"
	"                        $TMPDIR/perfrec-UID/perfrec.sock)\n"
	"      --on-full MODE    when a ring is full: drop spans, counting\n"
	"                        them, or block the program (default: drop)\n"
	"      --compress        compress the trace\n"
	"      --max-size SIZE   stop a trace at this size, 256K or more\n"
	"                        (default: 4G or a tenth of the free space)\n"
	"      --max-total SIZE  record no more programs when all recordings\n"
	"                        take this much (default: half of the free\n"
	"                        space)\n"
	"      --filter GLOB     record matching functions only\n"
	"      --exclude GLOB    do not record matching functions\n"
	"                        GLOB is matched with function names, @GLOB\n"
	"                        with the path or name of their module; both\n"
	"                        options may be given many times\n"
	"      --depth N         record calls nested less than N deep only\n"
	"      --alloc MODE      record allocations: exact, sampled,\n"
	"                        sampled:BYTES (a stack every BYTES on\n"
	"                        average; default: 512K), auto (exact in\n"
	"                        instrumented programs, else sampled) or off\n"
	"                        (default)\n"
	"      --cpu HZ          sample CPU time, HZ times a second of each\n"
	"                        thread; HZ,signal: by timers in the program;\n"
	"                        HZ,perf: by perf_event; off (default)\n"
	"      --stack-size SIZE the most to copy of a stack for a sample\n"
	"                        (default: 16K)\n"
	"      --snapshot-interval TIME\n"
	"                        write a heap profile every so often (10s,\n"
	"                        500ms)\n"
	"      --categories LIST which annotations (perfrec.h) to record:\n"
	"                        globs and -globs, the last that matches\n"
	"                        decides (default: all but debug and slow)\n"
	"      --workers N       threads that drain rings, 1 to 8 (default:\n"
	"                        one for two CPUs)\n"
	"      --allow-uid USER  also serve this user; root only\n"
	"      --log LEVEL       error, warning, info or debug\n"
	"      --recording FD    one recording, for perfrec record\n"
	"      --quiet-notes     say in the summary only what could not be "
	"had\n"
	"      --help, --version\n";

enum option_id {
	OPTION_SOCKET = 256,
	OPTION_ON_FULL,
	OPTION_COMPRESS,
	OPTION_MAX_SIZE,
	OPTION_MAX_TOTAL,
	OPTION_FILTER,
	OPTION_EXCLUDE,
	OPTION_DEPTH,
	OPTION_ALLOC,
	OPTION_CPU,
	OPTION_STACK_SIZE,
	OPTION_SNAPSHOT_INTERVAL,
	OPTION_CATEGORIES,
	OPTION_WORKERS,
	OPTION_ALLOW_UID,
	OPTION_LOG,
	OPTION_RECORDING,
	OPTION_QUIET_NOTES,
	OPTION_HELP,
	OPTION_VERSION,
};

static const struct option g_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "socket", required_argument, NULL, OPTION_SOCKET },
	{ "on-full", required_argument, NULL, OPTION_ON_FULL },
	{ "compress", no_argument, NULL, OPTION_COMPRESS },
	{ "max-size", required_argument, NULL, OPTION_MAX_SIZE },
	{ "max-total", required_argument, NULL, OPTION_MAX_TOTAL },
	{ "filter", required_argument, NULL, OPTION_FILTER },
	{ "exclude", required_argument, NULL, OPTION_EXCLUDE },
	{ "depth", required_argument, NULL, OPTION_DEPTH },
	{ "alloc", required_argument, NULL, OPTION_ALLOC },
	{ "cpu", required_argument, NULL, OPTION_CPU },
	{ "stack-size", required_argument, NULL, OPTION_STACK_SIZE },
	{ "snapshot-interval", required_argument, NULL,
	  OPTION_SNAPSHOT_INTERVAL },
	{ "categories", required_argument, NULL, OPTION_CATEGORIES },
	{ "workers", required_argument, NULL, OPTION_WORKERS },
	{ "allow-uid", required_argument, NULL, OPTION_ALLOW_UID },
	{ "log", required_argument, NULL, OPTION_LOG },
	{ "recording", required_argument, NULL, OPTION_RECORDING },
	{ "quiet-notes", no_argument, NULL, OPTION_QUIET_NOTES },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ 0 },
};

static int bad_value(const char *option, const char *value, const char *want)
{
	log_err("%s '%.200s': %s (see perfrec-collect --help)", option, value,
		want);
	return 2;
}

/* A name that may not be empty. */
static int set_path(const char *option, char *text, const char **out)
{
	if (!text[0])
		return bad_value(option, text, "want a name");
	*out = text;
	return -1;
}

static int set_number(const char *option, const char *text, uint64_t least,
		      uint64_t most, uint32_t *out)
{
	char want[64];
	uint64_t value;

	snprintf(want, sizeof(want), "want a number from %llu to %llu",
		 (unsigned long long)least, (unsigned long long)most);
	if (size_parse_count(text, least, most, &value) < 0)
		return bad_value(option, text, want);
	*out = (uint32_t)value;
	return -1;
}

static int set_size(const char *option, const char *text, uint64_t *out)
{
	if (size_parse_bytes(text, out) < 0 || !*out)
		return bad_value(option, text,
				 "want a size such as 500M or 4G");
	return -1;
}

static void append_glob(const char *const **list, size_t *count,
			const char *glob)
{
	const char **longer =
		realloc((void *)*list, (*count + 1) * sizeof(*longer));

	if (!longer)
		abort(); /* a few bytes, at start */
	longer[(*count)++] = glob;
	*list = longer;
}

static int allow_uid(struct collect_options *out, const char *text)
{
	struct passwd *user = getpwnam(text);
	uid_t *longer;
	uint64_t uid;

	if (user)
		uid = user->pw_uid;
	else if (size_parse_count(text, 0, UINT32_MAX - 1, &uid) < 0)
		return bad_value("--allow-uid", text, "no such user");
	if (geteuid() != 0)
		return bad_value("--allow-uid", text, "only root may");
	longer = realloc((void *)out->allowed,
			 (out->allowed_count + 1) * sizeof(*longer));
	if (!longer)
		abort(); /* a few bytes, at start */
	longer[out->allowed_count++] = (uid_t)uid;
	out->allowed = longer;
	return -1;
}

static int set_on_full(struct collect_options *out, const char *text)
{
	if (!strcmp(text, "block"))
		out->on_full = WIRE_ON_FULL_BLOCK;
	else if (!strcmp(text, "drop"))
		out->on_full = WIRE_ON_FULL_DROP;
	else
		return bad_value("--on-full", text, "want block or drop");
	return -1;
}

static int set_log(struct collect_options *out, const char *text)
{
	static const char *const names[] = { "error", "warning", "info",
					     "debug" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i])) {
			out->log_level = (enum log_level)i;
			return -1;
		}
	}
	return bad_value("--log", text, "want error, warning, info or debug");
}

/* What a parser of metric_options.h has found. */
static int taken(const char *option, const char *value, const char *want)
{
	return want ? bad_value(option, value, want) : -1;
}

static int set_metric(struct collect_options *out, int option,
		      const char *value)
{
	switch (option) {
	case OPTION_ALLOC:
		return taken("--alloc", value,
			     metric_parse_alloc(value, &out->alloc,
						&out->alloc_period));
	case OPTION_CPU:
		return taken("--cpu", value,
			     metric_parse_cpu(value, &out->cpu_hz,
					      &out->cpu_engine));
	case OPTION_STACK_SIZE:
		return taken("--stack-size", value,
			     metric_parse_stack(value, &out->stack_bytes));
	case OPTION_SNAPSHOT_INTERVAL:
		return taken("--snapshot-interval", value,
			     metric_parse_interval(value, &out->snapshot_ns));
	case OPTION_MAX_SIZE:
		return taken("--max-size", value,
			     metric_parse_max_size(value, &out->max_bytes));
	default:
		return taken("--categories", value,
			     metric_parse_categories(value, &out->categories));
	}
}

static int set_option(struct collect_options *out, int option, char *value,
		      char **argv)
{
	uint32_t fd = 0;
	int status;

	switch (option) {
	case 'o':
		return set_path("-o", value, &out->output);
	case OPTION_SOCKET:
		return set_path("--socket", value, &out->socket);
	case OPTION_ON_FULL:
		return set_on_full(out, value);
	case OPTION_COMPRESS:
		out->compress = true;
		return -1;
	case OPTION_MAX_TOTAL:
		return set_size("--max-total", value, &out->max_total);
	case OPTION_FILTER:
		append_glob(&out->filter.only, &out->filter.only_count, value);
		return taken("--filter", value, filter_wants(value));
	case OPTION_EXCLUDE:
		append_glob(&out->filter.except, &out->filter.except_count,
			    value);
		return taken("--exclude", value, filter_wants(value));
	case OPTION_DEPTH:
		return set_number("--depth", value, 1, SPAN_DEPTH_MAX,
				  &out->depth);
	case OPTION_ALLOC:
	case OPTION_CPU:
	case OPTION_STACK_SIZE:
	case OPTION_SNAPSHOT_INTERVAL:
	case OPTION_CATEGORIES:
	case OPTION_MAX_SIZE:
		return set_metric(out, option, value);
	case OPTION_WORKERS:
		return set_number("--workers", value, 1, DRAIN_WORKERS_MAX,
				  &out->workers);
	case OPTION_ALLOW_UID:
		return allow_uid(out, value);
	case OPTION_LOG:
		return set_log(out, value);
	case OPTION_RECORDING:
		status = set_number("--recording", value, 0, INT32_MAX, &fd);
		out->control_fd = (int)fd;
		return status;
	case OPTION_QUIET_NOTES:
		out->quiet_notes = true;
		return -1;
	case OPTION_HELP:
		fputs(g_help, stdout);
		return 0;
	case OPTION_VERSION:
		puts("perfrec-collect " PERFREC_VERSION);
		return 0;
	default:
		return usage_bad_option(option, argv, "perfrec-collect");
	}
}

int collect_options_parse(int argc, char **argv, struct collect_options *out)
{
	int option, status = -1;

	*out = (struct collect_options){
		.output = "perfrec.data",
		.on_full = WIRE_ON_FULL_DROP,
		.alloc_period = ALLOC_PERIOD_DEFAULT,
		.stack_bytes = STACK_BYTES_DEFAULT,
		.control_fd = -1,
		.log_level = LOG_INFO,
	};
	while (status < 0 &&
	       (option = getopt_long(argc, argv, "+:o:", g_options, NULL)) !=
		       -1)
		status = set_option(out, option, optarg, argv);
	if (status >= 0)
		return status;
	if (optind < argc && out->control_fd < 0) {
		log_err("'%s': no argument is expected (to record a command: "
			"perfrec record -- %s)",
			argv[optind], argv[optind]);
		return 2;
	}
	if (optind < argc)
		out->command = argv + optind;
	return -1;
}
