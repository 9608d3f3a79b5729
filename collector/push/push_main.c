/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-push - sends windows of profiles, which perfrec-collect puts into a
 * folder (spool.h), to servers. perfrec-collect starts it and says by its
 * standard input when there is a new window.
 *
 * Why a program of its own: the collector never waits for a network, and links
 * no library that talks to one.
 */
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/push/run.h"

#define SECOND_NS UINT64_C(1000000000)
#define SPOOL_BYTES (UINT64_C(64) << 20)
#define LINGER_NS (10 * SECOND_NS)
/* A server may take a minute to answer. */
#define TIMEOUT_NS (90 * SECOND_NS)
#define TIMEOUT_MAX_NS (3600 * SECOND_NS)

static const char g_help[] =
	"usage: perfrec-push --spool DIR [options] URL...\n"
	"\n"
	"Send the windows of profiles in DIR to each URL, until standard "
	"input\n"
	"ends. perfrec-collect --push starts it.\n"
	"\n"
	"URL is pyroscope+https://HOST:PORT, otlp+https://..., "
	"parca+https://... or\n"
	"pyroscope-ingest+https://... (old servers); or with +http.\n"
	"\n"
	"  --spool DIR          the folder of windows\n"
	"  --check              in its place: read all settings, say what "
	"is\n"
	"                       wrong, and end\n"
	"  --spool-size SIZE    remove the oldest windows above it (default: "
	"64M)\n"
	"  --linger TIME        how long to send what is left, once standard "
	"input\n"
	"                       has ended (default: 10s)\n"
	"  --timeout TIME       the longest that a request may take, from 1s "
	"to 1h\n"
	"                       (default: 90s)\n"
	"  --otlp-version N     say in a header which development version of "
	"the\n"
	"                       profiles protocol otlp+ is\n"
	"  --push-auth FILE     a file of mode 0600 with lines NAME=VALUE of\n"
	"                       variables that hold credentials\n"
	"  --push-pid           keep the ids of processes and threads\n"
	"  --quiet              at the end only say what was lost or not "
	"sent\n"
	"  --help               this text\n"
	"  --version            the version of perfrec\n";

enum {
	SPOOL = 256,
	CHECK,
	SPOOL_SIZE,
	LINGER,
	TIMEOUT,
	OTLP_VERSION,
	PUSH_AUTH,
	PUSH_PID,
	QUIET,
	HELP,
	VERSION_OPTION,
};

static const struct option g_options[] = {
	{ "spool", required_argument, NULL, SPOOL },
	{ "check", no_argument, NULL, CHECK },
	{ "spool-size", required_argument, NULL, SPOOL_SIZE },
	{ "linger", required_argument, NULL, LINGER },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "otlp-version", required_argument, NULL, OTLP_VERSION },
	{ "push-auth", required_argument, NULL, PUSH_AUTH },
	{ "push-pid", no_argument, NULL, PUSH_PID },
	{ "quiet", no_argument, NULL, QUIET },
	{ "help", no_argument, NULL, HELP },
	{ "version", no_argument, NULL, VERSION_OPTION },
	{ NULL, 0, NULL, 0 },
};

/* Says that @value of option @name is not @what. Returns -EINVAL. */
static int bad_value(const char *name, const char *value, const char *what)
{
	log_err("--%s '%s': give %s", name, value, what);
	return -EINVAL;
}

static int take_time(const char *name, const char *value, uint64_t min,
		     uint64_t max, uint64_t *out)
{
	uint64_t ns;

	if (size_parse_ns(value, &ns) || ns < min || ns > max)
		return bad_value(name, value, "a time, such as 10s, up to 1h");
	*out = ns;
	return 0;
}

static int take_option(struct run_options *options, int option)
{
	uint64_t number;

	switch (option) {
	case SPOOL:
		options->spool = optarg;
		return 0;
	case CHECK:
		options->check = true;
		return 0;
	case SPOOL_SIZE:
		return size_parse_bytes(optarg, &options->spool_bytes)
			       ? bad_value("spool-size", optarg,
					   "a number of bytes, such as 64M")
			       : 0;
	case LINGER:
		return take_time("linger", optarg, 0, TIMEOUT_MAX_NS,
				 &options->linger_ns);
	case TIMEOUT:
		return take_time("timeout", optarg, SECOND_NS, TIMEOUT_MAX_NS,
				 &options->timeout_ns);
	case OTLP_VERSION:
		if (size_parse_count(optarg, 1, 1000000, &number))
			return bad_value("otlp-version", optarg,
					 "a number from 1 on");
		options->otlp_version = (uint32_t)number;
		return 0;
	case PUSH_AUTH:
		options->auth_path = optarg;
		return 0;
	case PUSH_PID:
		options->with_pid = true;
		return 0;
	case QUIET:
		options->quiet = true;
		return 0;
	case HELP:
		fputs(g_help, stdout);
		exit(0);
	case VERSION_OPTION:
		puts("perfrec-push " PERFREC_VERSION);
		exit(0);
	default: /* getopt_long() has printed the error */
		return -EINVAL;
	}
}

static int take_url(struct run_options *options, const char *text)
{
	struct endpoint *endpoint =
		&options->endpoints[options->endpoint_count];
	const char *why;
	int err;

	if (options->endpoint_count == SCHEDULE_LANES_MAX) {
		log_err("more than %d URLs: start another perfrec-push for "
			"the others",
			SCHEDULE_LANES_MAX);
		return -EINVAL;
	}
	err = endpoint_parse(text, endpoint, &why);
	/* A URL with credentials in it is not repeated. */
	if (err == -EINVAL && strchr(text, '@'))
		log_err("a URL that has an '@' cannot be pushed to: %s", why);
	else if (err)
		log_err("cannot push to '%s': %s", text,
			err == -EINVAL ? why : strerror(-err));
	if (err)
		return err;
	options->endpoint_count++;
	for (uint32_t i = 0; i + 1 < options->endpoint_count; i++)
		if (options->endpoints[i].id == endpoint->id) {
			log_err("'%s' is given twice: leave one out", text);
			return -EINVAL;
		}
	return endpoint_load(endpoint, options->auth_path);
}

static int take_arguments(struct run_options *options, int argc, char **argv)
{
	int option, err = 0;

	while (!err &&
	       (option = getopt_long(argc, argv, "", g_options, NULL)) != -1)
		err = take_option(options, option);
	if (!err && ((!options->spool && !options->check) || optind == argc)) {
		log_err("needs --spool DIR and a URL (see --help)");
		err = -EINVAL;
	}
	for (; !err && optind < argc; optind++)
		err = take_url(options, argv[optind]);
	return err;
}

int main(int argc, char **argv)
{
	struct run_options options = {
		.spool_bytes = SPOOL_BYTES,
		.linger_ns = LINGER_NS,
		.timeout_ns = TIMEOUT_NS,
	};
	int status = 2;
	sigset_t set;

	log_init("perfrec-push", LOG_INFO);
	/* Ctrl-C is for the recorded program. Standard input ends with that
	 * program; from then on stop_fd lets Ctrl-C end perfrec-push. SIGTERM
	 * ends it at once. */
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_SETMASK, &set, NULL);
	options.stop_fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK) {
		log_err("libcurl does not start");
		return 1;
	}
	if (!take_arguments(&options, argc, argv))
		status = options.check ? 0 : run(&options);
	for (uint32_t i = 0; i < options.endpoint_count; i++)
		endpoint_release(&options.endpoints[i]);
	curl_global_cleanup();
	return status;
}
