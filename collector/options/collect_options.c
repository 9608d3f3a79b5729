/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options/collect_options.h"

#include <assert.h>
#include <fnmatch.h>
#include <getopt.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/path.h"
#include "collector/base/size.h"
#include "collector/options/opts.h"
#include "collector/options/trigger.h"
#include "shared/compiler.h"
#include "shared/record.h"

const char *collect_options_alloc_name(enum alloc_mode mode)
{
	return opts_choice(OPT_ALLOC, mode);
}

const char *collect_options_cpu_name(enum cpu_engine engine)
{
	return opts_choice(OPT_CPU, engine);
}

const char *collect_options_counter_name(uint32_t number)
{
	return opts_choice(OPT_COUNTERS, number);
}

/* Only counts triggers above TRIGGERS_MAX, for flight_mix_check(). */
static void append_trigger(struct flight_options *flight, const char *text)
{
	struct expression_error error;
	struct trigger *longer;

	if (flight->trigger_count++ >= TRIGGERS_MAX)
		return;
	longer = realloc(flight->triggers,
			 flight->trigger_count * sizeof(*longer));
	if (!longer)
		abort(); /* a few pages, at start */
	flight->triggers = longer;
	/* The parser has accepted it before. */
	(void)trigger_parse(text, &longer[flight->trigger_count - 1], &error);
}

/* Applies an option of --flight. Returns false if @value is another option. */
static bool take_flight_option(struct flight_options *flight,
			       const struct opts_value *value)
{
	switch (value->id) {
	case OPT_FLIGHT:
		flight->on = true;
		return true;
	case OPT_FLIGHT_KEEP:
		if (value->number)
			flight->keep_ns = value->number;
		return true;
	case OPT_FLIGHT_MEMORY:
		flight->bytes = value->number;
		return true;
	case OPT_TRIGGER:
		append_trigger(flight, value->text);
		return true;
	case OPT_FLIGHT_MARGIN:
		flight->margin_ns = value->number;
		return true;
	case OPT_FLIGHT_SNAPSHOTS:
		flight->snapshots = (uint32_t)value->number;
		return true;
	case OPT_FLIGHT_DISK:
		flight->disk_bytes = value->number;
		return true;
	default:
		return false;
	}
}

void flight_mix_take(struct flight_mix *mix, const struct opts_value *value)
{
	bool flight = take_flight_option(&mix->options, value);

	if (value->usual)
		return;
	if (value->id == OPT_FLIGHT_KEEP) {
		/* The last one counts. */
		mix->keep_time = value->number ? value->text : NULL;
		mix->keep_word = value->number ? NULL : value->text;
		mix->keep_last = mix->keep_word && value->word == KEEP_LAST;
	} else if (flight && value->id != OPT_FLIGHT)
		mix->only = value->name;
	if (value->id == OPT_MAX_SIZE)
		mix->max_bytes = value->number;
	if (value->id == OPT_MAX_SIZE || value->id == OPT_COMPRESS)
		mix->never = value->name;
}

static int check_keep(const struct flight_mix *mix)
{
	if (mix->options.on && mix->keep_word) {
		log_err("--keep %s: with --flight give a time, such as "
			"--keep 30s; %s is for a trace on the disk, with "
			"--max-size",
			mix->keep_word, mix->keep_word);
		return OPTS_WRONG;
	}
	if (!mix->options.on && mix->keep_time) {
		log_err("--keep %s: a time needs --flight; to limit a trace on "
			"the disk give its size: --max-size SIZE --keep last",
			mix->keep_time);
		return OPTS_WRONG;
	}
	if (mix->keep_last && mix->max_bytes &&
	    mix->max_bytes < KEEP_BYTES_MIN) {
		log_err("--keep last: give a --max-size of at least %lluM",
			(unsigned long long)(KEEP_BYTES_MIN >> 20));
		return OPTS_WRONG;
	}
	return OPTS_GO_ON;
}

static uint32_t count_conditions(const struct flight_options *flight)
{
	uint32_t count = 0;

	for (size_t i = 0; i < MIN(flight->trigger_count, TRIGGERS_MAX); i++)
		count += flight->triggers[i].conditions.count;
	return count;
}

int flight_mix_check(const struct flight_mix *mix)
{
	const struct flight_options *flight = &mix->options;
	char margin[SIZE_TEXT], keep[SIZE_TEXT];

	if (check_keep(mix) != OPTS_GO_ON)
		return OPTS_WRONG;
	if (!flight->on && mix->only) {
		log_err("%s: only with --flight", mix->only);
		return OPTS_WRONG;
	}
	if (flight->trigger_count > TRIGGERS_MAX) {
		log_err("--trigger: give at most %d triggers; FUNC and NAME "
			"may be patterns",
			TRIGGERS_MAX);
		return OPTS_WRONG;
	}
	if (count_conditions(flight) > TRIGGER_CONDITIONS_MAX) {
		log_err("--trigger: give at most %u conditions on arguments in "
			"all triggers",
			TRIGGER_CONDITIONS_MAX);
		return OPTS_WRONG;
	}
	if (flight->on && mix->never) {
		log_err("%s: not with --flight, which writes snapshots instead "
			"of a trace (see --snapshot-bytes and --memory)",
			mix->never);
		return OPTS_WRONG;
	}
	if (flight->on &&
	    flight->margin_ns > flight->keep_ns / FLIGHT_MARGINS) {
		log_err("--margin %s: give at most a quarter of --keep, which "
			"is %s",
			size_format_ns(flight->margin_ns, margin),
			size_format_ns(flight->keep_ns, keep));
		return OPTS_WRONG;
	}
	return OPTS_GO_ON;
}

static int append_glob(const char *const **list, size_t *count,
		       const char *glob)
{
	const char **longer =
		realloc((void *)*list, (*count + 1) * sizeof(*longer));

	if (!longer)
		abort(); /* a few bytes, at start */
	longer[(*count)++] = glob;
	*list = longer;
	return OPTS_GO_ON;
}

/* Makes @list of the parts of @text, which has commas between them. */
static int split_globs(const char *text, const char *const **list,
		       size_t *count)
{
	*list = NULL;
	*count = 0;
	while (*text) {
		const size_t bytes = strcspn(text, ",");
		char *glob = strndup(text, bytes);

		if (!glob)
			abort(); /* a few bytes, at start */
		append_glob(list, count, glob);
		text += bytes + (text[bytes] == ',');
	}
	return OPTS_GO_ON;
}

static int append_signature(struct collect_options *options, const char *text)
{
	char ignored[CALL_SIGNATURE_WHY_BYTES];
	struct call_signature *longer = realloc(
		options->args, (options->args_count + 1) * sizeof(*longer));

	/* The parser has accepted it before. */
	if (!longer ||
	    call_signature_parse(text, &longer[options->args_count], ignored))
		abort(); /* a few pages, at start */
	options->args = longer;
	return append_glob(&options->args_given, &options->args_count, text);
}

static int allow_user(struct collect_options *options,
		      const struct opts_value *value)
{
	struct passwd *user = getpwnam(value->text);
	uid_t *longer;
	uint64_t uid;

	if (user)
		uid = user->pw_uid;
	else if (size_parse_count(value->text, 0, UINT32_MAX - 1, &uid) < 0)
		return opts_refuse(value, "no such user; give the name or the "
					  "number of one");
	if (geteuid() != 0)
		return opts_refuse(value, "only root may");
	longer = realloc((void *)options->allowed,
			 (options->allowed_count + 1) * sizeof(*longer));
	if (!longer)
		abort(); /* a few bytes, at start */
	longer[options->allowed_count++] = (uid_t)uid;
	options->allowed = longer;
	return OPTS_GO_ON;
}

static int take_metric(struct collect_options *options,
		       const struct opts_value *value)
{
	switch (value->id) {
	case OPT_ALLOC:
		options->alloc = (enum alloc_mode)value->word;
		options->alloc_period = value->number;
		return OPTS_GO_ON;
	case OPT_CPU:
		options->cpu_given = !value->usual;
		options->cpu_auto = value->number == CPU_HZ_AUTO;
		options->cpu_hz = options->cpu_auto ? CPU_HZ_FREE
						    : (uint32_t)value->number;
		options->cpu_engine = (enum cpu_engine)value->word;
		return OPTS_GO_ON;
	case OPT_KERNEL:
		options->kernel = value->word;
		return OPTS_GO_ON;
	case OPT_SCHED:
		options->sched = value->word;
		return OPTS_GO_ON;
	case OPT_LOCKS:
		options->locks = value->word;
		return OPTS_GO_ON;
	case OPT_WAKERS:
		options->kernel_wakers = value->word;
		return OPTS_GO_ON;
	case OPT_FAULTS:
		options->faults = true;
		return OPTS_GO_ON;
	case OPT_COUNTERS:
		options->counters = (uint32_t)value->number;
		return OPTS_GO_ON;
	case OPT_STACK_SIZE: /* whole cells */
		options->stack_bytes = (uint32_t)(value->number &
						  ~(sizeof(struct record) - 1));
		return OPTS_GO_ON;
	case OPT_SNAPSHOT_INTERVAL:
		options->snapshot_ns = value->number;
		return OPTS_GO_ON;
	default:
		assert(!"an option of perfrec-collect that nobody takes");
		return OPTS_WRONG;
	}
}

/* Options that select functions and calls. */
static int take_choice(struct collect_options *options,
		       const struct opts_value *value)
{
	struct filter *filter = &options->filter;

	switch (value->id) {
	case OPT_FILTER:
		return append_glob(&filter->only, &filter->only_count,
				   value->text);
	case OPT_EXCLUDE:
		return append_glob(&filter->except, &filter->except_count,
				   value->text);
	case OPT_COUNTED:
		return append_glob(&options->count, &options->count_count,
				   value->text);
	case OPT_ARGS:
		return append_signature(options, value->text);
	case OPT_ARGS_STRINGS:
		options->args_strings = true;
		return OPTS_GO_ON;
	case OPT_PATCH:
		options->patch = value->text ? value->text : "";
		return split_globs(
			strcmp(options->patch, "all") ? options->patch : "",
			&options->patch_globs, &options->patch_glob_count);
	case OPT_CALLS_TO:
		return split_globs(value->text, &options->calls_to,
				   &options->calls_to_count);
	case OPT_OVERHEAD:
		options->overhead = (uint32_t)value->number;
		return OPTS_GO_ON;
	case OPT_NO_CACHE:
		options->no_cache = true;
		return OPTS_GO_ON;
	case OPT_DEPTH:
		options->depth = (uint32_t)value->number;
		return OPTS_GO_ON;
	case OPT_MIN_DURATION:
		options->min_ns = value->number;
		return OPTS_GO_ON;
	case OPT_CATEGORIES:
		options->categories = value->text;
		return OPTS_GO_ON;
	default:
		return take_metric(options, value);
	}
}

struct parsed {
	struct collect_options *options;
	struct flight_mix mix;
};

#define KEEP_WANT                                                       \
	"give a size (20G), an age in hours, days or weeks (14d) or a " \
	"number of recordings (100), or more of these with commas "     \
	"between them; each: before one is for each program (each:10)"

static int take_collect_option(void *to, const struct opts_value *value)
{
	struct parsed *parsed = to;
	struct collect_options *options = parsed->options;

	flight_mix_take(&parsed->mix, value);
	options->keep_last = parsed->mix.keep_last;
	if (take_flight_option(&options->flight, value))
		return OPTS_GO_ON;
	if (value->id == OPT_LISTEN || value->id == OPT_LISTEN_TOKEN)
		return listen_options_take(&options->listen, value);
	if (push_options_has(value))
		return push_options_take(&options->push, value);
	switch (value->id) {
	case OPT_OUTPUT:
		options->output = value->text;
		return OPTS_GO_ON;
	case OPT_SOCKET:
		options->socket = value->text;
		return OPTS_GO_ON;
	case OPT_BLOCK_TIMEOUT:
		options->block_ns = value->number;
		return OPTS_GO_ON;
	case OPT_ON_FULL:
		options->on_full = (enum wire_on_full)value->word;
		return OPTS_GO_ON;
	case OPT_COMPRESS:
		options->compress = value->text
					    ? (enum compress_when)value->word
					    : COMPRESS_ON;
		return OPTS_GO_ON;
	case OPT_SYNC:
		options->sync = true;
		return OPTS_GO_ON;
	case OPT_MAX_SIZE:
		options->max_bytes = value->number;
		return OPTS_GO_ON;
	case OPT_MAX_TOTAL:
		options->max_total = value->number;
		return OPTS_GO_ON;
	case OPT_KEEP_RECORDINGS:
		return keep_limits_parse(value->text, &options->keep_limits)
			       ? OPTS_GO_ON
			       : opts_refuse(value, KEEP_WANT);
	case OPT_ON_FINISH:
		options->on_finish = value->text;
		return OPTS_GO_ON;
	case OPT_ON_FINISH_TIMEOUT:
		options->on_finish_ns = value->number;
		return OPTS_GO_ON;
	case OPT_METRICS:
		if (!strcmp(value->text, METRICS_SOCKET))
			return opts_refuse(value, "give the path of a socket "
						  "after unix:");
		options->metrics = value->text;
		return OPTS_GO_ON;
	case OPT_WORKERS:
		options->workers = (uint32_t)value->number;
		return OPTS_GO_ON;
	case OPT_ALLOW_UID:
		return allow_user(options, value);
	case OPT_LOG:
		options->log_level = (enum log_level)value->word;
		return OPTS_GO_ON;
	case OPT_RECORDING:
		options->control_fd = (int)value->number;
		return OPTS_GO_ON;
	case OPT_QUIET_NOTES:
		options->quiet_notes = true;
		return OPTS_GO_ON;
	default:
		return take_choice(options, value);
	}
}

/* The system's libraries are not what a person works on. */
static bool is_system_path(const char *path)
{
	static const char *const folders[] = { "/lib/", "/lib64/", "/usr/lib/",
					       "/usr/lib64/", "/usr/libexec/" };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return true;
	return false;
}

bool collect_options_never_patch(const char *path)
{
	/* perfrec's hooks call the C library, and the dynamic linker looks at
	 * return addresses. */
	static const char *const never[] = {
		"ld-linux*",	      "ld.so*",	 "ld-2*",
		"libc.so*",	      "libc-2*", "libpthread*",
		"libperfrec_preload*"
	};

	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (!fnmatch(never[i], path_name(path), 0))
			return true;
	return false;
}

bool collect_options_patch(const struct collect_options *options,
			   const char *path, bool is_program)
{
	if (!options->patch || collect_options_never_patch(path))
		return false;
	if (!options->patch[0])
		return is_program || !is_system_path(path);
	if (!options->patch_glob_count)
		return true;
	for (size_t i = 0; i < options->patch_glob_count; i++)
		if (collect_options_names_file(options->patch_globs[i], path))
			return true;
	return false;
}

bool collect_options_names_file(const char *glob, const char *path)
{
	const char *name = path_name(path);
	const char *end = strstr(name, ".so");
	char stem[NAME_MAX + 1];

	snprintf(stem, sizeof(stem), "%.*s",
		 (int)(end ? end - name : (ptrdiff_t)strlen(name)), name);
	return !fnmatch(glob, name, 0) || !fnmatch(glob, stem, 0);
}

/* _FORTIFY_SOURCE calls __read_chk() for read(), and __open_2() for open(). Copies
 * the name of the source, or @name. */
static void copy_source_name(const char *name, char out[NAME_MAX + 1])
{
	const size_t end = !fnmatch("__*_chk", name, 0) ? 4
			   : !fnmatch("__*_2", name, 0) ? 2
							: 0;
	const size_t start = end ? 2 : 0;

	snprintf(out, NAME_MAX + 1, "%.*s", (int)(strlen(name) - start - end),
		 name + start);
}

bool collect_options_calls(const char *glob, const char *name, const char *path)
{
	const char *colon = strchr(glob, ':');
	const char *function = colon ? colon + 1 : glob;
	char library[NAME_MAX + 1], source[NAME_MAX + 1];

	copy_source_name(name, source);
	snprintf(library, sizeof(library), "%.*s",
		 (int)(colon ? colon - glob : 0), glob);
	return (!fnmatch(function, name, 0) || !fnmatch(function, source, 0)) &&
	       (!colon || !path || collect_options_names_file(library, path));
}

int collect_options_check_args(bool args, bool strings, bool adds_calls)
{
	if (args && !adds_calls)
		log_err("--args: only with --patch or --calls-to, because "
			"functions of other builds are recorded without "
			"arguments");
	else if (strings && !args)
		log_err("--args-strings: only with --args");
	else
		return OPTS_GO_ON;
	return OPTS_WRONG;
}

int collect_options_parse(int argc, char **argv, struct collect_options *out)
{
	struct parsed parsed = { .options = out };
	int result;

	*out = (struct collect_options){ .control_fd = -1 };
	result = opts_parse(CMD_COLLECT, argc, argv, take_collect_option,
			    &parsed);
	/* perfrec record has checked them, and also passes defaults. */
	if (result == OPTS_GO_ON && out->control_fd < 0)
		result = flight_mix_check(&parsed.mix);
	out->push.quiet |= out->log_level < LOG_INFO;
	if (result == OPTS_GO_ON && out->control_fd < 0)
		result = push_options_check(&out->push);
	if (result == OPTS_GO_ON)
		result = listen_options_check(&out->listen);
	if (result == OPTS_GO_ON && out->control_fd < 0)
		result = collect_options_check_args(
			out->args_count > 0, out->args_strings,
			collect_options_add_calls(out));
	/* States of functions cannot reduce the cost of allocations. */
	if (out->overhead && out->alloc == ALLOC_AUTO)
		out->alloc = ALLOC_SAMPLED;
	if (result != OPTS_GO_ON || optind >= argc)
		return result;
	if (out->control_fd < 0) {
		log_err("'%s': no argument is expected (to record a command: "
			"perfrec record -- %s)",
			argv[optind], argv[optind]);
		return OPTS_WRONG;
	}
	out->command = argv + optind;
	return OPTS_GO_ON;
}
