/* SPDX-License-Identifier: Apache-2.0
 *
 * How it is read: one table says where each number is. A document with a
 * text where a number should be is refused as a whole, since whatever wrote
 * it was not perfrec; one with fields missing is an older or newer perfrec's
 * and is shown as far as it goes.
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

struct number_field {
	const char *object; /* member of the document; NULL: itself */
	const char *name;
	size_t offset; /* of a uint64_t in struct summary */
};

#define TOP(field, member)                                    \
	{                                                     \
		NULL, field, offsetof(struct summary, member) \
	}
#define TOTAL(member)                                                      \
	{                                                                  \
		"totals", #member, offsetof(struct summary, totals.member) \
	}

static const struct number_field number_fields[] = {
	TOP("wall_ns", wall_ns),
	TOP("user_ns", user_ns),
	TOP("sys_ns", sys_ns),
	TOTAL(processes),
	TOTAL(threads),
	TOTAL(span_processes),
	TOTAL(span_threads),
	TOTAL(spans),
	TOTAL(dropped_spans),
	TOTAL(truncated_spans),
	TOTAL(unslotted_spans),
	TOTAL(unslotted_threads),
	TOTAL(slots_taken),
	TOTAL(slots_retired),
	TOTAL(slots_refused),
	TOTAL(vfork_spans),
	TOTAL(muted_spans),
	TOTAL(repaired_slices),
	TOTAL(orphan_ends),
	TOTAL(folded_spans),
	TOTAL(paused_spans),
	TOTAL(mixed_contexts),
	TOTAL(skipped_maps),
	TOTAL(waits),
	TOTAL(wait_ns),
	TOTAL(cpu_samples),
	TOTAL(cpu_ns),
	TOTAL(unsampled_processes),
	TOTAL(unsampled_process_ns),
	TOTAL(lost_cpu_samples),
	TOTAL(allocs),
	TOTAL(alloc_bytes),
	TOTAL(temporary_allocs),
	TOTAL(heap_processes),
	TOTAL(peak_bytes),
	TOTAL(peaks_bytes),
	TOTAL(live_blocks),
	TOTAL(live_bytes),
	TOTAL(dropped_allocs),
	TOTAL(dropped_frees),
	TOTAL(unslotted_allocs),
	TOTAL(unslotted_frees),
	TOTAL(untracked_blocks),
	TOTAL(double_frees),
	TOTAL(broken_rings),
	TOTAL(refused_programs),
	TOTAL(went_on),
	{ "cost", "total_ns", offsetof(struct summary, cost_ns) },
	{ "cost", "left_out_calls", offsetof(struct summary, left_out_calls) },
	{ "cost", "excluded_calls", offsetof(struct summary, excluded_calls) },
};

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

static int read_real(const json_t *object, const char *name, double *out)
{
	const json_t *value = json_object_get(object, name);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_number(value) || json_number_value(value) < 0)
		return -EBADMSG;
	*out = json_number_value(value);
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

static int read_numbers(const json_t *document, struct summary *summary)
{
	for (size_t i = 0; i < ARRAY_SIZE(number_fields); i++) {
		const struct number_field *field = &number_fields[i];
		const json_t *object = document;
		int error;

		if (field->object)
			object = json_object_get(document, field->object);
		error = read_number(
			object, field->name,
			(uint64_t *)((char *)summary + field->offset));
		if (error)
			return error;
	}
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
	int error = read_number(object, "status", &status);

	if (!error)
		error = read_number(object, "signal", &signal);
	if (error)
		return error;
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
	summary->totals.trace_limited = json_is_true(json_object_get(
		json_object_get(document, "totals"), "trace_limited"));
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
		if (read_string(function, "name", &to->name) ||
		    read_string(function, "module", &to->module) ||
		    read_number(function, "calls", &to->calls) ||
		    read_number(function, "self_ns", &to->self_ns) ||
		    read_number(function, "total_ns", &to->total_ns) ||
		    read_number(function, "temporary_objects",
				&to->temporary_objects))
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
	const json_t *cost = json_object_get(document, "cost");
	int error;

	summary->document = document;
	if (!json_is_object(json_object_get(document, "perfrec")) ||
	    !json_is_object(totals) || read_numbers(document, summary) ||
	    read_string(totals, "peak_program",
			&summary->totals.peak_program) ||
	    read_string(totals, "trace_stopped",
			&summary->totals.trace_stopped) ||
	    read_real(cost, "span_ns", &summary->span_ns) ||
	    read_real(cost, "heap_record_ns", &summary->heap_record_ns) ||
	    read_real(cost, "sample_ns", &summary->sample_ns) ||
	    read_real(cost, "share", &summary->cost_share) ||
	    read_string(cost, "of", &summary->cost_of) ||
	    read_real(cost, "left_out_ns", &summary->left_out_ns) ||
	    read_real(cost, "excluded_ns", &summary->excluded_ns) ||
	    read_real(cost, "paused_ns", &summary->paused_ns) ||
	    read_real(cost, "dropped_ns", &summary->dropped_ns) ||
	    read_real(cost, "heap_sample_ns", &summary->heap_sample_ns) ||
	    read_exit(document, summary))
		return -EBADMSG;
	read_flags(document, summary);
	summary->knows_temporary =
		json_is_integer(json_object_get(totals, "temporary_allocs"));
	error = read_strings(document, "command", &summary->command);
	if (!error)
		error = read_strings(document, "notes", &summary->notes);
	if (!error)
		error = read_names(document, "went_on", "name",
				   &summary->went_on);
	if (!error)
		error = read_refused(document, summary);
	if (!error)
		error = read_functions(document, summary);
	if (!error)
		error = read_files(document, summary);
	return error;
}

/* The one line for a person. */
static void log_no_recording(const char *dir, const char *path, int error)
{
	switch (error) {
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
		log_err("cannot read '%s': %s", path, strerror(error));
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

	if (asprintf(&path, "%s/summary.json", dir) < 0)
		return -ENOMEM;
	fd = own_files_open(path);
	if (fd < 0) {
		log_no_recording(dir, path, -fd);
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
	int error = load_json(dir, &document);

	if (error)
		return error;
	summary = calloc(1, sizeof(*summary));
	if (!summary) {
		json_decref(document);
		return -ENOMEM;
	}
	error = read_document(document, summary);
	if (error) {
		log_err("'%s' is no recording of perfrec: its summary.json "
			"holds something else",
			dir);
		summary_free(&summary);
		return error;
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

static int by_name(const void *left, const void *right)
{
	const struct summary_function *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->module, b->module);
}

#define DEFINE_LARGEST_FIRST(field)                                  \
	static int by_##field(const void *left, const void *right)   \
	{                                                            \
		const struct summary_function *a = left, *b = right; \
                                                                     \
		if (a->field != b->field)                            \
			return a->field < b->field ? 1 : -1;         \
		return by_name(a, b);                                \
	}
DEFINE_LARGEST_FIRST(self_ns)
DEFINE_LARGEST_FIRST(total_ns)
DEFINE_LARGEST_FIRST(calls)

void summary_sort(struct summary *summary, enum summary_order order)
{
	static int (*const compare[])(const void *, const void *) = {
		[SUMMARY_BY_SELF] = by_self_ns,
		[SUMMARY_BY_TOTAL] = by_total_ns,
		[SUMMARY_BY_CALLS] = by_calls,
		[SUMMARY_BY_NAME] = by_name,
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
