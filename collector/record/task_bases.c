/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/task_bases.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/compiler.h"

#define TASKS_MAX 256
/* The resolution of times in /proc: a tick of USER_HZ. */
#define TICK_NS UINT64_C(10000000)

struct task_bases {
	size_t count;
	bool more; /* the process had more threads */
	struct task_base {
		pid_t tid;
		struct task_times times;
	} task[];
};

static bool is_same_time(uint64_t said, uint64_t read)
{
	return MAX(said, read) - MIN(said, read) <= TICK_NS;
}

/* Replaces the times read from /proc by the finer ones of @said. Faults may
 * have increased slightly since then. */
static void refine(struct task_times *times, const struct task_times *said)
{
	if (is_same_time(said->user_ns, times->user_ns) &&
	    is_same_time(said->system_ns, times->system_ns)) {
		times->user_ns = said->user_ns;
		times->system_ns = said->system_ns;
	}
	if (said->minor_faults <= times->minor_faults &&
	    said->major_faults <= times->major_faults) {
		times->minor_faults = said->minor_faults;
		times->major_faults = said->major_faults;
	}
}

static void add_task(struct task_bases *bases, pid_t pid, pid_t tid)
{
	struct task_base *task = &bases->task[bases->count];

	if (task_times_read(pid, tid, &task->times))
		return;
	task->tid = tid;
	bases->count++;
}

struct task_bases *task_bases_new(pid_t pid, pid_t tid,
				  const struct task_times *said)
{
	struct task_bases *bases, *fit;
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	bases = calloc(1, sizeof(*bases) + TASKS_MAX * sizeof(*bases->task));
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && bases && !bases->more && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		bases->more = bases->count == TASKS_MAX;
		if (!bases->more)
			add_task(bases, pid, atoi(entry->d_name));
	}
	if (dir)
		closedir(dir);
	/* Nothing was readable. */
	if (bases && !bases->count)
		task_bases_free(&bases);
	for (size_t i = 0; bases && i < bases->count; i++)
		if (bases->task[i].tid == tid)
			refine(&bases->task[i].times, said);
	if (!bases)
		return NULL;
	fit = realloc(bases,
		      sizeof(*bases) + bases->count * sizeof(*bases->task));
	return fit ? fit : bases;
}

void task_bases_free(struct task_bases **bases)
{
	free(*bases);
	*bases = NULL;
}

bool task_bases_find(const struct task_bases *bases, pid_t tid,
		     struct task_times *out)
{
	*out = (struct task_times){ 0 };
	if (!bases)
		return false;
	for (size_t i = 0; i < bases->count; i++)
		if (bases->task[i].tid == tid) {
			*out = bases->task[i].times;
			return true;
		}
	return !bases->more;
}
