/* SPDX-License-Identifier: Apache-2.0
 *
 * outer_ids - no system call translates ids, so the line NSpid is read from the
 * status of each candidate. A thread's status is read once: a thousand threads
 * must not cost a million reads.
 */
#include "collector/names/outer_ids.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "collector/base/proc.h"
#include "shared/ring_shm.h"

/* Limit for a process that forks in all threads. */
#define TASKS_MAX 64
#define CHILDREN_BYTES 16384
/* More than have slots at once, as most are known. */
#define THREADS_MAX (2 * SLOT_COUNT_DEFAULT)

/* @dir is "" or "task/123/". Returns 0 on an error. */
static pid_t inner_id_of(pid_t pid, const char *dir)
{
	char status[PROC_STATUS_BYTES], name[48];
	pid_t inner = 0;

	snprintf(name, sizeof(name), "%sstatus", dir);
	proc_read(pid, name, status, sizeof(status));
	return proc_status_inner(status, &inner) ? inner : 0;
}

static bool is_wanted_process(pid_t pid, pid_t inner, outer_ids_check *check,
			      const void *context)
{
	return inner_id_of(pid, "") == inner && check(context, pid);
}

/* @pid 0: all of /proc. */
static DIR *open_task_folder(pid_t pid)
{
	char path[64] = "/proc";

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return opendir(path);
}

static pid_t next_folder_id(DIR *dir)
{
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			return (pid_t)atoi(entry->d_name);
	return 0;
}

static pid_t child_of_thread(pid_t parent, pid_t tid, pid_t inner,
			     outer_ids_check *check, const void *context)
{
	char name[48], children[CHILDREN_BYTES], *at = children, *end;
	pid_t pid;

	snprintf(name, sizeof(name), "task/%d/children", (int)tid);
	proc_read(parent, name, children, sizeof(children));
	for (; (pid = (pid_t)strtol(at, &end, 10)) > 0; at = end)
		if (is_wanted_process(pid, inner, check, context))
			return pid;
	return 0;
}

pid_t outer_ids_child(pid_t parent, pid_t inner, outer_ids_check *check,
		      const void *context)
{
	DIR *dir = open_task_folder(parent);
	pid_t tid, found = 0;
	int tasks = 0;

	while (!found && tasks++ < TASKS_MAX && (tid = next_folder_id(dir)))
		found = child_of_thread(parent, tid, inner, check, context);
	if (dir)
		closedir(dir);
	return found;
}

pid_t outer_ids_any(pid_t inner, outer_ids_check *check, const void *context)
{
	DIR *dir = open_task_folder(0);
	pid_t pid;

	while ((pid = next_folder_id(dir)))
		if (is_wanted_process(pid, inner, check, context))
			break;
	if (dir)
		closedir(dir);
	return pid;
}

/* --- threads ------------------------------------------------------------- */

static int compare_outer_ids(const void *a, const void *b)
{
	const struct outer_thread *left = a, *right = b;

	return (left->outer > right->outer) - (left->outer < right->outer);
}

/* Rereads the list of ids, since ids are reused. threads->lock held. */
static void read_thread_ids(struct outer_threads *threads, pid_t pid)
{
	struct outer_threads now = { .count = 0 };
	DIR *dir = open_task_folder(pid);
	pid_t outer;

	while (now.count < THREADS_MAX && (outer = next_folder_id(dir))) {
		struct outer_thread key = { outer, 0 }, *known;
		char name[32];

		known = threads->count
				? bsearch(&key, threads->thread, threads->count,
					  sizeof(key), compare_outer_ids)
				: NULL;
		snprintf(name, sizeof(name), "task/%d/", (int)outer);
		if (!grow_array(now.thread, now.room, now.count + 1)) {
			now.thread[now.count++] = (struct outer_thread){
				outer,
				known ? known->inner : inner_id_of(pid, name)
			};
		}
	}
	if (dir)
		closedir(dir);
	if (now.count)
		qsort(now.thread, now.count, sizeof(*now.thread),
		      compare_outer_ids);
	free(threads->thread);
	threads->thread = now.thread;
	threads->count = now.count;
	threads->room = now.room;
}

pid_t outer_ids_thread(struct outer_threads *threads, pid_t pid, pid_t inner)
{
	pid_t outer = 0;

	lock_acquire(&threads->lock);
	read_thread_ids(threads, pid);
	for (size_t i = 0; i < threads->count && !outer; i++)
		if (threads->thread[i].inner == inner)
			outer = threads->thread[i].outer;
	lock_release(&threads->lock);
	return outer;
}

void outer_ids_release(struct outer_threads *threads)
{
	free(threads->thread);
	lock_destroy(&threads->lock);
}
