/* SPDX-License-Identifier: Apache-2.0
 *
 * Three ways to show a recording: ui.perfetto.dev fetches the trace from this
 * machine; speedscope is served from this machine; and perfrec's own page is a
 * file.
 */
#include "collector/command/cmd_open.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/command/open_range.h"
#include "collector/command/page_range.h"
#include "collector/command/spawn.h"
#include "collector/doctor/repair.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/output/folder_lock.h"
#include "collector/output/kept_trace.h"
#include "collector/output/own_files.h"
#include "collector/page/browser.h"
#include "collector/page/one_shot.h"
#include "collector/page/page.h"
#include "collector/read/summary_read.h"
#include "shared/compiler.h"

#define PERFETTO "https://ui.perfetto.dev"

enum open_way { OPEN_PERFETTO, OPEN_PAGE, OPEN_SPEEDSCOPE, OPEN_PPROF };

struct open_options {
	const char *dir;
	enum open_way way;
	const char *way_name; /* as given, or NULL */
	const char *speedscope; /* its folder; NULL: search */
	const char *view;
	uint16_t port;
	bool any_size;
	struct open_range part;
};

/* --- the command line ---------------------------------------------------- */

static int choose_way(struct open_options *options, enum open_way way,
		      const char *name)
{
	if (options->way_name && options->way != way) {
		log_err("%s: it is %s already; choose one", name,
			options->way_name);
		return OPTS_WRONG;
	}
	options->way = way;
	options->way_name = name;
	return OPTS_GO_ON;
}

static int take_open_option(void *to, const struct opts_value *value)
{
	struct open_options *options = to;

	if (range_command_take(&options->part.range, value))
		return OPTS_GO_ON;
	switch (value->id) {
	case OPT_CALL_THREAD:
		options->part.thread = value->text;
		break;
	case OPT_OPEN_HTML:
		return choose_way(options, OPEN_PAGE, value->name);
	case OPT_OPEN_SPEEDSCOPE:
		options->speedscope = value->text;
		return choose_way(options, OPEN_SPEEDSCOPE, value->name);
	case OPT_OPEN_PPROF:
		return choose_way(options, OPEN_PPROF, value->name);
	case OPT_OPEN_VIEW:
		options->view = value->text;
		break;
	case OPT_OPEN_PORT:
		options->port = (uint16_t)value->number;
		break;
	case OPT_OPEN_ANY_SIZE:
		options->any_size = true;
		break;
	default:
		assert(!"an option of perfrec open that nobody takes");
	}
	return OPTS_GO_ON;
}

static int parse_open_line(int argc, char **argv, struct open_options *options)
{
	int result =
		opts_parse(CMD_OPEN, argc, argv, take_open_option, options);
	const char *given;

	if (result != OPTS_GO_ON)
		return result;
	if (argc - optind > 1) {
		log_err("'%s': one recording at a time; see perfrec open "
			"--help",
			argv[optind + 1]);
		return OPTS_WRONG;
	}
	if (optind < argc && !argv[optind][0]) {
		log_err("'': give the name of a folder");
		return OPTS_WRONG;
	}
	if (optind < argc)
		options->dir = argv[optind];
	/* Only a trace and a page can show a part. */
	given = open_range_given(&options->part);
	if (given && options->way != OPEN_PERFETTO &&
	    options->way != OPEN_PAGE) {
		log_err("%s cannot be combined with %s", given,
			options->way_name);
		return OPTS_WRONG;
	}
	return range_command_check(&options->part.range);
}

/* Sets @path and *@size for the file @name of the recording. Returns OPTS_GO_ON
 * or an exit status. */
static int find_recorded_file(const struct open_options *options,
			      const char *name, char path[PATH_MAX],
			      uint64_t *size)
{
	struct stat status;

	snprintf(path, PATH_MAX, "%s/%s", options->dir, name);
	if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
		*size = (uint64_t)status.st_size;
		return OPTS_GO_ON;
	}
	if (stat(options->dir, &status) < 0)
		log_err("no recording in '%s': %s (perfrec record makes one)",
			options->dir, strerror(errno));
	else if (repair_is_needed(options->dir))
		summary_log_unfinished(
			options->dir, folder_lock_test(options->dir) == -EBUSY);
	else
		log_err("'%s' has no %s; perfrec report %s says what it has",
			options->dir, name, options->dir);
	return OPTS_FAILED;
}

/* --- browsers ------------------------------------------------------------ */

static void print_elsewhere(struct one_shot *server, const char *url)
{
	printf("No browser could be started here. Where one is, type\n");
	browser_print_tunnel(one_shot_port(server), stdout);
	printf("and open there\n    %s\n", url);
}

/* Starts a browser with @url and waits until it has fetched the file of
 * @server. Returns an exit status. */
static int show_served(struct one_shot *server, const char *url)
{
	pid_t browser = 0;
	int end;

	if (browser_start(url, &browser))
		print_elsewhere(server, url);
	else
		printf("Opening %s\n", url);
	printf("Waiting until the browser has the file; Ctrl-C ends.\n");
	fflush(stdout);
	end = one_shot_wait(server, browser);
	if (end == ONE_SHOT_NO_BROWSER) {
		print_elsewhere(server, url);
		fflush(stdout);
		end = one_shot_wait(server, 0);
	}
	if (end == ONE_SHOT_FETCHED)
		return OPTS_OK;
	if (end < 0)
		log_err("cannot wait for the browser: %s", strerror(-end));
	else
		log_err("no browser has fetched the file");
	return OPTS_FAILED;
}

/* --- ui.perfetto.dev ----------------------------------------------------- */

/* Returns the uncompressed size of the trace, a file of @size bytes. */
static uint64_t count_packet_bytes(const struct open_options *options,
				   uint64_t size)
{
	struct summary *summary = NULL;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" SUMMARY_NAME, options->dir);
	if (access(path, F_OK) == 0 && !summary_read(options->dir, &summary))
		size = MAX(size, summary->totals.trace_unpacked_bytes);
	summary_free(&summary);
	return size;
}

static int show_trace(const struct open_options *options, const char *path,
		      uint64_t size)
{
	char url[PATH_MAX];
	const struct one_shot_plan plan = {
		.path = path,
		.name = TRACE_NAME,
		.origin = PERFETTO,
		.port = options->port,
	};
	struct one_shot *server;
	int result;

	if (!options->any_size && !open_range_given(&options->part))
		size = count_packet_bytes(options, size);
	if (!options->any_size && size > BROWSER_TRACE_BYTES) {
		char text[SIZE_TEXT];

		log_err("%s '%s' has %s, which is more than a browser takes: "
			"perfrec open --from TIME --until TIME shows a %spart, "
			"--html all of it, and perfrec cut --slowest FUNC -o "
			"FILE makes a trace of the slowest calls (or try: "
			"--any-size)",
			open_range_given(&options->part) ? "that part of"
							 : "the trace in",
			options->dir, size_format_bytes(size, text),
			open_range_given(&options->part) ? "smaller " : "");
		return OPTS_FAILED;
	}
	if (one_shot_start(&plan, &server))
		return OPTS_FAILED;
	snprintf(url, sizeof(url), PERFETTO "/#!/?url=%s",
		 one_shot_url(server, TRACE_NAME));
	result = show_served(server, url);
	one_shot_stop(&server);
	return result;
}

/* Refuses a trace in two files, because a browser takes one. */
static int refuse_apart(const struct open_options *options)
{
	int fd = open(options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool apart = fd >= 0 && kept_trace_is_apart(fd);

	if (fd >= 0)
		close(fd);
	if (!apart)
		return OPTS_GO_ON;
	log_err("the trace in '%s' is in two files, because it is still "
		"recorded or its collector was killed: perfrec open --from "
		"TIME --until TIME shows a part of it; after the end, perfrec "
		"index joins the files",
		options->dir);
	return OPTS_FAILED;
}

static int open_in_perfetto(const struct open_options *options)
{
	char path[PATH_MAX];
	FILE *cut = NULL;
	uint64_t size;
	int result = find_recorded_file(options, TRACE_NAME, path, &size);

	if (result == OPTS_GO_ON && open_range_given(&options->part))
		result = open_range_cut(&options->part, options->dir, &cut,
					path, &size);
	else if (result == OPTS_GO_ON)
		result = refuse_apart(options);
	if (result != OPTS_GO_ON)
		return result;
	result = show_trace(options, path, size);
	if (cut)
		fclose(cut);
	return result;
}

/* --- perfrec's own page -------------------------------------------------- */

/* Sets @path to the page of the recording. Always writes the page, because an
 * existing one may be from anyone. */
static int make_page(const struct open_options *options, char path[PATH_MAX])
{
	const struct page_options page = { .dir = options->dir, .file = path };
	const struct open_range *part = &options->part;
	struct stat status;
	int err;

	snprintf(path, PATH_MAX, "%s/" PAGE_NAME, options->dir);
	if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		log_err("'%s' is no plain file: remove it, or write the page "
			"elsewhere: perfrec report --html=FILE",
			path);
		return OPTS_FAILED;
	}
	err = open_range_given(part)
		      ? page_range_write(&part->range, part->thread,
					 options->dir, path)
		      : page_write(&page);
	return err ? OPTS_FAILED : OPTS_GO_ON;
}

static int open_page(const struct open_options *options)
{
	char path[PATH_MAX], url[PATH_MAX * 3 + 8] = "file://", *real;
	size_t to = strlen(url);
	pid_t browser;
	int result = make_page(options, path);

	if (result != OPTS_GO_ON)
		return result;
	real = realpath(path, NULL);
	if (!real) {
		log_err("cannot open '%s': %s", path, strerror(errno));
		return OPTS_FAILED;
	}
	/* RFC 3986: percent-encode special characters. */
	for (const char *c = real; *c; c++) {
		bool plain = (*c | 0x20) >= 'a' && (*c | 0x20) <= 'z';

		plain = plain || strchr("0123456789-._~/", *c);
		to += (size_t)sprintf(url + to, plain ? "%c" : "%%%02X",
				      (unsigned char)*c);
	}
	if (browser_start(url, &browser)) {
		printf("No browser could be started here. The page is one "
		       "file; "
		       "where a browser is, type\n");
		browser_print_copy(real, stdout);
		printf("and open report.html there.\n");
	} else {
		printf("Opening %s\n", url);
	}
	free(real);
	return OPTS_OK;
}

/* --- speedscope ---------------------------------------------------------- */

/* Sets @path to @dir/@below. Returns true if it has the built page of
 * speedscope. */
static bool has_speedscope(const char *dir, const char *below,
			   char path[PATH_MAX])
{
	char index[PATH_MAX + 16];

	snprintf(path, PATH_MAX, "%.*s%s", PATH_MAX / 2, dir, below);
	snprintf(index, sizeof(index), "%s/index.html", path);
	return access(index, R_OK) == 0;
}

/* Never searches the current folder: the browser runs the served files. */
static bool find_speedscope(const char *given, char path[PATH_MAX])
{
	static const char installed[] = "/speedscope/dist/release";
	static const char *const usual[] = { "/usr/local/lib/node_modules",
					     "/usr/lib/node_modules",
					     "/usr/share/nodejs" };
	const char *prefix = getenv("npm_config_prefix");
	const char *home = getenv("HOME");
	char modules[PATH_MAX];

	if (given)
		return has_speedscope(given, "", path) ||
		       has_speedscope(given, "/dist/release", path);
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		if (has_speedscope(usual[i], installed, path))
			return true;
	snprintf(modules, sizeof(modules), "%s/lib/node_modules",
		 prefix ? prefix : "");
	if (prefix && has_speedscope(modules, installed, path))
		return true;
	snprintf(modules, sizeof(modules), "%s/node_modules", home ? home : "");
	return home && has_speedscope(modules, installed, path);
}

static int open_in_speedscope(const struct open_options *options)
{
	char folder[PATH_MAX], path[PATH_MAX], url[PATH_MAX], name[32];
	struct one_shot_plan plan = {
		.path = path,
		.name = name,
		.folder = folder,
		.port = options->port,
	};
	struct one_shot *server;
	uint64_t size;
	int result;

	snprintf(name, sizeof(name), "%s.pb.gz", options->view);
	result = find_recorded_file(options, name, path, &size);
	if (result != OPTS_GO_ON)
		return result;
	if (!find_speedscope(options->speedscope, folder)) {
		if (options->speedscope)
			log_err("'%s' is no package of speedscope: it has no "
				"dist/release/index.html",
				options->speedscope);
		else
			log_err("speedscope is not installed: npm install -g "
				"speedscope, or name the folder of its "
				"package: --speedscope=DIR");
		return OPTS_FAILED;
	}
	if (one_shot_start(&plan, &server))
		return OPTS_FAILED;
	snprintf(url, sizeof(url),
		 "%s#profileURL=", one_shot_url(server, "index.html"));
	snprintf(url + strlen(url), sizeof(url) - strlen(url), "%s&title=%s",
		 one_shot_url(server, name), options->view);
	result = show_served(server, url);
	one_shot_stop(&server);
	return result;
}

/* --- pprof --------------------------------------------------------------- */

static int open_in_pprof(const struct open_options *options)
{
	char path[PATH_MAX], program[PATH_MAX], name[32], at[32];
	char *go[] = { "go", "tool", "pprof", "-http", at, path, NULL };
	uint64_t size;
	bool with_go;
	int result;

	snprintf(name, sizeof(name), "%s.pb.gz", options->view);
	result = find_recorded_file(options, name, path, &size);
	if (result != OPTS_GO_ON)
		return result;
	snprintf(at, sizeof(at), "127.0.0.1:%" PRIu16, options->port);
	with_go = spawn_find_command("go", program) == 0;
	if (!with_go && spawn_find_command("pprof", program)) {
		log_err("pprof is not installed: apt-get install golang-go, or "
			"go install github.com/google/pprof@latest");
		return OPTS_FAILED;
	}
	execv(program, with_go ? go : go + 2);
	log_err("cannot run '%s': %s", program, strerror(errno));
	return OPTS_FAILED;
}

int cmd_open(int argc, char **argv)
{
	static int (*const ways[])(const struct open_options *options) = {
		[OPEN_PERFETTO] = open_in_perfetto,
		[OPEN_PAGE] = open_page,
		[OPEN_SPEEDSCOPE] = open_in_speedscope,
		[OPEN_PPROF] = open_in_pprof,
	};
	struct open_options options = { .dir = RECORDING_DIR };
	int result = parse_open_line(argc, argv, &options);

	return result == OPTS_GO_ON ? ways[options.way](&options) : result;
}
