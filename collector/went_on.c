/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/went_on.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/arena.h"
#include "collector/collector.h"
#include "collector/proc.h"
#include "collector/process.h"
#include "collector/recording.h"

#define STAT_BYTES 1024
#define STAT_START_FIELD 22 /* proc(5): in ticks since the machine started */
#define NS_PER_S 1000000000ULL
#define ROUNDS_MIN 2
#define ROUNDS_MAX 8

static void add_known(struct recording *recording, struct arena *arena)
{
	const struct process *process;

	pthread_mutex_lock(&arena->lock);
	for (process = arena->processes; process; process = process->next)
		if (!process_is_ending(process) && process->watch.fd >= 0 &&
		    !process_has_exited(process))
			(void)recording_list_went_on(recording, process->pid,
						     process->entry->name);
	pthread_mutex_unlock(&arena->lock);
}

/* Field @number of a line of /proc/PID/stat, or "". A name may have blanks and
 * brackets, and is the second field. */
static const char *stat_field(const char *stat, int number)
{
	const char *at = strrchr(stat, ')');

	for (int i = 2; at && i < number; i++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	return at ? at : "";
}

/* Descendants of the command are younger than the recording. */
static bool is_younger(pid_t pid, const struct recording *recording)
{
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	char stat[STAT_BYTES];

	if (!proc_read(pid, "stat", stat, sizeof(stat)))
		return false;
	return strtoull(stat_field(stat, STAT_START_FIELD), NULL, 10) >=
	       recording->start_ns / tick_ns;
}

static bool has_arena(const struct collector *collector, pid_t pid)
{
	const struct arena *arena;

	for (arena = collector->arenas; arena; arena = arena->next)
		if (arena_is_mapped_by(arena, pid))
			return true;
	return false;
}

/* Whether there is one that was not listed yet. One that became known since
 * add_known() is found here, too. */
static bool add_silent(struct collector *collector)
{
	struct recording *recording = collector->recording;
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	while (dir && (entry = readdir(dir))) {
		char name[FAMILY_NAME_BYTES + 1];
		pid_t pid;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid = (pid_t)atoi(entry->d_name);
		if (pid == getpid() || !is_younger(pid, recording) ||
		    !has_arena(collector, pid))
			continue;
		proc_read(pid, "comm", name, sizeof(name));
		name[strcspn(name, "\n")] = '\0';
		found |= recording_list_went_on(recording, pid, name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* One that forks and ends while we read /proc is gone when we come to it, and
 * its child was not there when the folder was read: so we look until nothing
 * new is found, twice at least. */
static void add_all_silent(struct collector *collector)
{
	int rounds = 0;

	while (rounds++ < ROUNDS_MAX &&
	       (add_silent(collector) || rounds < ROUNDS_MIN))
		;
}

void went_on_list(struct collector *collector)
{
	struct arena *arena;
	bool held = false;

	if (!collector->recording)
		return;
	for (arena = collector->arenas; arena; arena = arena->next) {
		add_known(collector->recording, arena);
		held = held || arena_is_held(arena) > 0;
	}
	if (held)
		add_all_silent(collector);
}
