/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/serve/went_on.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/proc.h"
#include "collector/base/socket_path.h"
#include "collector/names/nowait.h"
#include "collector/names/reader.h"
#include "collector/names/reader_wire.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/family.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"

#define STAT_PARENT_FIELD 4 /* proc(5) */
#define STAT_START_FIELD 22 /* proc(5): ticks since boot */
#define NS_PER_S 1000000000ULL
#define ROUNDS_MIN 2
#define ROUNDS_MAX 8
#define ENVIRONMENT_BYTES_MAX (4u << 20)

struct search {
	struct collector *collector;
	const char *socket; /* "PERFREC_SOCKET=PATH" */
	bool held; /* a process blocked perfrec-reader: skip all other
		    * environments */
};

/* Returns true if @pid may be a descendant of the command: it started after
 * @recording. Excludes our own children, which have our environment until they
 * call exec(). */
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

/* Returns true if @text, @count bytes long, contains the variable @entry.
 * @starts: @text is the start of the environment. */
static bool has_entry(const char *text, size_t count, const char *entry,
		      bool starts)
{
	size_t length = strlen(entry) + 1;
	const char *at = text;

	while ((at = memmem(at, count - (size_t)(at - text), entry, length))) {
		if (at == text ? starts : !at[-1])
			return true;
		at++;
	}
	return false;
}

static bool has_socket(struct search *search, uid_t uid, int fd)
{
	struct readers *readers =
		symbol_cache_readers(search->collector->symbols);
	/* Pieces overlap, so one of them has the entire variable. */
	size_t step = READER_BYTES_MAX - strlen(search->socket) - 2;
	char *text = malloc(READER_BYTES_MAX), why[READER_WHY_BYTES];
	size_t got = READER_BYTES_MAX;
	bool found = false;
	int err = text ? 0 : -ENOMEM;

	for (uint64_t at = 0; !err && !found && got == READER_BYTES_MAX &&
			      at < ENVIRONMENT_BYTES_MAX;
	     at += step) {
		err = reader_bytes(readers, uid, fd, at, READER_BYTES_MAX, text,
				   &got, why);
		found = !err && has_entry(text, got, search->socket, !at);
	}
	search->held |= err == -ETIMEDOUT;
	free(text);
	return found;
}

/* Returns true if process @pid was started with the variable search->socket.
 * Reading an environment may block, so perfrec-reader does it, with a limit of
 * READER_SECONDS_SHORT. */
static bool has_environment(struct search *search, pid_t pid)
{
	struct stat status;
	bool found = false;
	char path[64];
	int fd;

	if (search->held)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (!nowait_stat(fd, &status))
		found = has_socket(search, status.st_uid, fd);
	close(fd);
	return found;
}

/* Returns true if process @pid has not sent its hello yet: its environment has
 * our socket. If all programs send hello, that suffices. Otherwise only
 * programs with hooks do, and only the executable is searched for hooks. */
static bool is_before_hello(struct search *search, pid_t pid)
{
	const struct collector *collector = search->collector;
	struct symbol_file *file;
	bool is_instrumented;
	struct stat status;
	char exe[64];
	int fd;

	if (!has_environment(search, pid))
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

/* Lists processes that have not recorded yet, or only after add_known().
 * Returns true if a process was added. */
static bool add_silent(struct search *search)
{
	struct collector *collector = search->collector;
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
		     !is_before_hello(search, pid)) ||
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

void went_on_list(struct collector *collector, const char *socket)
{
	char entry[sizeof("PERFREC_SOCKET=") + SOCKET_PATH_BYTES];
	struct search search = { .collector = collector, .socket = entry };
	int rounds;

	if (!collector->recording)
		return;
	for (struct arena *arena = collector->arenas; arena;
	     arena = arena_next(arena))
		add_known(collector->recording, arena);
	snprintf(entry, sizeof(entry), "PERFREC_SOCKET=%s", socket);
	/* A process may fork and end while we read /proc. Then it is gone when
	 * its entry is read, and its child is not in this listing. So the
	 * search repeats until nothing new is found, at least twice. */
	rounds = 0;
	while (rounds++ < ROUNDS_MAX &&
	       (add_silent(&search) || rounds < ROUNDS_MIN))
		;
}
