/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/recording_finish.h"
#include "collector/options/name_near.h"
#include "collector/options/trigger.h"
#include "collector/record/triggers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/clock.h"
#include "collector/base/log.h"
#include "collector/cut/reindex.h"
#include "collector/files/cpu_profile.h"
#include "collector/files/flight_recorder.h"
#include "collector/files/offcpu_profile.h"
#include "collector/files/sampled_times.h"
#include "collector/files/snapshot.h"
#include "collector/files/summary_write.h"
#include "collector/files/time_check.h"
#include "collector/files/wall_profile.h"
#include "collector/files/windows.h"
#include "collector/heap/heap_files.h"
#include "collector/names/filter_matches.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/output/own_files.h"
#include "collector/output/unwritten.h"
#include "collector/profile/function_table.h"
#include "collector/profile/stack_profile.h"
#include "collector/record/recording.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file.h"

#define MISSING_MAX 4

/* All marks in one packet: readers take the last count they find for that of
 * the whole trace. */
static void write_losses(struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct recording_sums *sums = recording_sums(recording);
	const struct totals *totals = &sums->totals;
	size_t count = 0, size = OUT_LOSSES_BYTES(sums->lossy_count);
	uint32_t *marked;
	uint8_t *packet;

	/* A mark must follow all packets of its sequence, and needs at least
	 * one: the trace may have stopped before. */
	trace_file_flush(setup->trace);
	marked = calloc(sums->lossy_count + 1, sizeof(*marked));
	packet = malloc(size);
	for (uint32_t i = 0; marked && i < sums->lossy_count; i++)
		if (trace_file_has(setup->trace, sums->lossy[i]))
			marked[count++] = sums->lossy[i];
	if (packet && count)
		trace_file_append_last(
			setup->trace, packet,
			out_perfetto_losses(packet, size, marked, count,
					    totals->dropped_spans +
						    totals->truncated_spans));
	free(packet);
	free(marked);
}

/* For recordings with blocks. */
static void write_heap(struct recording *recording, uint64_t duration_ns,
		       struct recording_files *files,
		       struct unwritten *unwritten)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct heap_sums *sum = &recording_sums(recording)->totals.heap;

	if (!setup->profiles.heap || !(sum->exact + sum->sampled))
		return;
	unwritten_add(unwritten, HEAP_PROFILE_NAME,
		      heap_files_write(recording, setup->profiles.heap, sum,
				       duration_ns, HEAP_PROFILE_NAME,
				       &files->heap_profile_bytes));
	unwritten_add(unwritten, HEAP_PEAK_NAME,
		      heap_files_write(recording, setup->profiles.heap_peak,
				       sum, duration_ns, HEAP_PEAK_NAME,
				       &files->heap_peak_bytes));
}

static void write_wall(struct recording *recording, uint64_t duration_ns,
		       struct recording_files *files,
		       struct unwritten *unwritten)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct totals *totals = &recording_sums(recording)->totals;
	uint64_t lost = totals->dropped_spans + totals->unslotted_spans +
			totals->vfork_spans + totals->muted_spans +
			totals->edge_spans;
	struct stat status;
	int err = wall_profile_write(recording, setup->profiles.wall,
				     duration_ns, lost, WALL_PROFILE_NAME);

	unwritten_add(unwritten, WALL_PROFILE_NAME, err);
	if (err)
		return;
	files->profile_name = WALL_PROFILE_NAME;
	if (fstatat(setup->dir_fd, WALL_PROFILE_NAME, &status, 0) == 0)
		files->profile_bytes = (uint64_t)status.st_size;
}

static void write_recording_profiles(struct recording *recording,
				     struct recording_files *files,
				     struct unwritten *unwritten)
{
	const struct recording_sums *sums = recording_sums(recording);
	const struct recording_profiles *profiles =
		&recording_setup(recording)->profiles;
	const struct command_end *end = &sums->command_end;
	uint64_t counted = sums->totals.counted_calls;
	uint64_t duration_ns =
		clock_boottime_ns() - recording_setup(recording)->start_ns;

	if (end->known)
		duration_ns = end->end_ns - end->start_ns;
	/* First, as it is what tells how many samples there are. */
	unwritten_add(unwritten, CPU_PROFILE_NAME,
		      cpu_profile_write(recording, duration_ns, &files->cpu_sum,
					&files->cpu_profile_bytes));
	unwritten_add(unwritten, OFFCPU_PROFILE_NAME,
		      offcpu_profile_write(recording, duration_ns,
					   &files->offcpu_profile_bytes));
	/* Times that are written from now on are without what perfrec took. */
	own_costs_measure(recording, &files->costs);
	recording_correct_functions(recording, &files->costs.costs,
				    &files->costs.sums);
	if (profiles->wall)
		stack_profile_set_costs(profiles->wall, &files->costs.costs,
					counted);
	if (profiles->span)
		stack_profile_set_costs(profiles->span, &files->costs.costs,
					counted);
	files->time_from = sampled_times_take(recording);
	time_check(recording);
	write_wall(recording, duration_ns, files, unwritten);
	write_heap(recording, duration_ns, files, unwritten);
	if (profiles->span && sums->totals.spans)
		unwritten_add(unwritten, SPAN_PROFILE_NAME,
			      heap_files_write(recording, profiles->span,
					       &sums->totals.heap, duration_ns,
					       SPAN_PROFILE_NAME,
					       &files->span_profile_bytes));
}

/* Sets @text to " (did you mean 'f'?)" with the function whose name is nearest
 * to that of @trigger, or to "". */
static void name_nearest(const struct trigger *trigger,
			 const struct function_total *function, size_t count,
			 char *text, size_t room)
{
	const char **names = calloc(MAX(count, 1), sizeof(*names));
	char *near = NULL;

	for (size_t i = 0; names && i < count; i++)
		names[i] = function[i].name;
	if (names)
		near = name_near(trigger->name, names, count);
	text[0] = '\0';
	if (near)
		snprintf(text, room, " (did you mean '%.80s'?)", near);
	free(near);
	free(names);
}

static void note_missing_triggers(struct recording *recording)
{
	const struct triggers *triggers = recording_setup(recording)->triggers;
	const struct function_total *function;
	const struct trigger *trigger;
	char text[256], near[128] = "";
	size_t functions, at = 0;
	int count = 0;

	function = recording_functions(recording, &functions);
	while (count++ < MISSING_MAX &&
	       (trigger = triggers_missing(triggers, &at))) {
		bool of_calls = trigger->kind == TRIGGER_CALL ||
				trigger->kind == TRIGGER_P99;

		if (of_calls)
			name_nearest(trigger, function, functions, near,
				     sizeof(near));
		snprintf(text, sizeof(text),
			 "--trigger '%.80s': no %s of this "
			 "name was %s%s.",
			 trigger->text,
			 of_calls			    ? "function"
			 : trigger->kind == TRIGGER_COUNTER ? "counter"
							    : "annotation",
			 of_calls ? "called" : "seen", of_calls ? near : "");
		recording_note(recording, text);
	}
}

static void note_missing_arguments(struct recording *recording)
{
	const struct triggers *triggers = recording_setup(recording)->triggers;
	const struct trigger *trigger;
	const char *argument;
	char text[256];
	size_t at = 0;
	int count = 0;

	while (count++ < MISSING_MAX && (trigger = triggers_missing_argument(
						 triggers, &at, &argument))) {
		snprintf(text, sizeof(text),
			 "--trigger '%.80s': no recorded call had the argument "
			 "'%.80s'; see --args.",
			 trigger->text, argument);
		recording_note(recording, text);
	}
}

/* By option: which functions or files no pattern matched, and where the user
 * finds names; NULL: where those of functions are. */
static const struct {
	const char *lacks, *names;
} missing_texts[FILTER_OPTIONS] = {
	[FILTER_COUNT] = { " that can be counted", NULL },
	[FILTER_ARGS] = { " that --patch moves", NULL },
	[FILTER_CALLS] = { " that a file calls from a library",
			   "'nm -D FILE' has the names, behind a U." },
	[FILTER_PATCH] = { " that the program loads",
			   "'ldd FILE' has the names; the C library stays as "
			   "it is." },
};

static void note_missing(struct recording *recording)
{
	struct filter_matches *matches = recording_setup(recording)->matches;
	const struct function_total *function = NULL;
	const char *pattern, *functions_text;
	enum filter_option option;
	size_t functions = 0, nameless = 0; /* such as "program+0x1159" */
	char text[256];
	size_t at = 0;
	int count = 0;

	if (matches)
		function = recording_functions(recording, &functions);
	/* A library may be gone before its functions are known otherwise. */
	for (size_t i = 0; i < functions; i++) {
		filter_matches_called(matches, function[i].name,
				      function[i].module);
		nameless += strstr(function[i].name, "+0x") != NULL;
	}
	functions_text =
		nameless > functions / 2
			? "functions of a program without symbols have no "
			  "names (build it without strip or -s)."
			: "names are in 'perfrec report', and in 'perfrec ctl "
			  "functions' while the program runs.";
	while (count < MISSING_MAX &&
	       (pattern = filter_matches_missing(matches, &at, &option))) {
		const char *names = missing_texts[option].names;

		/* Without functions there is nothing to match, which another
		 * note says. */
		if (!names && !recording_sums(recording)->totals.states.known)
			continue;
		count++;
		snprintf(text, sizeof(text), "%s '%.80s' matches nothing%s: %s",
			 filter_option_names[option], pattern,
			 missing_texts[option].lacks ?: "",
			 names ?: functions_text);
		recording_note(recording, text);
	}
}

static void note_flight(struct recording *recording)
{
	const struct flight_recorder_sums sums =
		flight_recorder_sums(recording);
	struct totals *totals = recording_lock(recording);

	totals->triggers = sums.triggers;
	totals->lost_triggers = sums.lost;
	totals->snapshots = sums.folder.written;
	totals->removed_snapshots = sums.folder.removed;
	totals->snapshot_bytes = sums.folder.bytes;
	totals->unwritten_snapshots = sums.unwritten;
	totals->flight_kept_ns = sums.kept_ns;
	recording_unlock(recording);
}

/* A trace with --keep last is whole now, and has no index. */
static void look_at_kept(struct recording *recording,
			 struct recording_files *files)
{
	int dir_fd = recording_setup(recording)->dir_fd;
	struct reindex_result result;
	struct stat status;
	char path[64];

	if (fstatat(dir_fd, TRACE_NAME, &status, 0) == 0)
		files->trace_bytes = (uint64_t)status.st_size;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir_fd);
	result = reindex_locked(path, dir_fd, NULL);
	/* Without an index everything is slower, and nothing is wrong. */
	if (result.end != REINDEX_DONE)
		log_dbg("the trace has no index");
}

int recording_finish(struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct recording_sums *sums = recording_sums(recording);
	struct recording_files files = { 0 };
	struct symbol_cache_use use;
	struct totals *totals;
	struct unwritten unwritten = { 0 };

	if (sums->totals.overflowed_stacks)
		log_warn("too many distinct call stacks: %llu calls are "
			 "counted without their callers",
			 (unsigned long long)sums->totals.overflowed_stacks);
	note_missing(recording);
	note_missing_triggers(recording);
	note_missing_arguments(recording);
	write_losses(recording);
	trace_file_flush(setup->trace);
	flight_recorder_finish(recording);
	note_flight(recording);
	recording_lock(recording)->left_out_events =
		trace_file_left_out(setup->trace);
	recording_unlock(recording);
	files.trace_name = setup->flight ? NULL : TRACE_NAME;
	files.trace_bytes = trace_file_bytes(setup->trace);
	files.trace_unpacked_bytes = trace_file_unpacked_bytes(setup->trace);
	files.trace_kept = trace_file_kept(setup->trace);
	files.trace_compressed = trace_file_is_compressed(setup->trace);
	files.trace_stopped = recording_close_trace(recording);
	if (files.trace_stopped < 0) /* its limit is no trouble */
		unwritten_add(&unwritten, TRACE_NAME, files.trace_stopped);
	if (setup->options->keep_last)
		look_at_kept(recording, &files);
	recording_give_room_back(recording);
	write_recording_profiles(recording, &files, &unwritten);
	/* All names have been asked for. */
	use = symbol_cache_use(setup->symbols);
	totals = recording_lock(recording);
	totals->unkept_names = use.unkept_names;
	totals->unkept_tables = use.unkept_tables;
	recording_unlock(recording);
	unwritten_add(&unwritten, SUMMARY_NAME,
		      summary_write(recording, &files));
	windows_finish(recording);
	if (setup->options->sync)
		unwritten_add(&unwritten, "all of it to the disk (--sync)",
			      own_files_sync(setup->dir_fd));
	free(files.cpu_sum);
	snapshot_forget(recording);
	flight_recorder_forget(recording);
	return unwritten_log(&unwritten, setup->path);
}
