/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_export - a format needs single calls, one value of a profile, or the
 * summary. If several are possible, --value and --calls select one.
 */
#include "collector/command/cmd_export.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/command/call_command.h"
#include "collector/command/export_folder.h"
#include "collector/command/export_part.h"
#include "collector/command/export_trace.h"
#include "collector/export/export.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"
#include "collector/output/whole_file.h"
#include "collector/read/summary_read.h"
#include "shared/compiler.h"

#define OUT_BYTES (256u << 10)
#define LIST_BYTES 512
#define VIEWER_BYTES (200ULL << 20)

struct export_options {
	struct call_command call;
	const struct export_format *format;
	const char *value; /* may be NULL */
	const char *file; /* NULL: stdout */
	bool calls;
};

static int take_export_option(void *to, const struct opts_value *value)
{
	struct export_options *options = to;
	bool taken;
	int result = call_command_take(&options->call, value, &taken);

	if (taken)
		return result;
	switch (value->id) {
	case OPT_EXPORT_TO:
		options->format = export_find(value->text);
		break;
	case OPT_EXPORT_FILE:
		options->file = value->text;
		break;
	case OPT_EXPORT_VALUE:
		options->value = value->text;
		break;
	case OPT_EXPORT_CALLS:
		options->calls = true;
		break;
	default:
		assert(!"an option of perfrec export that nobody takes");
	}
	return OPTS_GO_ON;
}

/* --- the part of the recording --- */

static bool is_of_calls(const struct export_options *options)
{
	const struct export_format *format = options->format;

	if (format->folder)
		return true;
	if (!format->calls || options->value)
		return false;
	return options->calls || !format->summary;
}

/* Return the given option that selects a part, or that selects single calls, or
 * NULL. */
static const char *part_option(const struct export_options *options)
{
	return range_command_option(&options->call.range,
				    options->call.choice.thread);
}

static const char *single_option(const struct export_options *options)
{
	const struct call_choice *choice = &options->call.choice;

	return choice->function_count ? "--function"
	       : choice->depth	      ? "--depth"
	       : choice->min_ns	      ? "--min-duration"
				      : NULL;
}

/* Checks a format of summed calls. */
static int check_exported_part(const struct export_options *options)
{
	const struct export_format *format = options->format;
	const char *single = single_option(options);

	if (!single && !format->profile)
		single = part_option(options);
	if (single) {
		log_err("%s: --to %s%s%s sums all calls up; see --calls of "
			"--to csv, or --to chrome",
			single, format->name, options->value ? " --value " : "",
			options->value ? options->value : "");
		return OPTS_WRONG;
	}
	/* The trace only has calls and their durations. */
	if (part_option(options) && options->value &&
	    strcmp(options->value, "wall") && strcmp(options->value, "calls")) {
		log_err("--value %.100s cannot be combined with %s: choose "
			"wall or calls",
			options->value, part_option(options));
		return OPTS_WRONG;
	}
	return OPTS_GO_ON;
}

static int check_export_options(const struct export_options *options)
{
	const struct export_format *format = options->format;
	char words[LIST_BYTES];

	if (!format) {
		log_err("give --to and a format: %s",
			opts_list_choices(OPT_EXPORT_TO, words, sizeof(words)));
		return OPTS_WRONG;
	}
	if (options->value && !format->profile) {
		log_err("--value: not with --to %s, which has no single value",
			format->name);
		return OPTS_WRONG;
	}
	if (options->calls && !(format->calls && format->summary)) {
		log_err("--calls: only with --to csv");
		return OPTS_WRONG;
	}
	if (format->folder && !options->file) {
		log_err("--to %s: give the name of a folder with -o",
			format->name);
		return OPTS_WRONG;
	}
	if (format->trace && single_option(options)) {
		log_err("%s: not with --to %s, which has the whole trace",
			single_option(options), format->name);
		return OPTS_WRONG;
	}
	if (!is_of_calls(options) && !format->trace)
		return check_exported_part(options);
	return OPTS_GO_ON;
}

static int parse_export_line(int argc, char **argv,
			     struct export_options *options)
{
	int result =
		opts_parse(CMD_EXPORT, argc, argv, take_export_option, options);

	if (result == OPTS_GO_ON)
		result = call_command_operands(&options->call, argc, argv);
	return result == OPTS_GO_ON ? check_export_options(options) : result;
}

/* --- empty recordings --- */

/* The first profile with a value counts: the profile of blocked time also has
 * objects and native stacks. */
static const char *const profile_files[] = {
	WALL_PROFILE_NAME, CPU_PROFILE_NAME, HEAP_PROFILE_NAME,
	OFFCPU_PROFILE_NAME, SPAN_PROFILE_NAME
};

static bool has_value(const struct pprof *profile, uint32_t value)
{
	for (size_t i = 0; i < profile->sample_count; i++)
		if (profile->samples[i].value[value])
			return true;
	return false;
}

/* Writes the last non-empty value of @profile to @name, because numbers of
 * samples and blocks precede their amounts. Skips times as measured, which
 * interest nobody first. */
static bool find_filled(const struct pprof *profile, char name[LIST_BYTES])
{
	for (size_t i = profile->type_count; i--;) {
		if (strcmp(profile->type[i].type, "wall_measured") == 0 ||
		    !has_value(profile, (uint32_t)i))
			continue;
		snprintf(name, LIST_BYTES, "%.40s", profile->type[i].type);
		return true;
	}
	return false;
}

static void log_nothing(const struct export_options *options, const char *what)
{
	const char *dir = options->call.dir;
	char name[LIST_BYTES];
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(profile_files) && !found; i++) {
		struct pprof *profile;

		if (pprof_read(dir, profile_files[i], &profile))
			continue;
		found = find_filled(profile, name);
		pprof_free(&profile);
	}
	if (found)
		log_err("'%.2000s' has nothing of %.100s to export: give "
			"%s--value %s",
			dir, what,
			options->format->profile ? "" : "--to folded ", name);
	else
		log_err("'%.2000s' has nothing to export: no calls, no "
			"samples and no allocations were recorded",
			dir);
}

/* --- writing --- */

static int write_exported_calls(struct export_options *options, FILE *out)
{
	struct call_reader *reader;
	int result;

	/* Trace events of Chrome have more than calls. */
	options->call.choice.calls_only =
		strcmp(options->format->name, "chrome") != 0;
	options->call.choice.instants = options->format->instants;
	options->call.choice.sched = options->format->sched;
	options->call.choice.self_times = options->format->self_times;
	result = call_command_open(&options->call, out, &reader);
	if (result == -ENODATA)
		log_nothing(options, "calls");
	if (result)
		return OPTS_FAILED;
	result = options->format->calls(reader, out);
	if (!result && fflush(out))
		result = -EIO;
	result = call_command_end(&options->call, reader, result);
	call_reader_close(&reader);
	return result;
}

/* @result: 0 or -errno of writing; or an OPTS_* above 0, which was reported. */
static int say_written(int result, FILE *out)
{
	if (result > 0)
		return result;
	if (!result && fflush(out))
		result = -EIO;
	if (!result)
		return OPTS_OK;
	if (result != -EIO || errno != EPIPE)
		log_err("cannot write: %s",
			strerror(result == -EIO ? errno : -result));
	return OPTS_FAILED;
}

static void list_values(const struct pprof *profile, char *text)
{
	for (size_t i = 0; i < profile->type_count; i++) {
		size_t used = strlen(text);

		if (strstr(text, profile->type[i].type))
			continue;
		snprintf(text + used, LIST_BYTES - used, "%s%.40s",
			 used ? ", " : "", profile->type[i].type);
	}
}

/* Reads the profile with value @name. Returns 0, and the caller frees *@out by
 * pprof_free(); or OPTS_FAILED after one line in the log. */
static int find_profile(const char *dir, const char *name, struct pprof **out,
			uint32_t *value)
{
	char known[LIST_BYTES] = "";

	for (size_t i = 0; i < ARRAY_SIZE(profile_files); i++) {
		int err = pprof_read(dir, profile_files[i], out);

		if (err == -ENOENT)
			continue;
		if (err)
			return OPTS_FAILED;
		*value = pprof_find_type(*out, name);
		if (*value != PPROF_NONE)
			return OPTS_OK;
		list_values(*out, known);
		pprof_free(out);
	}
	if (known[0])
		log_err("'%.2000s' has no value '%.100s': it has %s", dir, name,
			known);
	else
		log_err("'%.2000s' has no profiles: it is no recording, or one "
			"without calls, samples and allocations; --to chrome "
			"needs the trace only",
			dir);
	return OPTS_FAILED;
}

static int write_part(const struct export_options *options, const char *value,
		      const char *title, FILE *out)
{
	const struct export_part part = {
		.dir = options->call.dir,
		.range = options->call.range,
		.thread = options->call.choice.thread,
		.value = value,
		.title = title,
		.write = options->format->profile,
	};

	return say_written(export_part_write(&part, out), out);
}

static int write_exported_profile(struct export_options *options, FILE *out)
{
	struct export_profile profile;
	const char *value = options->value ? options->value : "wall";
	struct summary *summary;
	struct pprof *pprof;
	char title[LIST_BYTES];
	int result;
	size_t used;

	if (summary_read(options->call.dir, &summary))
		return OPTS_FAILED;
	used = 0;
	title[0] = '\0';
	for (size_t i = 0; summary->command[i] && used < sizeof(title); i++)
		used += (size_t)snprintf(title + used, sizeof(title) - used,
					 "%s%s", i ? " " : "",
					 summary->command[i]);
	summary_free(&summary);
	if (part_option(options))
		return write_part(options, value, title, out);
	if (find_profile(options->call.dir, value, &pprof, &profile.value))
		return OPTS_FAILED;
	if (!has_value(pprof, profile.value)) {
		pprof_free(&pprof);
		log_nothing(options, value);
		return OPTS_FAILED;
	}
	profile.profile = pprof;
	profile.title = title;
	result = options->format->profile(&profile, out);
	pprof_free(&pprof);
	return say_written(result, out);
}

static int write_summary(struct export_options *options, FILE *out)
{
	struct summary *summary;
	int result;

	if (summary_read(options->call.dir, &summary))
		return OPTS_FAILED;
	result = options->format->summary(summary, out);
	summary_free(&summary);
	return say_written(result, out);
}

static int write_export(struct export_options *options, FILE *out)
{
	setvbuf(out, NULL, _IOFBF, OUT_BYTES);
	if (options->format->trace)
		return say_written(export_trace_write(&options->call, out),
				   out);
	if (is_of_calls(options))
		return write_exported_calls(options, out);
	if (options->format->summary)
		return write_summary(options, out);
	return write_exported_profile(options, out);
}

/* Viewers in a browser have some GB of memory, and need several times the size
 * of a file of calls. */
static void warn_of_size(const char *file)
{
	struct stat status;
	char size[SIZE_TEXT];

	if (stat(file, &status) || (uint64_t)status.st_size <= VIEWER_BYTES)
		return;
	log_warn("'%.2000s' has %s, more than most viewers can open: export a "
		 "part with --from TIME --until TIME, or long calls with "
		 "--min-duration TIME",
		 file, size_format_bytes((uint64_t)status.st_size, size));
}

static int export_to_file(struct export_options *options)
{
	struct whole_file file;
	int result, err;

	if (own_files_has(options->call.dir, options->file)) {
		log_err("-o '%.2000s': that is a file of the recording itself; "
			"choose another name",
			options->file);
		return OPTS_WRONG;
	}
	err = whole_file_open(options->file, &file);
	if (err) {
		log_err("cannot write '%.2000s': %s", options->file,
			strerror(-err));
		return OPTS_FAILED;
	}
	result = write_export(options, file.out);
	err = whole_file_close(&file, result == OPTS_OK ? 0 : -ECANCELED);
	if (err && err != -ECANCELED) {
		log_err("cannot write '%.2000s': %s", options->file,
			strerror(-err));
		return OPTS_FAILED;
	}
	if (result == OPTS_OK && is_of_calls(options) && !options->calls)
		warn_of_size(options->file);
	return result;
}

int cmd_export(int argc, char **argv)
{
	struct export_options options = { 0 };
	int result = parse_export_line(argc, argv, &options);

	if (result != OPTS_GO_ON)
		return result;
	if (options.format->folder)
		return export_folder_write(&options.call, options.file);
	if (options.file)
		return export_to_file(&options);
	if (options.format->binary && isatty(STDOUT_FILENO)) {
		log_err("--to %s is no text for a terminal: give -o FILE",
			options.format->name);
		return OPTS_WRONG;
	}
	return write_export(&options, stdout);
}
