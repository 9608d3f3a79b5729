/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/shell_command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <paths.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/proc.h"
#include "collector/base/random.h"
#include "collector/base/size.h"
#include "collector/base/spawn_attributes.h"
#include "shared/compiler.h"

#define NS_PER_MS 1000000
#define POLL_MS_MAX 1000000
/* Marks the processes of a command in any session. */
#define ID_NAME "PERFREC_COMMAND_ID"
#define ENVIRON_BYTES (1u << 20)
#define ROUNDS_MAX 100
#define ROUND_NS 5000000

/* Returns true if the command does not get the variable @entry of this process:
 * a variable of its own has the same name, or it is hidden. */
static bool is_left_out(const struct shell_command *command, const char *entry)
{
	size_t length = strcspn(entry, "=");

	for (size_t i = 0; i < command->variable_count; i++)
		if (strncmp(command->variables[i], entry, length + 1) == 0)
			return true;
	for (const char *const *name = command->hidden; name && *name; name++)
		if (strlen(*name) == length && !strncmp(*name, entry, length))
			return true;
	return !strncmp(entry, ID_NAME "=", sizeof(ID_NAME));
}

/* Returns the environment of @command with the variable @id, or NULL without
 * memory. The caller frees the array, not its entries. */
static const char **make_environment(const struct shell_command *command,
				     const char *id)
{
	size_t count = 0, used = command->variable_count;
	const char **all;

	while (environ[count])
		count++;
	all = calloc(count + used + 2, sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, command->variables, used * sizeof(*all));
	all[used++] = id;
	for (size_t i = 0; i < count; i++)
		if (!is_left_out(command, environ[i]))
			all[used++] = environ[i];
	return all;
}

static int spawn_shell(const struct shell_command *command,
		       const char *const *env, pid_t *pid)
{
	const char *argv[] = { "sh", "-c", command->text, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int err;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, _PATH_DEVNULL,
					 O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	spawn_attributes_init(&attributes);
	/* posix_spawn(3) does not write to argv or env despite their types. */
	err = posix_spawn(pid, _PATH_BSHELL, &files, &attributes,
			  (char *const *)(uintptr_t)argv,
			  (char *const *)(uintptr_t)env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

/* Waits until the process of @pidfd has ended. Returns 0, -ETIMEDOUT,
 * -ECANCELED or another -errno. */
static int wait_for_end(const struct shell_command *command, int pidfd)
{
	struct pollfd fds[] = {
		{ .fd = pidfd, .events = POLLIN },
		{ .fd = command->stop_fd, .events = POLLIN },
	};
	uint64_t start_ns = clock_boottime_ns(), taken_ns, left_ms;

	for (;;) {
		taken_ns = clock_boottime_ns() - start_ns;
		if (taken_ns >= command->limit_ns)
			return -ETIMEDOUT;
		left_ms = (command->limit_ns - taken_ns) / NS_PER_MS + 1;
		if (poll(fds, ARRAY_SIZE(fds), (int)MIN(left_ms, POLL_MS_MAX)) <
			    0 &&
		    errno != EINTR)
			return -errno;
		if (fds[0].revents)
			return 0;
		if (fds[1].revents)
			return -ECANCELED;
	}
}

/* Kills process @pid if the first ENVIRON_BYTES of its environment have the
 * variable @id. @buffer has room for them. Returns true if they have it. */
static bool kill_marked(pid_t pid, const char *id, char *buffer)
{
	/* First: a later process of the same id is not killed. */
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	size_t count;
	bool marked;

	if (pidfd < 0)
		return false;
	count = proc_read(pid, "environ", buffer, ENVIRON_BYTES);
	marked = count && memmem(buffer, count, id, strlen(id) + 1);
	if (marked)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	close(pidfd);
	return marked;
}

/* Kills this user's processes whose environment has @id. A round also finds
 * processes that were forked during the round before. */
static void kill_all_marked(const char *id)
{
	const struct timespec pause = { .tv_nsec = ROUND_NS };
	char *buffer = malloc(ENVIRON_BYTES);
	bool found = buffer;

	for (int round = 0; found && round < ROUNDS_MAX; round++) {
		DIR *dir = opendir("/proc");
		const struct dirent *entry;
		struct stat status;

		found = false;
		while (dir && (entry = readdir(dir))) {
			pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

			/* Another user's process could block a read of its
			 * environment for ever, by memory that its own file
			 * system provides. */
			if (pid > 0 && pid != getpid() &&
			    !fstatat(dirfd(dir), entry->d_name, &status, 0) &&
			    status.st_uid == geteuid())
				found |= kill_marked(pid, id, buffer);
		}
		if (dir)
			closedir(dir);
		if (found)
			nanosleep(&pause, NULL);
	}
	free(buffer);
}

int shell_command_run(const struct shell_command *command, int *wait_status)
{
	char id[sizeof(ID_NAME) + 24];
	const char **env;
	int pidfd, err;
	pid_t pid;

	snprintf(id, sizeof(id), ID_NAME "=%016" PRIx64, random_u64());
	env = make_environment(command, id);
	if (!env)
		return -ENOMEM;
	err = spawn_shell(command, env, &pid);
	free(env);
	if (err)
		return err;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	err = pidfd < 0 ? -errno : wait_for_end(command, pidfd);
	if (pidfd >= 0)
		close(pidfd);
	/* The id of the group cannot be reused before waitpid(2). */
	kill(-pid, SIGKILL);
	if (err)
		kill_all_marked(id);
	if (waitpid(pid, wait_status, 0) < 0 && !err)
		err = -errno;
	return err;
}

const char *shell_command_end(const struct shell_command *command, int err,
			      int wait_status, char *text, size_t room)
{
	char limit[SIZE_TEXT];

	if (err == -ETIMEDOUT)
		snprintf(text, room, "killed after %s",
			 size_format_ns(command->limit_ns, limit));
	else if (err == -ECANCELED)
		snprintf(text, room, "killed by Ctrl-C or a signal");
	else if (err)
		snprintf(text, room, "cannot run: %s", strerror(-err));
	else if (WIFEXITED(wait_status))
		snprintf(text, room, "exit status %d",
			 WEXITSTATUS(wait_status));
	else
		snprintf(text, room, "killed by signal %d (%s)",
			 WTERMSIG(wait_status),
			 strsignal(WTERMSIG(wait_status)));
	return text;
}
