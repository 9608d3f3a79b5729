/* SPDX-License-Identifier: Apache-2.0
 *
 * windows - sums up each profile again for each window, from ended and running
 * threads; window_profile.h computes the difference from the last window. So no
 * other module needs to know windows, and after a failed window the next one
 * contains its data.
 */
#include "collector/files/windows.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/base/clock.h"
#include "collector/base/json_text.h"
#include "collector/files/push_spool.h"
#include "collector/files/snapshot.h"
#include "collector/heap/heap_files.h"
#include "collector/options/collect_options.h"
#include "collector/output/comments.h"
#include "collector/output/own_files.h"
#include "collector/profile/window_profile.h"
#include "collector/record/recording.h"
#include "collector/record/who.h"
#include "collector/samples/samples.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define SECOND_NS 1000000000u

/* A profile of a window. */
static const struct kind {
	const char *name;
	enum window_source source;
	const struct window_view *view;
} kinds[] = {
	{ "cpu", SOURCE_CPU, &window_view_cpu },
	{ "wall", SOURCE_WALL, &window_view_wall },
	{ "off_cpu", SOURCE_WAITS, &window_view_off_cpu },
	{ "mutex", SOURCE_WAITS, &window_view_mutex },
	{ "block", SOURCE_WAITS, &window_view_block },
	{ "memory", SOURCE_HEAP, &window_view_memory },
};

struct windows {
	uint64_t number; /* of the recording: no other has it */
	uint64_t begin_ns; /* of the next window, UNIX time */
	struct stack_profile *profile[SOURCES]; /* NULL: it has none */
};

/* A window that is being made. */
struct window {
	struct recording *recording;
	const struct recording_setup *setup;
	struct windows *windows;
	uint64_t end_ns;
	bool given[SOURCES]; /* there are sums */
};

/* --- life ---------------------------------------------------------------- */

static void windows_free(struct windows *windows)
{
	for (size_t i = 0; i < SOURCES; i++)
		stack_profile_free(&windows->profile[i]);
	free(windows);
}

/* 0 or -ENOMEM. */
static int new_profiles(const struct recording_setup *setup,
			struct windows *windows)
{
	const struct recording_profiles *profiles = &setup->profiles;
	const struct {
		const struct stack_profile *of;
		const struct stack_profile_kind *kind;
	} sources[SOURCES] = {
		[SOURCE_CPU] = { profiles->cpu, &stack_profile_cpu },
		[SOURCE_WALL] = { profiles->wall, &stack_profile_wall },
		[SOURCE_WAITS] = { profiles->offcpu, &stack_profile_offcpu },
		[SOURCE_HEAP] = { profiles->heap, &stack_profile_heap },
	};
	int err = 0;

	for (size_t i = 0; i < SOURCES && !err; i++)
		if (sources[i].of)
			err = window_profile_new(sources[i].kind,
						 setup->symbols, setup->budget,
						 &windows->profile[i]);
	return err;
}

/* Returns the windows of @recording, which the first call makes. NULL: no
 * memory. */
static struct windows *windows_of(struct recording *recording)
{
	static uint64_t last_number;
	const struct recording_setup *setup = recording_setup(recording);
	struct windows *made = *recording_windows(recording);

	if (made)
		return made;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	/* relaxed: only that it is never given twice matters */
	made->number = atom_add_rlx(&last_number, 1) + 1;
	made->begin_ns = clock_read_ns(CLOCK_REALTIME) -
			 (clock_boottime_ns() - setup->start_ns);
	if (new_profiles(setup, made) == 0) {
		*recording_windows(recording) = made;
		return made;
	}
	windows_free(made);
	return NULL;
}

/* --- profiles of a window ------------------------------------------------ */

/* The profile counts stacks without room. */
static void give_window_sums(struct window *window, enum window_source source,
			     const struct stack_profile *from)
{
	struct stack_profile *profile = window->windows->profile[source];

	if (!profile)
		return;
	window_profile_begin(profile);
	(void)window_profile_add(profile, from, NULL);
	window->given[source] = true;
}

/* Sets @cpu and @waits, which may be NULL, to the sums of samples up to now. */
static void sum_samples(struct recording *recording, struct sampler *sampler,
			struct stack_profile *cpu, struct stack_profile *waits)
{
	const struct recording_setup *setup = recording_setup(recording);

	if (cpu)
		window_profile_begin(cpu);
	if (waits)
		window_profile_begin(waits);
	if (sampler && (cpu || waits))
		sampler_look(sampler, recording, cpu, waits);
	if (waits)
		(void)window_profile_add(waits, setup->profiles.offcpu_rest,
					 NULL);
}

bool windows_sum(struct recording *recording, struct sampler *sampler,
		 enum window_source source, struct stack_profile *out)
{
	if (source == SOURCE_HEAP)
		return heap_files_sum(recording, out);
	sum_samples(recording, sampler, source == SOURCE_CPU ? out : NULL,
		    source == SOURCE_WAITS ? out : NULL);
	return true;
}

/* --- its files ----------------------------------------------------------- */

void windows_program(struct recording *recording, char name[16])
{
	const struct recording_sums *sums = recording_sums(recording);

	name[0] = '\0';
	recording_lock(recording);
	if (sums->processes)
		snprintf(name, 16, "%s", sums->processes->name);
	recording_unlock(recording);
}

/* Appends a line to @out that describes the window. Returns 0 or -ENOMEM. */
static int put_window_meta(const struct window *window, json_t *profiles,
			   struct bytes *out)
{
	const struct windows *windows = window->windows;
	json_t *meta = json_object();
	char program[16], *text = NULL;

	windows_program(window->recording, program);
	json_text_watch();
	json_object_set_new(meta, "version", json_integer(2));
	json_object_set_new(meta, "start_unix_ns",
			    json_integer((json_int_t)windows->begin_ns));
	json_object_set_new(
		meta, "duration_ns",
		json_integer((json_int_t)(window->end_ns - windows->begin_ns)));
	json_object_set_new(meta, "program", json_text(program));
	json_object_set_new(meta, "hz",
			    json_integer(window->setup->options->cpu_hz));
	if (json_object_set_new(meta, "resource",
				who_json(window->recording)) == 0 &&
	    json_object_set(meta, "profiles", profiles) == 0 &&
	    !json_text_lacked())
		text = json_dumps(meta, JSON_COMPACT);
	json_decref(meta);
	if (!text)
		return -ENOMEM;
	bytes_put(out, text, strlen(text));
	bytes_put(out, "\n", 1);
	free(text);
	return 0;
}

uint64_t windows_period(const struct collect_options *options,
			enum window_source source)
{
	if (source == SOURCE_CPU)
		return SECOND_NS / options->cpu_hz;
	return source == SOURCE_HEAP && options->alloc == ALLOC_SAMPLED
		       ? options->alloc_period
		       : 1;
}

/* Appends the profile of @kind to @out, and its row to @profiles. Returns 0 or
 * -errno. */
static int put_window_kind(const struct window *window, const struct kind *kind,
			   struct bytes *out, json_t *profiles)
{
	char program[16];
	const struct stack_profile_header header = {
		.start_ns = window->windows->begin_ns,
		.duration_ns = window->end_ns - window->windows->begin_ns,
		.period = windows_period(window->setup->options, kind->source),
		.program = program,
	};
	size_t before = out->count;
	int err;

	windows_program(window->recording, program);
	err = window_profile_pack(window->windows->profile[kind->source],
				  kind->view, &header, out);
	if (!err && json_array_append_new(
			    profiles,
			    json_pack("{s:s,s:I}", "kind", kind->name, "bytes",
				      (json_int_t)(out->count - before))) < 0)
		err = -ENOMEM;
	return err;
}

/* Writes the window, as the file @name of the spool. Returns 0 or -errno. */
static int write_window_bytes(const struct window *window,
			      const char name[WINDOW_NAME_BYTES])
{
	struct bytes file = { 0 }, profiles = { 0 };
	json_t *list = json_array();
	int err = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !err; i++) {
		enum window_source source = kinds[i].source;

		if (window->given[source] &&
		    window_profile_has(window->windows->profile[source],
				       kinds[i].view))
			err = put_window_kind(window, &kinds[i], &profiles,
					      list);
	}
	if (!err)
		err = put_window_meta(window, list, &file);
	bytes_put(&file, profiles.at, profiles.count);
	/* Counts a window without memory as failed. */
	file.failed |= err || profiles.failed;
	json_decref(list);
	bytes_release(&profiles);
	err = push_spool_put(window->setup->push, name, &file);
	bytes_release(&file);
	return err;
}

static void write_window(struct window *window)
{
	struct windows *windows = window->windows;
	char name[WINDOW_NAME_BYTES];
	bool any = false;
	int err;

	for (size_t i = 0; i < SOURCES; i++)
		if (window->given[i])
			any |= window_profile_end(windows->profile[i]);
	if (!any) {
		windows->begin_ns = window->end_ns;
		return;
	}
	snprintf(name, sizeof(name), "%" PRIu64 "-%" PRIu64, windows->begin_ns,
		 windows->number);
	err = write_window_bytes(window, name);
	recording_say_unwritten(window->recording, PUSH_NAME, err);
	if (err)
		return;
	/* The next window begins where these sums end. */
	for (size_t i = 0; i < SOURCES; i++)
		if (window->given[i])
			window_profile_keep(windows->profile[i]);
	windows->begin_ns = window->end_ns;
}

/* Begins *@out. Returns false if the window is of no time, or if there is no
 * room for it, or no memory. */
static bool begin_window(struct recording *recording, uint64_t end_ns,
			 struct window *out)
{
	uint64_t every_ns =
		recording_setup(recording)->options->push.interval_ns;

	*out = (struct window){ .recording = recording,
				.setup = recording_setup(recording),
				.windows = windows_of(recording) };
	if (!out->windows)
		return false;
	/* A clock was set back. */
	if (end_ns + every_ns <= out->windows->begin_ns)
		out->windows->begin_ns = end_ns - every_ns;
	out->end_ns = end_ns;
	return end_ns > out->windows->begin_ns &&
	       push_spool_has_room(out->setup->push);
}

/* Asks the sampler once for all its sums, because each request wakes two
 * threads. */
static void give_sums(struct window *window, struct sampler *sampler)
{
	struct stack_profile *const *profile = window->windows->profile;

	sum_samples(window->recording, sampler, profile[SOURCE_CPU],
		    profile[SOURCE_WAITS]);
	window->given[SOURCE_CPU] = profile[SOURCE_CPU];
	window->given[SOURCE_WAITS] = profile[SOURCE_WAITS];
	window->given[SOURCE_HEAP] =
		profile[SOURCE_HEAP] &&
		heap_files_sum(window->recording, profile[SOURCE_HEAP]);
}

void windows_write(struct recording *recording, struct sampler *sampler,
		   struct snapshot *snapshot, uint64_t end_ns)
{
	struct stack_profile *wall = NULL;
	struct window window;

	/* Another snapshot may begin, even if there is no room for a window. */
	if (snapshot)
		wall = snapshot_take(&snapshot);
	if (begin_window(recording, end_ns, &window)) {
		give_sums(&window, sampler);
		if (wall)
			give_window_sums(&window, SOURCE_WALL, wall);
		write_window(&window);
	}
	stack_profile_free(&wall);
}

void windows_finish(struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);
	const struct recording_profiles *profiles = &setup->profiles;
	struct window window;

	if (!setup->push)
		return;
	if (begin_window(recording, clock_read_ns(CLOCK_REALTIME), &window)) {
		give_window_sums(&window, SOURCE_CPU, profiles->cpu);
		give_window_sums(&window, SOURCE_WALL, profiles->wall);
		/* With offcpu_rest: offcpu_profile_write() has added that. */
		give_window_sums(&window, SOURCE_WAITS, profiles->offcpu);
		give_window_sums(&window, SOURCE_HEAP, profiles->heap);
		write_window(&window);
	}
	if (*recording_windows(recording))
		windows_free(*recording_windows(recording));
	*recording_windows(recording) = NULL;
}
