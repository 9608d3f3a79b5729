/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options/push_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/names/helper.h"
#include "collector/options/opts.h"
#include "shared/compiler.h"

#define PROGRAM "perfrec-push"
#define PROGRAM_VARIABLE "PERFREC_PUSH"
/* The exit status of perfrec-push after its message about wrong settings. */
#define WRONG_STATUS 2

const char *const push_options_secrets[] = {
	"PYROSCOPE_BASIC_AUTH_USER",  "PYROSCOPE_BASIC_AUTH_PASSWORD",
	"PYROSCOPE_AUTH_TOKEN",	      "PARCA_BEARER_TOKEN",
	"OTEL_EXPORTER_OTLP_HEADERS", NULL,
};

bool push_options_has(const struct opts_value *value)
{
	return value->id == OPT_PUSH || value->id == OPT_PUSH_INTERVAL ||
	       value->id == OPT_PUSH_SPOOL || value->id == OPT_PUSH_AUTH ||
	       value->id == OPT_OTLP_VERSION || value->id == OPT_QUIET_PUSH;
}

/* Returns the part of @url after its scheme; NULL: the scheme is unknown. */
static const char *behind_scheme(const char *url)
{
	static const char *const protocols[] = { "pyroscope+",
						 "pyroscope-ingest+", "otlp+",
						 "parca+" };
	static const char *const transports[] = { "http://", "https://" };

	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++)
		for (size_t k = 0; k < ARRAY_SIZE(transports); k++) {
			size_t first = strlen(protocols[i]);
			size_t second = strlen(transports[k]);

			if (!strncmp(url, protocols[i], first) &&
			    !strncmp(url + first, transports[k], second))
				return url + first + second;
		}
	return NULL;
}

/* Returns true if @text has a user, and perhaps a password, before its host. */
static bool has_user(const char *text)
{
	const char *scheme = strstr(text, "://");

	text = scheme ? scheme + 3 : text;
	return text[strcspn(text, "/?#@")] == '@';
}

/* @from: the option or variable with @url, for messages. */
static int add_url(struct push_options *options, const char *from,
		   const char *url)
{
	const char *host = behind_scheme(url);
	const char **longer;

	/* First, and without the URL, which may contain a password. */
	if (has_user(url)) {
		log_err("%s: the URL contains a user or a password, which "
			"other users can see; put them into a file for "
			"--push-auth",
			from);
		return OPTS_WRONG;
	}
	if (!host || !host[0] || host[0] == '/' || url[strcspn(url, " \t\n")]) {
		log_err("%s '%s': give pyroscope+http://HOST:PORT, "
			"pyroscope-ingest+http://HOST:PORT (old servers), "
			"otlp+http://HOST:PORT or parca+http://HOST:PORT, or "
			"the same with https",
			from, url);
		return OPTS_WRONG;
	}
	longer = realloc((void *)options->urls,
			 (options->url_count + 1) * sizeof(*longer));
	if (!longer)
		abort(); /* a few bytes, at start */
	longer[options->url_count++] = url;
	options->urls = longer;
	return OPTS_GO_ON;
}

static int add_variable(struct push_options *options, const char *variable,
			const char *protocol)
{
	const char *server = getenv(variable);
	char *url;

	if (!server || !server[0])
		return OPTS_GO_ON;
	if (asprintf(&url, "%s%s", protocol, server) < 0)
		abort(); /* a few bytes, at start */
	return add_url(options, variable, url);
}

/* @next: the word after --push, which has no "://"; or NULL. */
static int refuse_next(const char *next)
{
	bool shown = next && next[0] && next[0] != '-' && !has_user(next);

	log_err("--push%s%.200s%s: give a URL, such as "
		"--push=pyroscope+http://localhost:4040, or set "
		"PYROSCOPE_SERVER_ADDRESS or OTEL_EXPORTER_OTLP_ENDPOINT",
		shown ? " '" : "", shown ? next : "", shown ? "'" : "");
	return OPTS_WRONG;
}

/* Adds the servers that the environment names. @next: as refuse_next(). */
static int add_variables(struct push_options *options, const char *next)
{
	size_t before = options->url_count;
	int result =
		add_variable(options, "PYROSCOPE_SERVER_ADDRESS", "pyroscope+");

	if (result == OPTS_GO_ON)
		result = add_variable(options, "OTEL_EXPORTER_OTLP_ENDPOINT",
				      "otlp+");
	if (result != OPTS_GO_ON || options->url_count > before)
		return result;
	return refuse_next(next);
}

int push_options_take(struct push_options *options,
		      const struct opts_value *value)
{
	if (value->id != OPT_PUSH && !value->usual && !options->first)
		options->first = value->name;
	switch (value->id) {
	case OPT_PUSH:
		return value->text ? add_url(options, value->name, value->text)
				   : add_variables(options, value->next);
	case OPT_PUSH_INTERVAL:
		options->interval_ns = value->number;
		return OPTS_GO_ON;
	case OPT_PUSH_SPOOL:
		options->spool_bytes = value->number;
		return OPTS_GO_ON;
	case OPT_OTLP_VERSION:
		options->otlp_version = (uint32_t)value->number;
		return OPTS_GO_ON;
	case OPT_QUIET_PUSH:
		options->quiet = true;
		return OPTS_GO_ON;
	default:
		options->auth = value->text;
		return OPTS_GO_ON;
	}
}

int push_options_find(char path[PATH_MAX])
{
	int err = helper_find(PROGRAM, PROGRAM_VARIABLE, path);

	if (err)
		log_err("cannot start " PROGRAM ", for --push: %s",
			err == -ENOENT ? "it is not installed beside "
					 "perfrec-collect"
				       : strerror(-err));
	return err;
}

char **push_options_command(const struct push_options *options,
			    const char *path, const char *spool)
{
	static char bytes[24], version[16];
	const char **argv = calloc(options->url_count + 12, sizeof(*argv));
	size_t count = 0;

	if (!argv)
		return NULL;
	snprintf(bytes, sizeof(bytes), "%llu",
		 (unsigned long long)options->spool_bytes);
	argv[count++] = path;
	argv[count++] = spool ? "--spool" : "--check";
	if (spool)
		argv[count++] = spool;
	argv[count++] = "--spool-size";
	argv[count++] = bytes;
	if (options->auth) {
		argv[count++] = "--push-auth";
		argv[count++] = options->auth;
	}
	if (options->otlp_version) {
		snprintf(version, sizeof(version), "%u", options->otlp_version);
		argv[count++] = "--otlp-version";
		argv[count++] = version;
	}
	if (options->quiet)
		argv[count++] = "--quiet";
	for (size_t i = 0; i < options->url_count; i++)
		argv[count++] = options->urls[i];
	/* posix_spawn(3) writes no word, though its types permit it. */
	return (char **)(uintptr_t)argv;
}

int push_options_check(const struct push_options *options)
{
	bool has_otlp = false;
	const int fds[] = { -1, -1, STDERR_FILENO };
	char path[PATH_MAX], **argv;
	int status, err;
	pid_t pid;

	if (!options->url_count && !options->first)
		return OPTS_GO_ON;
	if (!options->url_count) {
		log_err("%s: only with --push", options->first);
		return OPTS_WRONG;
	}
	for (size_t i = 0; i < options->url_count; i++)
		has_otlp |= !strncmp(options->urls[i], "otlp+", 5);
	if (options->otlp_version && !has_otlp) {
		log_err("--otlp-version: only with --push=otlp+http://...");
		return OPTS_WRONG;
	}
	/* perfrec-push checks the settings. */
	status = 0;
	if (push_options_find(path))
		return OPTS_FAILED;
	argv = push_options_command(options, path, NULL);
	err = argv ? helper_spawn(argv, environ, fds, ARRAY_SIZE(fds), &pid)
		   : -ENOMEM;
	free(argv);
	while (!err && waitpid(pid, &status, 0) < 0)
		err = errno == EINTR ? 0 : -errno;
	if (err)
		log_err("cannot start '%s', for --push: %s", path,
			strerror(-err));
	else if (!status)
		return OPTS_GO_ON;
	else if (WIFEXITED(status) && WEXITSTATUS(status) == WRONG_STATUS)
		return OPTS_WRONG;
	else
		log_err("'%s' ended (%s %d) before it had checked the settings "
			"of --push",
			path, WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status)
					    : WEXITSTATUS(status));
	return OPTS_FAILED;
}
