/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/serve/went_on.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/record/family.h"
#include "collector/record/arena.h"
#include "collector/options/collect_options.h"
#include "collector/record/collector.h"
#include "collector/base/proc.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/base/socket_path.h"
#include "collector/names/nowait.h"
#include "collector/names/symbols.h"

#define STAT_PARENT_FIELD 4 /* proc(5) */
#define STAT_START_FIELD 22 /* proc(5): in ticks since the machine started */
#define NS_PER_S 1000000000ULL
#define ROUNDS_MIN 2
#define ROUNDS_MAX 8

static void add_known(struct recording *recording, struct arena *arena)
{
	arena_lock(arena);
	for (const struct process *process = arena_first_process(arena);
	     process; process = process_next(process)) {
		const struct process_setup *setup = process_setup(process);

		if (!process_is_ending(process) &&
		    process_is_running(process) && !proc_is_dying(setup->pid))
			(void)recording_list_went_on(recording, setup->pid,
						     setup->entry->name);
	}
	arena_unlock(arena);
}

/* Whether @pid may be a descendant of the command: it has begun after
 * @recording, and is no process that we have started, which has our environment
 * until it runs its program. */
static bool may_descend(pid_t pid, const struct recording *recording)
{
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	char stat[PROC_STAT_BYTES];

	if (!proc_read(pid, "stat", stat, sizeof(stat)))
		return false;
	if (atoi(proc_stat_field(stat, STAT_PARENT_FIELD)) == getpid())
		return false;
	return strtoull(proc_stat_field(stat, STAT_START_FIELD), NULL, 10) >=
	       recording_setup(recording)->start_ns / tick_ns;
}

static bool has_arena(const struct collector *collector, pid_t pid)
{
	for (const struct arena *arena = collector->arenas; arena;
	     arena = arena_next(arena))
		if (arena_is_mapped_by(arena, pid))
			return true;
	return false;
}

/*
 * Whether process @pid was still to say hello: it has our socket in its
 * environment. Where all programs are asked to say hello, that is enough. Else
 * only programs with hooks do, and we look for hooks in the executable only.
 */
static bool is_before_hello(const struct collector *collector, pid_t pid,
			    const char *socket)
{
	struct symbol_file *file;
	bool is_instrumented;
	struct stat status;
	char exe[64];
	int fd;

	if (!proc_has_environment(pid, socket))
		return false;
	if (collect_options_want_all(collector->options))
		return true;
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
	fd = open(exe, O_PATH | O_CLOEXEC);
	if (fd < 0 || nowait_stat(fd, &status)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	file = symbol_cache_file(collector->symbols, status.st_uid, fd, exe);
	close(fd);
	is_instrumented = file && symbol_file_instrumented(file);
	symbol_file_put(&file);
	return is_instrumented;
}

/* List processes that have not recorded yet. Returns whether there was one that
 * was not listed before. A process that has recorded only since add_known() is
 * found here, too. */
static bool add_silent(struct collector *collector, const char *socket)
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
		if (pid == getpid() || !may_descend(pid, recording) ||
		    (!has_arena(collector, pid) &&
		     !is_before_hello(collector, pid, socket)) ||
		    proc_is_dying(pid))
			continue;
		proc_read(pid, "comm", name, sizeof(name));
		name[strcspn(name, "\n")] = '\0';
		found |= recording_list_went_on(recording, pid, name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* A process may fork and end while we read /proc: it is gone when we come to
 * it, and its child was not there when the folder was read. So we look again
 * until nothing new is found, and at least twice. */
static void add_all_silent(struct collector *collector, const char *socket)
{
	int rounds = 0;

	while (rounds++ < ROUNDS_MAX &&
	       (add_silent(collector, socket) || rounds < ROUNDS_MIN))
		;
}

void went_on_list(struct collector *collector, const char *socket)
{
	char entry[sizeof("PERFREC_SOCKET=") + SOCKET_PATH_BYTES];

	if (!collector->recording)
		return;
	for (struct arena *arena = collector->arenas; arena;
	     arena = arena_next(arena))
		add_known(collector->recording, arena);
	snprintf(entry, sizeof(entry), "PERFREC_SOCKET=%s", socket);
	add_all_silent(collector, entry);
}
