/* SPDX-License-Identifier: Apache-2.0
 *
 * One function for each object of the file, in the order of the file.
 * counters.def lists the figures in "totals", "cost" and "functions".
 * summary_read.c reads this file.
 */
#include "collector/files/summary_write.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/base/clock.h"
#include "collector/base/histogram.h"
#include "collector/base/json_text.h"
#include "collector/base/path.h"
#include "collector/files/flight_recorder.h"
#include "collector/files/summary_cost.h"
#include "collector/heap/heap_files.h"
#include "collector/options/collect_options.h"
#include "collector/output/counters.h"
#include "collector/output/own_files.h"
#include "collector/profile/async_table.h"
#include "collector/profile/function_table.h"
#include "collector/record/cpu_account.h"
#include "collector/record/recording.h"
#include "collector/record/who.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"

static json_t *known_number_json(bool known, uint64_t value)
{
	return known ? json_number(value) : json_null();
}

/* Returns the words of a command line, each with a NUL behind it. */
static json_t *words_json(const char *cmdline, size_t bytes)
{
	json_t *list = json_array();
	size_t at = 0;

	while (at + 1 < bytes) {
		json_array_append_new(list, json_text(cmdline + at));
		at += strlen(cmdline + at) + 1;
	}
	return list;
}

static json_t *summary_command_json(const struct recording *recording)
{
	char *const *argument = recording_setup(recording)->options->command;
	const struct process_entry *first =
		recording_sums(recording)->processes;
	json_t *list;

	if (!argument)
		return first ? words_json(first->cmdline, first->cmdline_bytes)
			     : json_array();
	list = json_array();
	for (; *argument; argument++)
		json_array_append_new(list, json_text(*argument));
	return list;
}

static json_t *started_json(const struct recording *recording)
{
	time_t seconds = (time_t)recording_setup(recording)->started;
	char buffer[32];
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(buffer, sizeof(buffer), "%Y-%m-%dT%H:%M:%SZ", &utc);
	return json_string(buffer);
}

static json_t *exit_status_json(const struct command_end *end)
{
	if (!end->known)
		return json_null();
	if (WIFSIGNALED(end->wait_status))
		return json_pack("{s:i}", "signal", WTERMSIG(end->wait_status));
	return json_pack("{s:i}", "status", WEXITSTATUS(end->wait_status));
}

static json_t *globs_json(const char *const *glob, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_text(glob[i]));
	return list;
}

static json_t *names_json(uint32_t mask)
{
	json_t *list = json_array();

	for (uint32_t i = 0; mask >> i; i++)
		if (mask >> i & 1)
			json_array_append_new(
				list,
				json_text(collect_options_counter_name(i)));
	return list;
}

static json_t *settings_json(const struct recording *recording,
			     const struct recording_files *files)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct collect_options *options = setup->options;
	const struct filter *filter = &options->filter;
	/* The column value of the rows SETTING() of counters.def uses these
	 * names. */
	const struct summary_settings settings = {
#define SETTING(kind, name, value, text) .name = value,
#include "collector/output/counters.def"
	};

	return counters_to_json(COUNTERS_SETTINGS, &settings);
}

/* Returns why the trace stopped; NULL: it is whole. If the user set no limit,
 * the text says what the limit was, and how to have another. */
static const char *stopped(const struct recording *recording,
			   const struct recording_files *files)
{
	const struct recording_setup *setup = recording_setup(recording);
	int err = files->trace_stopped;

	if (err != TRACE_AT_LIMIT)
		return err ? strerror(-err) : NULL;
	if (setup->options->max_bytes)
		return "--max-size reached";
	return setup->max_bytes < MAX_BYTES_DEFAULT
		       ? "a tenth of the free disk space reached (--max-size "
			 "may allow more)"
		       : "4 GiB reached (--max-size may allow more)";
}

static uint64_t trace_from_ns(const struct recording *recording,
			      const struct recording_files *files)
{
	uint64_t start_ns = recording_setup(recording)->start_ns;
	uint64_t from_ns = files->trace_kept.from_ns;

	return from_ns - MIN(from_ns, start_ns);
}

static uint64_t own_cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return 1000000000ULL * (uint64_t)(usage.ru_utime.tv_sec +
					  usage.ru_stime.tv_sec) +
	       1000ULL * (uint64_t)(usage.ru_utime.tv_usec +
				    usage.ru_stime.tv_usec);
}

/* Returns @blocks, the number of blocks that were freed before their thread
 * allocated another; or COUNTER_UNKNOWN, because a sample of a block does not
 * say what its thread did next. */
static uint64_t temporary(const struct recording *recording, uint64_t blocks)
{
	const struct heap_sums *heap = &recording_sums(recording)->totals.heap;

	return heap->sampled && !heap->exact ? COUNTER_UNKNOWN : blocks;
}

static json_t *summary_totals_json(const struct recording *recording,
				   const struct recording_files *files,
				   const struct summary_cost *cost)
{
	const struct totals *sum = &recording_sums(recording)->totals;
	const struct heap_sums *heap = &sum->heap;
	const struct state_totals *states = &sum->states;
	/* The column value of the rows TOTAL() of counters.def uses these
	 * names. */
	const struct summary_totals totals = {
#define TOTAL(section, kind, name, value, said, text) .name = value,
#include "collector/output/counters.def"
	};

	return counters_to_json(COUNTERS_TOTALS, &totals);
}

static json_t *threads_json(const struct thread_entry *entry)
{
	json_t *list = json_array();

	for (; entry; entry = entry->next) {
		/* The column value of the rows THREAD() uses this name. */
		const struct summary_thread thread = {
#define THREAD(kind, name, value, text) .name = value,
#include "collector/output/counters.def"
		};

		json_array_append_new(
			list, counters_to_json(COUNTERS_THREAD, &thread));
	}
	return list;
}

static json_t *processes_json(const struct recording *recording)
{
	static const char *const ended[] = { "running", "exit", "exec",
					     "broken" };
	const struct recording_sums *sums = recording_sums(recording);
	uint64_t now_ns = clock_boottime_ns();
	json_t *list = json_array();

	for (const struct process_entry *entry = sums->processes; entry;
	     entry = entry->next) {
		/* The column value of the rows PROCESS() uses these names. */
		const struct summary_process process = {
#define PROCESS(kind, name, value, text) .name = value,
#include "collector/output/counters.def"
		};

		json_array_append_new(
			list, counters_to_json(COUNTERS_PROCESS, &process));
	}
	return list;
}

static json_t *refused_json(const struct recording *recording)
{
	const struct recording_sums *sums = recording_sums(recording);
	json_t *list = json_array();

	for (uint32_t i = 0; i < sums->refused_count; i++) {
		const struct refused_entry *entry = &sums->refused[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o}", "why", entry->why,
				  "programs", json_number(entry->programs),
				  "name", json_text(entry->name)));
	}
	return list;
}

static json_t *went_on_json(const struct recording *recording)
{
	const struct recording_sums *sums = recording_sums(recording);
	json_t *list = json_array();

	for (const struct went_on_entry *entry = sums->went_on; entry;
	     entry = entry->next)
		json_array_insert_new(list, 0,
				      json_pack("{s:i, s:o}", "pid",
						(int)entry->pid, "name",
						json_text(entry->name)));
	return list;
}

/* Returns the processes without a sample of CPU time, one row for each
 * command. */
static json_t *unsampled_json(const struct cpu_sum *sum)
{
	json_t *list = json_array();

	for (size_t i = 0; sum && i < sum->rows; i++) {
		const struct cpu_row *row = &sum->row[i];

		json_array_append_new(
			list,
			json_pack("{s:o, s:b, s:o, s:o}", "name",
				  json_text(row->name), "short", row->is_short,
				  "count", json_number(row->count), "cpu_ns",
				  json_number(row->ns)));
	}
	return list;
}

static uint64_t known_faults(const struct recording *recording, uint64_t faults)
{
	return recording_sums(recording)->totals.faults ? faults
							: COUNTER_UNKNOWN;
}

static json_t *counters_json(const struct recording *recording,
			     const struct function_total *one)
{
	uint32_t mask = recording_sums(recording)->totals.counters;
	json_t *list = json_array();
	size_t place = 0;

	for (uint32_t i = 0; mask >> i; i++) {
		if (!(mask >> i & 1))
			continue;
		json_array_append_new(
			list,
			json_pack(
				"{s:s, s:o, s:o}", "name",
				collect_options_counter_name(i), "self",
				json_number(one->kernel_self.counter[place]),
				"total",
				json_number(one->kernel_total.counter[place])));
		place++;
	}
	return list;
}

static const char *function_state(const struct function_total *one)
{
	static const char *const states[] = { "span", "counted", "off" };

	return one->calls || one->state != TOLD_SPAN || one->late
		       ? states[one->state]
		       : "none";
}

static json_t *summary_functions_json(struct recording *recording,
				      const struct recording_files *files)
{
	size_t count;
	struct bytes texts = { 0 };
	const struct function_total *totals =
		recording_sort_functions(recording, &count);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct function_total *one = &totals[i];
		const struct histogram *durations = one->durations;
		const char *buckets = NULL;
		bool known = function_table_knows_durations(one);

		bytes_clear(&texts);
		if (known) {
			histogram_text(durations, &texts);
			bytes_put(&texts, "", 1);
			known = !texts.failed;
		}
		if (known)
			buckets = (const char *)texts.at;
		/* The column value of the rows FUNCTION() uses these names. */
		const struct summary_function function = {
#define FUNCTION(kind, name, value, text) .name = value,
#include "collector/output/counters.def"
		};

		json_array_append_new(
			list, counters_to_json(COUNTERS_FUNCTION, &function));
	}
	bytes_release(&texts);
	return list;
}

static json_t *async_json(struct recording *recording)
{
	size_t count;
	const struct async_total *totals =
		recording_sort_async(recording, &count);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct async_total *one = &totals[i];
		/* The column value of the rows ASYNC() uses this name. */
		const struct summary_async async = {
#define ASYNC(kind, name, value, text) .name = value,
#include "collector/output/counters.def"
		};

		json_array_append_new(list,
				      counters_to_json(COUNTERS_ASYNC, &async));
	}
	return list;
}

static json_t *summary_notes_json(const struct recording *recording)
{
	const struct recording_sums *sums = recording_sums(recording);
	json_t *list = json_array();

	for (uint32_t i = 0; i < sums->notes; i++)
		json_array_append_new(list, json_text(sums->note[i]));
	return list;
}

static json_t *files_list_json(const struct recording_files *files)
{
	const struct {
		const char *name;
		uint64_t bytes;
		bool exists;
	} rows[] = {
		{ files->trace_name, files->trace_bytes, files->trace_name },
		{ files->profile_name, files->profile_bytes,
		  files->profile_name },
		{ CPU_PROFILE_NAME, files->cpu_profile_bytes,
		  files->cpu_profile_bytes },
		{ OFFCPU_PROFILE_NAME, files->offcpu_profile_bytes,
		  files->offcpu_profile_bytes },
		{ HEAP_PROFILE_NAME, files->heap_profile_bytes,
		  files->heap_profile_bytes },
		{ HEAP_PEAK_NAME, files->heap_peak_bytes,
		  files->heap_peak_bytes },
		{ SPAN_PROFILE_NAME, files->span_profile_bytes,
		  files->span_profile_bytes },
	};
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].exists)
			json_array_append_new(
				list,
				json_pack("{s:s, s:o}", "name", rows[i].name,
					  "bytes", json_number(rows[i].bytes)));
	return list;
}

static json_t *snapshots_json(struct recording *recording)
{
	uint32_t count = flight_recorder_sums(recording).folder.count;
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(
			list, json_text(flight_recorder_name(recording, i)));
	return list;
}

/* Returns the ns that the command ran; for a program that attached, until the
 * last of its processes ended. */
static uint64_t wall_time_ns(const struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct recording_sums *sums = recording_sums(recording);
	const struct command_end *end = &sums->command_end;
	uint64_t last_ns = 0;

	if (end->known)
		return end->end_ns - end->start_ns;
	for (const struct process_entry *entry = sums->processes; entry;
	     entry = entry->next)
		last_ns = MAX(last_ns, entry->end_ns ? entry->end_ns
						     : clock_boottime_ns());
	return MAX(last_ns, setup->start_ns) - setup->start_ns;
}

static json_t *summary_json(struct recording *recording,
			    const struct recording_files *files)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct command_end *end = &recording_sums(recording)->command_end;
	uint64_t wall = wall_time_ns(recording);
	struct summary_cost cost;
	json_t *root = json_object();

	summary_cost(recording, &files->costs, wall, &cost);
	json_object_set_new(root, "perfrec",
			    json_pack("{s:s, s:i}", "version", PERFREC_VERSION,
				      "wire", (int)WIRE_VERSION));
	json_object_set_new(root, "version", json_integer(SUMMARY_VERSION));
	/* Near the start of the file, where own_files_is_named() searches. */
	if (setup->options->control_fd < 0)
		json_object_set_new(root, "folder",
				    json_text(path_name(setup->path)));
	json_object_set_new(root, "command", summary_command_json(recording));
	json_object_set_new(root, "resource", who_json(recording));
	json_object_set_new(root, "started", started_json(recording));
	json_object_set_new(root, "wall_ns", json_number(wall));
	json_object_set_new(root, "user_ns",
			    known_number_json(end->known, end->user_ns));
	json_object_set_new(root, "sys_ns",
			    known_number_json(end->known, end->sys_ns));
	json_object_set_new(root, "exit", exit_status_json(end));
	json_object_set_new(root, "settings", settings_json(recording, files));
	json_object_set_new(root, "totals",
			    summary_totals_json(recording, files, &cost));
	json_object_set_new(root, "cost",
			    counters_to_json(COUNTERS_COST, &cost));
	json_object_set_new(root, "processes", processes_json(recording));
	json_object_set_new(root, "refused", refused_json(recording));
	json_object_set_new(root, "went_on", went_on_json(recording));
	json_object_set_new(root, "unsampled_processes",
			    unsampled_json(files->cpu_sum));
	json_object_set_new(root, "functions",
			    summary_functions_json(recording, files));
	json_object_set_new(root, "async", async_json(recording));
	json_object_set_new(root, "files", files_list_json(files));
	json_object_set_new(root, "snapshots", snapshots_json(recording));
	json_object_set_new(root, "notes", summary_notes_json(recording));
	return root;
}

int summary_write(struct recording *recording,
		  const struct recording_files *files)
{
	int dir_fd = recording_setup(recording)->dir_fd;
	int fd = own_files_create(dir_fd, SUMMARY_NAME, 0);
	json_t *root;
	int err;

	if (fd < 0)
		return fd;
	json_text_watch();
	root = summary_json(recording, files);
	err = json_text_write_fd(root, fd);
	json_decref(root);
	/* One without some of its figures would say that they are unknown. */
	if (json_text_lacked())
		err = -ENOMEM;
	if (!err)
		return own_files_keep(dir_fd, SUMMARY_NAME);
	own_files_discard(dir_fd, SUMMARY_NAME);
	return err;
}
