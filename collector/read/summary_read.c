/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_read - counters.h reads the figures; this file reads the rest. A
 * document with a field of the wrong type is rejected as a whole: perfrec did
 * not write it. A document that lacks fields is from an older or newer perfrec;
 * its other fields are read.
 */
#include "collector/read/summary_read.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/json_text.h"
#include "collector/base/log.h"
#include "collector/names/name_fold.h"
#include "collector/output/folder_lock.h"
#include "collector/output/own_files.h"
#include "shared/compiler.h"

/* The functions below read one field. If it is missing or null, *@out keeps its
 * value. They return 0 or -EBADMSG. */
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

static int read_counters(const json_t *document, struct summary *summary)
{
	if (counters_from_json(COUNTERS_SETTINGS,
			       json_object_get(document, "settings"),
			       &summary->settings) ||
	    counters_from_json(COUNTERS_TOTALS,
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

/* --alloc=auto is exact in instrumented processes. */
static void set_metrics(struct summary *summary, bool all_instrumented)
{
	const struct summary_settings *settings = &summary->settings;
	const char *alloc = settings->alloc ? settings->alloc : "off";

	summary->wants_alloc = strcmp(alloc, "off") != 0;
	summary->wants_cpu = settings->cpu_hz;
	summary->estimates = strcmp(alloc, "sampled") == 0 ||
			     (strcmp(alloc, "auto") == 0 && !all_instrumented);
	summary->filtered = json_array_size(settings->filter) ||
			    json_array_size(settings->exclude);
}

/* Keeps only whether some processes still ran, whether some or all were
 * instrumented, and the range of ranks. */
static int read_processes(const json_t *document, struct summary *summary)
{
	const json_t *list = json_object_get(document, "processes");
	bool all_instrumented = true;

	summary->first_rank = summary->last_rank = -1;
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct summary_process process = { .rank = -1, .ended = "" };

		if (counters_from_json(COUNTERS_PROCESS,
				       json_array_get(list, i), &process))
			return -EBADMSG;
		summary->running |= strcmp(process.ended, "running") == 0;
		summary->instrumented |= process.instrumented;
		all_instrumented &= process.instrumented;
		if (process.rank < 0)
			continue;
		summary->last_rank = MAX(summary->last_rank, process.rank);
		if (summary->first_rank < 0 ||
		    summary->first_rank > process.rank)
			summary->first_rank = process.rank;
	}
	set_metrics(summary, all_instrumented);
	return 0;
}

/* --- lists --------------------------------------------------------------- */

/* Reads @item, an element of a list, to @to, all zero before. Returns 0 or
 * -EBADMSG. */
typedef int read_item(json_t *item, void *to);

static int read_word(json_t *item, void *to)
{
	if (!json_is_string(item))
		return -EBADMSG;
	*(const char **)to = json_string_value(item);
	return 0;
}

static int read_process_name(json_t *item, void *to)
{
	*(const char **)to = "";
	return read_string(item, "name", to);
}

static int read_refused(json_t *item, void *to)
{
	struct summary_refused *refused = to;

	refused->why = refused->name = "";
	if (read_string(item, "why", &refused->why) ||
	    read_string(item, "name", &refused->name))
		return -EBADMSG;
	return read_number(item, "programs", &refused->programs);
}

static int read_function(json_t *item, void *to)
{
	struct summary_function *function = to;

	function->name = function->module = "";
	function->median_ns = function->p99_ns = COUNTER_UNKNOWN;
	function->max_ns = COUNTER_UNKNOWN;
	function->document = item;
	return counters_from_json(COUNTERS_FUNCTION, item, function);
}

static int read_async(json_t *item, void *to)
{
	struct summary_async *async = to;

	async->name = async->category = "";
	return counters_from_json(COUNTERS_ASYNC, item, async);
}

static int read_file(json_t *item, void *to)
{
	struct summary_file *file = to;

	file->name = "";
	if (read_string(item, "name", &file->name))
		return -EBADMSG;
	return read_number(item, "bytes", &file->bytes);
}

/* Returns the list @name of @document as an array that ends with an all-zero
 * element; a missing list is empty. Sets *@count. Sets *@err if it is still 0
 * and something fails. The caller frees the array even after an error. */
static void *read_list(const json_t *document, const char *name,
		       read_item *read_one, size_t item_bytes, size_t *count,
		       int *err)
{
	const json_t *list = json_object_get(document, name);
	char *items = calloc(json_array_size(list) + 1, item_bytes);

	*count = json_array_size(list);
	if (!items && !*err)
		*err = -ENOMEM;
	for (size_t i = 0; i < *count && !*err; i++)
		*err = read_one(json_array_get(list, i),
				items + i * item_bytes);
	return items;
}

static int read_lists(const json_t *document, struct summary *summary)
{
	size_t words;
	int err = 0;

	summary->command = read_list(document, "command", read_word,
				     sizeof(*summary->command), &words, &err);
	summary->notes = read_list(document, "notes", read_word,
				   sizeof(*summary->notes), &words, &err);
	summary->went_on = read_list(document, "went_on", read_process_name,
				     sizeof(*summary->went_on), &words, &err);
	summary->refused = read_list(document, "refused", read_refused,
				     sizeof(*summary->refused),
				     &summary->refused_count, &err);
	summary->functions = read_list(document, "functions", read_function,
				       sizeof(*summary->functions),
				       &summary->function_count, &err);
	summary->async =
		read_list(document, "async", read_async,
			  sizeof(*summary->async), &summary->async_count, &err);
	summary->files =
		read_list(document, "files", read_file, sizeof(*summary->files),
			  &summary->file_count, &err);
	return err;
}

/* Sets summary->service. An older perfrec does not write a resource. */
static int read_service(const json_t *document, struct summary *summary)
{
	const json_t *resource = json_object_get(document, "resource");
	const char *program = "", *service = "";

	summary->service = "";
	if (!json_object_get(resource, "process.executable.name"))
		return 0;
	if (read_string(resource, "process.executable.name", &program) ||
	    read_string(resource, "service.name", &service))
		return -EBADMSG;
	if (strcmp(service, program) != 0)
		summary->service = service;
	return 0;
}

static int read_document(json_t *document, struct summary *summary)
{
	const json_t *totals = json_object_get(document, "totals");
	const json_t *perfrec = json_object_get(document, "perfrec");

	summary->document = document;
	summary->version = "";
	if (!json_is_object(perfrec) ||
	    read_string(perfrec, "version", &summary->version) ||
	    read_string(document, "started", &summary->started) ||
	    !json_is_object(totals) || read_counters(document, summary) ||
	    read_exit(document, summary) || read_processes(document, summary) ||
	    read_service(document, summary))
		return -EBADMSG;
	summary->rebuilt = json_is_object(json_object_get(document, "rebuilt"));
	summary->knows_temporary =
		json_is_integer(json_object_get(totals, "temporary_allocs"));
	return read_lists(document, summary);
}

/* Writes the path of the first recording inside @dir, such as a daemon's
 * folder, to @path. Returns false if there is none. */
static bool find_inner(const char *dir, char path[PATH_MAX])
{
	DIR *stream = opendir(dir);
	struct dirent *entry;
	bool found = false;

	while (stream && !found && (entry = readdir(stream)) != NULL) {
		int length =
			snprintf(path, PATH_MAX, "%s/%s", dir, entry->d_name);

		found = entry->d_name[0] != '.' && length < PATH_MAX &&
			own_files_exists(path, SUMMARY_NAME);
	}
	if (stream)
		closedir(stream);
	return found;
}

void summary_log_unfinished(const char *dir, bool runs)
{
	if (runs)
		log_err("'%s' is no finished recording: it still goes on (wait "
			"until it ends, or end it with perfrec ctl -o %s stop)",
			dir, dir);
	else
		log_err("'%s' is no finished recording: its collector was "
			"killed; perfrec report --repair %s makes its summary "
			"and its profile from the trace",
			dir, dir);
}

static void log_no_flight(const char *dir)
{
	if (folder_lock_test(dir) == -EBUSY)
		log_err("'%s' is no finished recording: it still goes on; its "
			"snapshots so far are in '%s/" SNAPSHOTS_NAME "'",
			dir, dir);
	else
		log_err("'%s' is no finished recording: its collector was "
			"killed; its snapshots are in '%s/" SNAPSHOTS_NAME "' "
			"(perfrec report --repair %s removes what was not "
			"finished)",
			dir, dir, dir);
}

static void log_no_summary(const char *dir, const char *path)
{
	char inner[PATH_MAX];
	struct stat status;

	if (stat(dir, &status) < 0 && errno == ENOENT)
		log_err("no such folder: '%s' (record first: perfrec record -o "
			"%s -- COMMAND)",
			dir, dir);
	else if (stat(dir, &status) == 0 && !S_ISDIR(status.st_mode))
		log_err("'%s' is no finished recording: it is a file, and a "
			"recording is a folder",
			dir);
	else if (own_files_exists(dir, TRACE_NAME))
		summary_log_unfinished(dir, folder_lock_test(dir) == -EBUSY);
	else if (own_files_exists(dir, SNAPSHOTS_NAME))
		log_no_flight(dir);
	else if (find_inner(dir, inner))
		log_err("'%s' is no finished recording, but folders in it "
			"are: give one, such as %s",
			dir, inner);
	else
		log_err("'%s' is no finished recording: there is no %s; give "
			"the folder that perfrec record -o wrote",
			dir, path);
}

static void log_no_recording(const char *dir, const char *path, int err)
{
	switch (-err) {
	case ENOENT:
	case ENOTDIR:
		log_no_summary(dir, path);
		break;
	case EBADMSG:
		log_err("'%s' is no recording of perfrec: %s is no plain file",
			dir, path);
		break;
	default:
		log_err("cannot read '%s': %s", path, strerror(-err));
	}
}

/* A buffered read, because json_loadfd() makes a system call per byte. */
static size_t read_some(void *buffer, size_t bytes, void *fd)
{
	return (size_t)read(*(const int *)fd, buffer, bytes);
}

static int load_json(const char *dir, json_t **out)
{
	json_error_t why;
	char *path;
	bool lacked;
	int fd;

	if (asprintf(&path, "%s/" SUMMARY_NAME, dir) < 0) {
		log_err("out of memory");
		return -ENOMEM;
	}
	fd = own_files_open(path);
	if (fd < 0) {
		log_no_recording(dir, path, fd);
		free(path);
		return fd;
	}
	json_text_watch();
	*out = json_load_callback(read_some, &fd, JSON_REJECT_DUPLICATES, &why);
	lacked = !*out && json_text_lacked();
	if (lacked)
		log_err("cannot read '%s': out of memory", path);
	else if (!*out)
		log_err("'%s' is no recording of perfrec: %s line %d: %s", dir,
			path, why.line, why.text);
	close(fd);
	free(path);
	if (lacked)
		return -ENOMEM;
	return *out ? 0 : -EBADMSG;
}

int summary_from_document(void *document, struct summary **out)
{
	struct summary *summary = calloc(1, sizeof(*summary));
	int err;

	if (!summary) {
		json_decref(document);
		return -ENOMEM;
	}
	err = read_document(document, summary);
	if (err) {
		summary_free(&summary);
		return err;
	}
	summary_sort(summary, SUMMARY_BY_SELF);
	*out = summary;
	return 0;
}

int summary_read(const char *dir, struct summary **out)
{
	json_t *document = NULL;
	int err = load_json(dir, &document);

	if (err)
		return err;
	err = summary_from_document(document, out);
	if (err == -EBADMSG)
		log_err("'%s' is no recording of perfrec: its " SUMMARY_NAME " "
			"holds something else",
			dir);
	if (err == -ENOMEM)
		log_err("'%s': out of memory", dir);
	return err;
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
	free(dead->async);
	free(dead->files);
	free(dead);
	*summary = NULL;
}

bool summary_time_is_sampled(const struct summary *summary)
{
	const char *from = summary->totals.time_from;

	return from && strcmp(from, "samples") == 0;
}

void summary_use_recorded(struct summary *summary)
{
	if (!summary_time_is_sampled(summary))
		return;
	summary->totals.time_from = "calls";
	for (size_t i = 0; i < summary->function_count; i++) {
		struct summary_function *one = &summary->functions[i];

		one->self_ns = one->recorded_self_ns;
		one->self_error_ns = one->total_error_ns = 0;
		one->total_ns = one->recorded_total_ns;
	}
}

void summary_use_measured(struct summary *summary)
{
	summary_use_recorded(summary);
	for (size_t i = 0; i < summary->function_count; i++) {
		struct summary_function *one = &summary->functions[i];

		/* An older perfrec wrote no other times. */
		if (!one->measured_total_ns)
			continue;
		one->self_ns = one->measured_self_ns;
		one->self_error_ns = 0;
		one->total_ns = one->measured_total_ns;
	}
}

static int compare_function_names(const void *left, const void *right)
{
	const struct summary_function *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->module, b->module);
}

#define DEFINE_LARGEST_FIRST(field, then)                               \
	static int compare_##field(const void *left, const void *right) \
	{                                                               \
		const struct summary_function *a = left, *b = right;    \
                                                                        \
		if (a->field != b->field)                               \
			return a->field < b->field ? 1 : -1;            \
		return then(a, b);                                      \
	}
/* The same for a time that may be unknown. */
#define DEFINE_KNOWN_FIRST(field)                                              \
	static int compare_##field(const void *left, const void *right)        \
	{                                                                      \
		const struct summary_function *a = left, *b = right;           \
		/* Unknown wraps to 0. */                                      \
		uint64_t x = a->field + 1, y = b->field + 1;                   \
                                                                               \
		return x != y ? x < y ? 1 : -1 : compare_function_names(a, b); \
	}
DEFINE_LARGEST_FIRST(self_ns, compare_function_names)
DEFINE_LARGEST_FIRST(total_ns, compare_function_names)
DEFINE_LARGEST_FIRST(calls, compare_function_names)
DEFINE_LARGEST_FIRST(on_cpu_self_ns, compare_self_ns)
DEFINE_LARGEST_FIRST(runnable_self_ns, compare_self_ns)
DEFINE_LARGEST_FIRST(blocked_self_ns, compare_self_ns)
DEFINE_LARGEST_FIRST(switches, compare_self_ns)
DEFINE_KNOWN_FIRST(median_ns)
DEFINE_KNOWN_FIRST(p99_ns)
DEFINE_KNOWN_FIRST(max_ns)

bool summary_knows_durations(const struct summary *summary)
{
	for (size_t i = 0; i < summary->function_count; i++)
		if (summary->functions[i].max_ns != COUNTER_UNKNOWN)
			return true;
	return false;
}

uint64_t summary_trace_bytes(const struct summary *summary)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < summary->file_count; i++)
		if (!strcmp(summary->files[i].name, TRACE_NAME))
			bytes = summary->files[i].bytes;
	return bytes ? MAX(bytes, summary->totals.trace_unpacked_bytes) : 0;
}

void summary_sort(struct summary *summary, enum summary_order order)
{
	static int (*const compare[])(const void *, const void *) = {
		[SUMMARY_BY_USUAL] = compare_self_ns,
		[SUMMARY_BY_SELF] = compare_self_ns,
		[SUMMARY_BY_TOTAL] = compare_total_ns,
		[SUMMARY_BY_CALLS] = compare_calls,
		[SUMMARY_BY_NAME] = compare_function_names,
		[SUMMARY_BY_MEDIAN] = compare_median_ns,
		[SUMMARY_BY_P99] = compare_p99_ns,
		[SUMMARY_BY_MAX] = compare_max_ns,
		[SUMMARY_BY_ON_CPU] = compare_on_cpu_self_ns,
		[SUMMARY_BY_RUNNABLE] = compare_runnable_self_ns,
		[SUMMARY_BY_BLOCKED] = compare_blocked_self_ns,
		[SUMMARY_BY_SWITCHES] = compare_switches,
	};

	qsort(summary->functions, summary->function_count,
	      sizeof(*summary->functions), compare[order]);
}

void summary_sort_busy_first(struct summary *summary, uint64_t least_ns)
{
	size_t busy = 0;

	summary_sort(summary, SUMMARY_BY_ON_CPU);
	while (busy < summary->function_count &&
	       summary->functions[busy].on_cpu_self_ns >= least_ns)
		busy++;
	qsort(&summary->functions[busy], summary->function_count - busy,
	      sizeof(*summary->functions), compare_self_ns);
}

static json_t *first_functions(const struct summary *summary, size_t count)
{
	json_t *functions = json_array();
	char text[NAME_FOLD_BYTES];

	for (size_t i = 0; i < count; i++) {
		/* A copy, because the document must not change. */
		json_t *function = json_copy(summary->functions[i].document);

		name_fold(summary->functions[i].name, text);
		if (json_object_set_new(function, "short", json_text(text)) ||
		    json_array_append_new(functions, function)) {
			json_decref(functions);
			return NULL;
		}
	}
	return functions;
}

int summary_write_json(const struct summary *summary, size_t limit, FILE *out)
{
	size_t all = summary->function_count;
	/* A copy: the strings of @summary live in the document, which must not
	 * change. */
	json_t *copy = json_copy(summary->document);
	bool done = !json_object_set_new(copy, "version",
					 json_integer(SUMMARY_VERSION)) &&
		    !json_object_set_new(
			    copy, "functions",
			    first_functions(summary,
					    limit ? MIN(all, limit) : all)) &&
		    !json_text_write(copy, JSON_INDENT(1), out) &&
		    fputc('\n', out) != EOF && !fflush(out);

	json_decref(copy);
	return done ? 0 : -EIO;
}
