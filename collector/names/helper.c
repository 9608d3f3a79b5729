/* SPDX-License-Identifier: Apache-2.0
 *
 * helper - each helper has its own process group. Ctrl-C must not reach it: the
 * collector still needs it to finish the recording.
 */
#include "collector/names/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/spawn_attributes.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

static struct helper_counts g_counts;

const char *helper_told_path(const char *variable)
{
	const char *told = secure_getenv(variable);

	return told && told[0] ? told : NULL;
}

int helper_find(const char *name, const char *variable, char path[PATH_MAX])
{
	static const char *const places[] = { "", "../libexec/perfrec/" };
	const char *told = helper_told_path(variable);
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (told) {
		snprintf(path, PATH_MAX, "%s", told);
		return access(path, X_OK) ? -errno : 0;
	}
	if (length < 0)
		return -errno;
	self[length] = '\0';
	strrchr(self, '/')[1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (snprintf(path, PATH_MAX, "%s%s%s", self, places[i], name) <
			    PATH_MAX &&
		    !access(path, X_OK))
			return 0;
	return -ENOENT;
}

#define NS_PER_MS 1000000u
#define PATIENCE_MS 100 /* delay of helper_hurry() */

static uint64_t g_hurry_ns;

void helper_hurry(uint64_t until_ns)
{
	/* relaxed: no other memory depends on it */
	atom_store_rlx(&g_hurry_ns, until_ns);
}

int helper_patience_ms(uint64_t deadline_ns)
{
	uint64_t now = clock_monotonic_ns();
	/* relaxed: as above */
	uint64_t hurry_ns = atom_load_rlx(&g_hurry_ns);

	if (hurry_ns)
		deadline_ns = MIN(deadline_ns, hurry_ns);
	if (now >= deadline_ns)
		return 0;
	return (int)MIN((deadline_ns - now) / NS_PER_MS + 1, PATIENCE_MS);
}

bool helper_is_over(void)
{
	/* relaxed: as above */
	uint64_t hurry_ns = atom_load_rlx(&g_hurry_ns);

	return hurry_ns && clock_monotonic_ns() >= hurry_ns;
}

void helper_close(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int spawn_with(char *const *argv, char *const *env, const int *fds,
		      int count, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int err;

	posix_spawn_file_actions_init(&actions);
	spawn_attributes_init(&attributes);
	for (int i = 0; i < count; i++)
		posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	posix_spawn_file_actions_addclosefrom_np(&actions, count);
	err = posix_spawn(pid, argv[0], &actions, &attributes, argv, env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* Descriptors below @count are copied first, so that none overwrites
 * another. */
int helper_spawn(char *const *argv, char *const *env, const int *fds, int count,
		 pid_t *pid)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int used[HELPER_FDS_MAX], copies[HELPER_FDS_MAX];
	int err = null < 0 ? -errno : 0;

	for (int i = 0; i < count; i++) {
		used[i] = fds[i] < 0 ? null : fds[i];
		copies[i] = -1;
		if (used[i] >= count)
			continue;
		used[i] = copies[i] =
			fcntl(used[i], F_DUPFD_CLOEXEC, HELPER_FDS_MAX);
		if (used[i] < 0 && !err)
			err = -errno;
	}
	if (!err)
		err = spawn_with(argv, env, used, count, pid);
	helper_close(copies, count);
	helper_close(&null, 1);
	return err;
}

int helper_start(char *const *argv, char *const *env, int *fds, int count,
		 struct helper *out)
{
	int answer[2] = { -1, -1 }, complaint[2] = { -1, -1 };
	int err = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, answer) ||
	    pipe2(complaint, O_CLOEXEC))
		err = -errno;
	fds[STDOUT_FILENO] = answer[1];
	fds[STDERR_FILENO] = complaint[1];
	if (!err)
		err = helper_spawn(argv, env, fds, count, &out->pid);
	helper_close(&answer[1], 1);
	helper_close(&complaint[1], 1);
	if (err) {
		helper_close(&answer[0], 1);
		helper_close(&complaint[0], 1);
		return err;
	}
	/* relaxed: figures for a person */
	atom_add_rlx(&g_counts.started, 1);
	/* relaxed: the same */
	atom_add_rlx(&g_counts.running, 1);
	out->answer = answer[0];
	out->complaint = complaint[0];
	return 0;
}

struct helper_counts helper_counts(void)
{
	/* relaxed: figures for a person */
	return (struct helper_counts){
		.started = atom_load_rlx(&g_counts.started),
		.running = atom_load_rlx(&g_counts.running),
		.failed = atom_load_rlx(&g_counts.failed),
	};
}

void helper_count_failed(void)
{
	/* relaxed: a figure for a person */
	atom_add_rlx(&g_counts.failed, 1);
}

/* Killed processes that may hang in a file system. Beyond HUNG_MAX they stay
 * zombies. */
#define HUNG_MAX 64
#define END_MS 100

static pid_t g_hung[HUNG_MAX];

static void note_hung(pid_t pid)
{
	for (size_t i = 0; i < HUNG_MAX; i++)
		/* order: sc, HUNG: the taker waits for it */
		if (atom_cas_sc(&g_hung[i], 0, pid))
			return;
}

static void reap_hung(void)
{
	for (size_t i = 0; i < HUNG_MAX; i++) {
		/* order: sc, HUNG: from now on it is ours alone */
		pid_t pid = atom_xchg_sc(&g_hung[i], 0);

		if (pid && !waitpid(pid, NULL, WNOHANG))
			note_hung(pid);
	}
}

static void kill_helper(struct helper *helper)
{
	helper_close(&helper->answer, 1);
	helper_close(&helper->complaint, 1);
	kill(helper->pid, SIGKILL);
}

void helper_dismiss(struct helper *helper)
{
	kill_helper(helper);
	note_hung(helper->pid);
	reap_hung();
	/* relaxed: a figure for a person */
	atom_add_rlx(&g_counts.running, -1);
}

/* Waits END_MS at most. */
static bool wait_for_helper(pid_t pid, int *status)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0),
			      .events = POLLIN };
	pid_t got;

	if (end.fd >= 0) {
		(void)poll(&end, 1, END_MS);
		close(end.fd);
	}
	do
		got = waitpid(pid, status, end.fd >= 0 ? WNOHANG : 0);
	while (got < 0 && errno == EINTR);
	return got;
}

int helper_end(struct helper *helper)
{
	int status = 0;

	kill_helper(helper);
	if (!wait_for_helper(helper->pid, &status))
		note_hung(helper->pid);
	reap_hung();
	/* relaxed: a figure for a person */
	atom_add_rlx(&g_counts.running, -1);
	return status;
}
