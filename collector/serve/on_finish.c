/* SPDX-License-Identifier: Apache-2.0
 *
 * on_finish - the command runs with the rights of the daemon's user. Other
 * users (--allow-uid) control the content of their recordings, so perfrec runs
 * no command for theirs: neither as root nor as the other user, who may not
 * read the folder.
 *
 * Until the command ends, a copy of the folder's descriptor holds its lock
 * (folder_lock.h).
 */
#include "collector/serve/on_finish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/base/pulse.h"
#include "collector/base/shell_command.h"
#include "collector/serve/retention.h"
#include "shared/compiler.h"
#include "shared/environment.h"

#define AT_ONCE 4 /* concurrent commands */
#define WAITING_MAX 64 /* recordings, including those with a running command */
#define VARIABLES 4

struct on_finish {
	const char *command;
	uint64_t limit_ns;
	const char *const *hidden; /* names of variables; may be NULL */
	struct retention *retention;
	struct lock lock; /* guards everything below */
	struct runner {
		struct jobs *jobs;
		uint64_t waiting; /* recordings in its queue */
	} runner[AT_ONCE];
	struct on_finish_counts counts;
	uint64_t end_ns; /* CLOCK_BOOTTIME: end of all commands; 0: not
			  * ending */
	struct log_limit failures;
};

struct task {
	struct job job; /* first */
	struct on_finish *on_finish;
	struct runner *runner;
	int dir_fd; /* holds the lock of the folder */
	char *variable[VARIABLES];
	const char *name; /* of the folder, inside the first variable */
};

static void task_free(struct task *task)
{
	for (size_t i = 0; i < VARIABLES; i++)
		free(task->variable[i]);
	if (task->dir_fd >= 0)
		close(task->dir_fd);
	free(task);
}

static void run_command(struct task *task, uint64_t limit_ns)
{
	struct on_finish *on_finish = task->on_finish;
	const struct shell_command command = {
		.text = on_finish->command,
		.variables = (const char *const *)task->variable,
		.variable_count = VARIABLES,
		.hidden = on_finish->hidden,
		.limit_ns = limit_ns,
		.stop_fd = -1,
	};
	int wait_status = 0, err;
	char how[128];

	/* The watchdog must not report a slow command. */
	pulse_end();
	err = shell_command_run(&command, &wait_status);
	pulse_begin("ends a command of --on-finish");
	if (err || wait_status)
		log_limited(&on_finish->failures, LOG_WARN,
			    "--on-finish for '%s': %s", task->name,
			    shell_command_end(&command, err, wait_status, how,
					      sizeof(how)));
	lock_acquire(&on_finish->lock);
	on_finish->counts.run++;
	on_finish->counts.failed += err || wait_status;
	lock_release(&on_finish->lock);
}

static void log_skipped(struct on_finish *on_finish, const char *name,
			const char *why)
{
	log_limited(&on_finish->failures, LOG_WARN,
		    "--on-finish is not run for '%s': %s", name, why);
	lock_acquire(&on_finish->lock);
	on_finish->counts.skipped++;
	lock_release(&on_finish->lock);
}

static uint64_t time_left(struct on_finish *on_finish)
{
	uint64_t now_ns = clock_boottime_ns(), left_ns = on_finish->limit_ns;

	lock_acquire(&on_finish->lock);
	if (on_finish->end_ns)
		left_ns = MIN(left_ns, on_finish->end_ns -
					       MIN(now_ns, on_finish->end_ns));
	lock_release(&on_finish->lock);
	return left_ns;
}

static void run_task(struct job *job)
{
	struct task *task = (struct task *)job; /* first */
	struct on_finish *on_finish = task->on_finish;
	uint64_t limit_ns = time_left(on_finish);

	if (limit_ns)
		run_command(task, limit_ns);
	else
		log_skipped(on_finish, task->name,
			    "perfrec-collect ends, and other commands took "
			    "too long");
	lock_acquire(&on_finish->lock);
	task->runner->waiting--;
	on_finish->counts.waiting--;
	lock_release(&on_finish->lock);
	task_free(task);
	retention_look(on_finish->retention);
}

/* Returns the runner with the shortest queue after incrementing its length, or
 * NULL if too many recordings wait. */
static struct runner *choose_runner(struct on_finish *on_finish)
{
	struct runner *best = on_finish->runner;

	lock_acquire(&on_finish->lock);
	for (size_t i = 1; i < AT_ONCE; i++)
		if (on_finish->runner[i].waiting < best->waiting)
			best = &on_finish->runner[i];
	if (on_finish->counts.waiting < WAITING_MAX) {
		best->waiting++;
		on_finish->counts.waiting++;
	} else {
		best = NULL;
	}
	lock_release(&on_finish->lock);
	return best;
}

static int set_variables(struct task *task,
			 const struct on_finish_recording *recording)
{
	char *path = realpath(recording->path, NULL);
	const char *name;
	bool made;

	if (!path)
		return -errno;
	name = path_name(path);
	made = asprintf(&task->variable[0], "PERFREC_RECORDING=%s", path) >= 0;
	made = made && asprintf(&task->variable[1], "PERFREC_PROGRAM=%.*s",
				(int)retention_program(name), name) >= 0;
	made = made && asprintf(&task->variable[2], "PERFREC_STATUS=%s",
				recording->whole ? "whole" : "unwritten") >= 0;
	/* A recorded command would run the command again for its recording. */
	made = made && (task->variable[3] = strdup(ENV_NOT_RECORDED));
	free(path);
	if (!made)
		return -ENOMEM;
	task->name = path_name(task->variable[0]);
	return 0;
}

static int task_new(struct on_finish *on_finish,
		    const struct on_finish_recording *recording,
		    struct task **out)
{
	struct task *task = calloc(1, sizeof(*task));
	int err;

	if (!task)
		return -ENOMEM;
	task->job.run = run_task;
	task->on_finish = on_finish;
	task->dir_fd = fcntl(recording->dir_fd, F_DUPFD_CLOEXEC, 0);
	err = task->dir_fd < 0 ? -errno : set_variables(task, recording);
	if (err)
		task_free(task);
	else
		*out = task;
	return err;
}

void on_finish_run(struct on_finish *on_finish,
		   const struct on_finish_recording *recording)
{
	const char *why = NULL;
	struct task *task = NULL;
	int err;

	if (!on_finish)
		return;
	if (recording->uid != geteuid())
		why = "its program is another user's";
	err = why ? 0 : task_new(on_finish, recording, &task);
	if (err)
		why = strerror(-err);
	if (task) {
		task->runner = choose_runner(on_finish);
		if (task->runner) {
			jobs_post(task->runner->jobs, &task->job);
			return;
		}
		why = "too many recordings wait for it";
		task_free(task);
	}
	log_skipped(on_finish, path_name(recording->path), why);
}

int on_finish_new(const char *command, uint64_t limit_ns,
		  const char *const *hidden, struct retention *retention,
		  struct on_finish **out)
{
	struct on_finish *on_finish = calloc(1, sizeof(*on_finish));
	int err = 0;

	if (!on_finish)
		return -ENOMEM;
	on_finish->command = command;
	on_finish->limit_ns = limit_ns;
	on_finish->hidden = hidden;
	on_finish->retention = retention;
	lock_init(&on_finish->lock, LOCK_ON_FINISH);
	for (size_t i = 0; i < AT_ONCE && !err; i++)
		err = jobs_new("perfrec-finish", NULL,
			       &on_finish->runner[i].jobs);
	if (err)
		on_finish_free(&on_finish);
	else
		*out = on_finish;
	return err;
}

void on_finish_free(struct on_finish **on_finish)
{
	struct on_finish *old = *on_finish;

	*on_finish = NULL;
	if (!old)
		return;
	lock_acquire(&old->lock);
	old->end_ns = clock_boottime_ns() + old->limit_ns;
	lock_release(&old->lock);
	for (size_t i = 0; i < AT_ONCE; i++)
		jobs_free(&old->runner[i].jobs);
	lock_destroy(&old->lock);
	free(old);
}

struct on_finish_counts on_finish_counts(struct on_finish *on_finish)
{
	struct on_finish_counts counts = { 0 };

	if (!on_finish)
		return counts;
	lock_acquire(&on_finish->lock);
	counts = on_finish->counts;
	lock_release(&on_finish->lock);
	return counts;
}
