/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures are read by counters.h; this file reads what else there is. A
 * document with a text where a number should be is refused as a whole: perfrec
 * did not write it. A document without some of the fields was written by an
 * older or newer perfrec, and is shown as far as it goes.
 */
#include "collector/read/summary_read.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/output/own_files.h"
#include "shared/compiler.h"

/* Each reader leaves *@out alone when the field is missing or null. */
static int read_number(const json_t *object, const char *name, uint64_t *out)
{
	const json_t *value = json_object_get(object, name);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return -EBADMSG;
	*out = (uint64_t)json_integer_value(value);
	return 0;
}

static int read_string(const json_t *object, const char *name, const char **out)
{
	const json_t *value = json_object_get(object, name);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_string(value))
		return -EBADMSG;
	*out = json_string_value(value);
	return 0;
}

/* The figures that counters.def lists, and the times of the run. */
static int read_counters(const json_t *document, struct summary *summary)
{
	if (counters_from_json(COUNTERS_TOTALS,
			       json_object_get(document, "totals"),
			       &summary->totals) ||
	    counters_from_json(COUNTERS_COST, json_object_get(document, "cost"),
			       &summary->cost) ||
	    read_number(document, "wall_ns", &summary->wall_ns) ||
	    read_number(document, "user_ns", &summary->user_ns) ||
	    read_number(document, "sys_ns", &summary->sys_ns))
		return -EBADMSG;
	return 0;
}

static int read_strings(const json_t *document, const char *name,
			const char ***out)
{
	const json_t *list = json_object_get(document, name);
	const json_t *word;
	size_t i;

	*out = calloc(json_array_size(list) + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	json_array_foreach(list, i, word)
	{
		if (!json_is_string(word))
			return -EBADMSG;
		(*out)[i] = json_string_value(word);
	}
	return 0;
}

/* The member @name of each object in the list @list_name. */
static int read_names(const json_t *document, const char *list_name,
		      const char *name, const char ***out)
{
	const json_t *list = json_object_get(document, list_name);
	const json_t *object;
	size_t i;

	*out = calloc(json_array_size(list) + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	json_array_foreach(list, i, object)
	{
		(*out)[i] = "";
		if (read_string(object, name, &(*out)[i]))
			return -EBADMSG;
	}
	return 0;
}

static int read_refused(const json_t *document, struct summary *summary)
{
	const json_t *list = json_object_get(document, "refused");
	const json_t *object;
	size_t i;

	summary->refused =
		calloc(json_array_size(list) + 1, sizeof(*summary->refused));
	if (!summary->refused)
		return -ENOMEM;
	json_array_foreach(list, i, object)
	{
		struct summary_refused *to = &summary->refused[i];

		to->why = to->name = "";
		if (read_string(object, "why", &to->why) ||
		    read_string(object, "name", &to->name) ||
		    read_number(object, "programs", &to->programs))
			return -EBADMSG;
	}
	summary->refused_count = json_array_size(list);
	return 0;
}

static int read_exit(const json_t *document, struct summary *summary)
{
	const json_t *object = json_object_get(document, "exit");
	uint64_t status = UINT64_MAX, signal = 0;
	int err = read_number(object, "status", &status);

	if (!err)
		err = read_number(object, "signal", &signal);
	if (err)
		return err;
	summary->knows_cpu =
		json_is_integer(json_object_get(document, "user_ns"));
	summary->exited = status != UINT64_MAX;
	summary->exit_status = (int)(status & 0xff);
	summary->exit_signal = (int)(signal & 0x7f);
	return 0;
}

/* --alloc=auto is exact where something is instrumented. */
static void read_metrics(const json_t *settings, bool all_instrumented,
			 struct summary *summary)
{
	const char *alloc = "off";
	uint64_t hz = 0;

	(void)read_string(settings, "alloc", &alloc);
	(void)read_number(settings, "cpu_hz", &hz);
	summary->wants_alloc = strcmp(alloc, "off") != 0;
	summary->wants_cpu = hz;
	summary->estimates = strcmp(alloc, "sampled") == 0 ||
			     (strcmp(alloc, "auto") == 0 && !all_instrumented);
}

static void read_flags(const json_t *document, struct summary *summary)
{
	bool all_instrumented = true;
	const json_t *settings = json_object_get(document, "settings");
	const json_t *processes = json_object_get(document, "processes");
	const json_t *process;
	size_t i;

	summary->attached = json_is_true(json_object_get(settings, "attached"));
	summary->filtered =
		json_array_size(json_object_get(settings, "filter")) ||
		json_array_size(json_object_get(settings, "exclude"));
	json_array_foreach(processes, i, process)
	{
		const char *ended = "";

		if (!read_string(process, "ended", &ended) &&
		    strcmp(ended, "running") == 0)
			summary->running = true;
		if (json_is_true(json_object_get(process, "instrumented")))
			summary->instrumented = true;
		else
			all_instrumented = false;
	}
	read_metrics(settings, all_instrumented, summary);
}

static int read_functions(const json_t *document, struct summary *summary)
{
	const json_t *functions = json_object_get(document, "functions");
	json_t *function;
	size_t i;

	summary->functions = calloc(json_array_size(functions) + 1,
				    sizeof(*summary->functions));
	if (!summary->functions)
		return -ENOMEM;
	json_array_foreach(functions, i, function)
	{
		struct summary_function *to = &summary->functions[i];

		to->name = to->module = "";
		to->document = function;
		if (counters_from_json(COUNTERS_FUNCTION, function, to))
			return -EBADMSG;
	}
	summary->function_count = json_array_size(functions);
	return 0;
}

static int read_files(const json_t *document, struct summary *summary)
{
	const json_t *files = json_object_get(document, "files");
	const json_t *file;
	size_t i;

	summary->files =
		calloc(json_array_size(files) + 1, sizeof(*summary->files));
	if (!summary->files)
		return -ENOMEM;
	json_array_foreach(files, i, file)
	{
		struct summary_file *to = &summary->files[i];

		to->name = "";
		if (read_string(file, "name", &to->name) ||
		    read_number(file, "bytes", &to->bytes))
			return -EBADMSG;
	}
	summary->file_count = json_array_size(files);
	return 0;
}

static int read_document(json_t *document, struct summary *summary)
{
	const json_t *totals = json_object_get(document, "totals");
	int err;

	summary->document = document;
	if (!json_is_object(json_object_get(document, "perfrec")) ||
	    !json_is_object(totals) || read_counters(document, summary) ||
	    read_exit(document, summary))
		return -EBADMSG;
	read_flags(document, summary);
	summary->knows_temporary =
		json_is_integer(json_object_get(totals, "temporary_allocs"));
	err = read_strings(document, "command", &summary->command);
	if (!err)
		err = read_strings(document, "notes", &summary->notes);
	if (!err)
		err = read_names(document, "went_on", "name",
				 &summary->went_on);
	if (!err)
		err = read_refused(document, summary);
	if (!err)
		err = read_functions(document, summary);
	if (!err)
		err = read_files(document, summary);
	return err;
}

/* The one line for a person. */
static void log_no_recording(const char *dir, const char *path, int err)
{
	switch (-err) {
	case ENOENT:
	case ENOTDIR:
		log_err("'%s' is no finished recording: there is no %s; give "
			"the folder that perfrec record -o wrote",
			dir, path);
		break;
	case EBADMSG:
		log_err("'%s' is no recording of perfrec: %s is no plain file",
			dir, path);
		break;
	default:
		log_err("cannot read '%s': %s", path, strerror(-err));
	}
}

/* json_loadfd() makes a system call for each byte. */
static size_t read_some(void *buffer, size_t bytes, void *fd)
{
	return (size_t)read(*(const int *)fd, buffer, bytes);
}

static int load_json(const char *dir, json_t **out)
{
	json_error_t why;
	char *path;
	int fd;

	if (asprintf(&path, "%s/" SUMMARY_NAME, dir) < 0)
		return -ENOMEM;
	fd = own_files_open(path);
	if (fd < 0) {
		log_no_recording(dir, path, fd);
		free(path);
		return fd;
	}
	*out = json_load_callback(read_some, &fd, JSON_REJECT_DUPLICATES, &why);
	if (!*out)
		log_err("'%s' is no recording of perfrec: %s line %d: %s", dir,
			path, why.line, why.text);
	close(fd);
	free(path);
	return *out ? 0 : -EBADMSG;
}

int summary_read(const char *dir, struct summary **out)
{
	struct summary *summary;
	json_t *document = NULL;
	int err = load_json(dir, &document);

	if (err)
		return err;
	summary = calloc(1, sizeof(*summary));
	if (!summary) {
		json_decref(document);
		return -ENOMEM;
	}
	err = read_document(document, summary);
	if (err) {
		log_err("'%s' is no recording of perfrec: its " SUMMARY_NAME " "
			"holds something else",
			dir);
		summary_free(&summary);
		return err;
	}
	summary_sort(summary, SUMMARY_BY_SELF);
	*out = summary;
	return 0;
}

void summary_free(struct summary **summary)
{
	struct summary *dead = *summary;

	if (!dead)
		return;
	json_decref(dead->document);
	free(dead->command);
	free(dead->notes);
	free(dead->went_on);
	free(dead->refused);
	free(dead->functions);
	free(dead->files);
	free(dead);
	*summary = NULL;
}

static int compare_function_names(const void *left, const void *right)
{
	const struct summary_function *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->module, b->module);
}

#define DEFINE_LARGEST_FIRST(field)                                     \
	static int compare_##field(const void *left, const void *right) \
	{                                                               \
		const struct summary_function *a = left, *b = right;    \
                                                                        \
		if (a->field != b->field)                               \
			return a->field < b->field ? 1 : -1;            \
		return compare_function_names(a, b);                    \
	}
DEFINE_LARGEST_FIRST(self_ns)
DEFINE_LARGEST_FIRST(total_ns)
DEFINE_LARGEST_FIRST(calls)

void summary_sort(struct summary *summary, enum summary_order order)
{
	static int (*const compare[])(const void *, const void *) = {
		[SUMMARY_BY_SELF] = compare_self_ns,
		[SUMMARY_BY_TOTAL] = compare_total_ns,
		[SUMMARY_BY_CALLS] = compare_calls,
		[SUMMARY_BY_NAME] = compare_function_names,
	};

	qsort(summary->functions, summary->function_count,
	      sizeof(*summary->functions), compare[order]);
}

static json_t *first_functions(const struct summary *summary, size_t count)
{
	json_t *functions = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *function = summary->functions[i].document;

		if (json_array_append(functions, function)) {
			json_decref(functions);
			return NULL;
		}
	}
	return functions;
}

int summary_write_json(const struct summary *summary, size_t limit, FILE *out)
{
	size_t all = summary->function_count;
	/* The strings in @summary live in the document: it stays as it is. */
	json_t *copy = json_copy(summary->document);
	bool done = !json_object_set_new(
			    copy, "functions",
			    first_functions(summary,
					    limit ? MIN(all, limit) : all)) &&
		    !json_dumpf(copy, out, JSON_INDENT(1)) &&
		    fputc('\n', out) != EOF && !fflush(out);

	json_decref(copy);
	return done ? 0 : -EIO;
}
