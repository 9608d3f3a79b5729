/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/serve/ctl_answer.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/json_text.h"
#include "collector/base/path.h"
#include "collector/options/collect_options.h"
#include "collector/options/ctl_wire.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/family.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/trace/trace_file.h"

#define ERROR_BYTES 1024
#define NAMED_MAX 8 /* sessions named in the error of an ambiguous target */

/* How people identify a session: pid and name of the process that sent hello.
 * After its end, those of the oldest remaining process. If none remains and a
 * child may still come, those of the last one. */
struct face {
	pid_t pid; /* 0: all processes are gone */
	const char *name;
	uint64_t start_ns;
	bool ending, waiting;
};

/* Arena lock held. */
static struct face face_of(struct arena *arena)
{
	const struct kin *kin = family_any(arena_family(arena));
	struct face face = { .name = "", .ending = true };

	if (!arena_first_process(arena) && kin)
		face = (struct face){
			.pid = kin->pid,
			.name = kin->name,
			.start_ns =
				recording_setup(arena_setup(arena)->recording)
					->start_ns,
			.waiting = true
		};
	/* New processes are added at the front, so the last is the oldest. */
	for (const struct process *process = arena_first_process(arena);
	     process; process = process_next(process)) {
		const struct process_setup *setup = process_setup(process);

		face.pid = setup->pid;
		face.name = setup->entry->name;
		face.start_ns = setup->entry->start_ns;
		face.ending = face.ending && process_is_ending(process);
	}
	return face;
}

/* --- targets ------------------------------------------------------------- */

static bool is_target(const struct collector *collector, struct arena *arena,
		      const char *target)
{
	const struct recording_setup *recording =
		recording_setup(arena_setup(arena)->recording);
	bool named = !collector->recording &&
		     !strcmp(path_name(recording->path), target);
	char *end;
	long pid = strtol(target, &end, 10);

	if (*end || !isdigit((unsigned char)*target))
		pid = -1;
	arena_lock(arena);
	for (const struct process *process = arena_first_process(arena);
	     process && !named; process = process_next(process)) {
		const struct process_setup *setup = process_setup(process);

		named = setup->pid == pid ||
			!strcmp(setup->entry->name, target);
	}
	if (!arena_first_process(arena) && !named)
		named = face_of(arena).pid == pid ||
			!strcmp(face_of(arena).name, target);
	arena_unlock(arena);
	return named;
}

static bool is_of_all(struct arena *arena)
{
	bool there;

	arena_lock(arena);
	there = arena_first_process(arena);
	arena_unlock(arena);
	return there || (!arena_is_off(arena) && arena_is_held(arena) > 0);
}

static json_t *ambiguous_target(const char *target, struct arena *const *arena,
				size_t count)
{
	char text[ERROR_BYTES];
	size_t i;
	int length = snprintf(text, sizeof(text),
			      "'%.255s' is more than one:", target);

	for (i = 0; i < count && i < NAMED_MAX; i++) {
		arena_lock(arena[i]);
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "%s %d", i ? "," : "",
				   (int)face_of(arena[i]).pid);
		arena_unlock(arena[i]);
	}
	snprintf(text + length, sizeof(text) - (size_t)length,
		 "%s (give the pid of one)", i < count ? ", ..." : "");
	return ctl_answer_error(text);
}

int ctl_answer_select(struct collector *collector, const char *target,
		      struct arena ***out, size_t *count, json_t **error)
{
	struct arena *arena, **found;
	size_t room = 1, n = 0;

	for (arena = collector->arenas; arena; arena = arena_next(arena))
		room++;
	found = calloc(room, sizeof(struct arena *));
	if (!found)
		return -ENOMEM;
	for (arena = collector->arenas; arena; arena = arena_next(arena))
		if (target[0] ? is_target(collector, arena, target)
			      : is_of_all(arena))
			found[n++] = arena;
	*error = NULL;
	if (target[0] && !n) {
		char text[ERROR_BYTES];

		snprintf(text, sizeof(text),
			 "no program '%s' is being recorded (see perfrec ctl "
			 "list)",
			 target);
		*error = ctl_answer_error(text);
	}
	if (target[0] && n > 1)
		*error = ambiguous_target(target, found, n);
	if (*error) {
		free(found);
		return n ? -EINVAL : -ENOENT;
	}
	*out = found;
	*count = n;
	return 0;
}

/* --- rows of sessions ---------------------------------------------------- */

static void set_string(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_text(text));
}

void ctl_answer_set_path(json_t *object, const char *key, const char *path)
{
	char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0), *absolute;

	/* `perfrec ctl` may run in another folder. */
	if (folder && asprintf(&absolute, "%s/%s", folder, path) >= 0) {
		set_string(object, key, absolute);
		free(absolute);
	} else {
		set_string(object, key, path);
	}
	free(folder);
}

static void set_moment(json_t *object, const char *key, uint64_t ns)
{
	time_t moment =
		time(NULL) - (time_t)((clock_boottime_ns() - ns) / 1000000000);
	char text[32];
	struct tm utc;

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ",
		 gmtime_r(&moment, &utc));
	set_string(object, key, text);
}

static const char *state_of_arena(struct arena *arena, const struct face *face)
{
	if (face->ending || arena_is_off(arena))
		return "ending";
	if (face->waiting)
		return "waiting";
	if (arena_session(arena)->held)
		return "starting";
	return arena_session(arena)->paused ? "paused" : "recording";
}

static json_t *budgets_of(const struct recording *recording)
{
	struct recording_use use[BUDGET_KINDS];
	json_t *budgets = json_array();

	recording_uses(recording, use);
	for (int i = 0; i < BUDGET_KINDS; i++) {
		json_t *budget = json_object();

		set_string(budget, "name", use[i].what);
		ctl_set_number(budget, "bytes", use[i].used);
		ctl_set_number(budget, "bytes_max", use[i].most);
		if (use[i].full_ns)
			set_moment(budget, "full_since", use[i].full_ns);
		else
			json_object_set_new(budget, "full_since", json_null());
		json_array_append_new(budgets, budget);
	}
	return budgets;
}

static json_t *pids_of(const struct arena *arena)
{
	json_t *pids = json_array();

	for (const struct process *process = arena_first_process(arena);
	     process; process = process_next(process))
		json_array_insert_new(
			pids, 0, json_integer(process_setup(process)->pid));
	return pids;
}

static json_t *list_row_of(struct arena *arena)
{
	json_t *row = json_object();
	struct arena_live live;
	struct face face;

	arena_lock(arena);
	face = face_of(arena);
	ctl_set_number(row, "pid", (uint64_t)face.pid);
	json_object_set_new(row, "pids", pids_of(arena));
	set_string(row, "program", face.name);
	set_string(row, "state", state_of_arena(arena, &face));
	arena_unlock(arena);
	live = arena_live(arena);
	ctl_set_number(row, "threads", live.threads);
	ctl_set_number(row, "spans", live.spans);
	ctl_set_number(row, "lost", live.lost);
	set_moment(row, "since", face.start_ns);
	ctl_set_number(row, "seconds",
		       (clock_boottime_ns() - face.start_ns) / 1000000000);
	ctl_set_number(
		row, "bytes",
		trace_file_bytes(
			recording_setup(arena_setup(arena)->recording)->trace));
	json_object_set_new(row, "budgets",
			    budgets_of(arena_setup(arena)->recording));
	ctl_answer_set_path(
		row, "folder",
		recording_setup(arena_setup(arena)->recording)->path);
	return row;
}

json_t *ctl_answer_error(const char *text)
{
	json_t *answer = json_object();

	set_string(answer, "error", text);
	return answer;
}

json_t *ctl_answer_new(struct collector *collector, struct arena *const *arena,
		       size_t count)
{
	json_t *answer = json_object(), *programs = json_array();
	json_t *self;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(programs, list_row_of(arena[i]));
	self = json_object();
	ctl_set_number(self, "pid", (uint64_t)getpid());
	set_string(self, "version", PERFREC_VERSION);
	ctl_answer_set_path(self, "output", collector->options->output);
	json_object_set_new(self, "daemon",
			    json_boolean(!collector->recording));
	json_object_set_new(self, "paused", json_boolean(collector->paused));
	json_object_set_new(answer, "collector", self);
	json_object_set_new(answer, "programs", programs);
	return answer;
}
