/* SPDX-License-Identifier: Apache-2.0
 *
 * text_guard - the keeper is this executable under another name. So any thread
 * of a large process can start it cheaply, without copying memory.
 */
#include "collector/code/text_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/code/text_keeper.h"
#include "shared/compiler.h"
#include "shared/environment.h"

#define SOCKET_FD 3
/* Least time between starts, if something keeps killing the keeper. */
#define START_NS 1000000000
/* The longest wait for a message. */
#define SEND_MS 100
/* The longest wait for a killed keeper. */
#define END_MS 1000
/* Descriptors for other uses; each text takes two. */
#define OTHER_FDS 64

enum text_what {
	TEXT_KEEP,
	TEXT_DROP,
};

struct text_message {
	uint64_t what; /* enum text_what */
	struct kept_text text; /* TEXT_DROP: only number */
};

/* --- in perfrec-collect -------------------------------------------------- */

static size_t count_room(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max < OTHER_FDS)
		return 0;
	return (size_t)(limit.rlim_max - OTHER_FDS) / 2;
}

/* Keeps the keeper from being recorded. Returns NULL if out of memory. */
static char **make_guard_environment(void)
{
	static char quiet[] = ENV_NOT_RECORDED;
	size_t count = 0;
	char **list;

	while (environ[count])
		count++;
	list = calloc(count + 1, sizeof(*list));
	for (size_t i = 0; list && i < count; i++)
		list[i] = strncmp(environ[i], "LD_PRELOAD=", 11) ? environ[i]
								 : quiet;
	return list;
}

static int spawn_keeper(int socket, pid_t *out)
{
	const short flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK;
	static char *const argv[] = { TEXT_GUARD_NAME, NULL };
	char **list = make_guard_environment();
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	int err;

	if (!list)
		return -ENOMEM;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, socket, SOCKET_FD);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		posix_spawn_file_actions_addopen(&files, fd, _PATH_DEVNULL,
						 O_RDWR, 0);
	posix_spawn_file_actions_addclosefrom_np(&files, SOCKET_FD + 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, flags);
	posix_spawnattr_setsigmask(&attributes, &none);
	err = posix_spawn(out, "/proc/self/exe", &files, &attributes, argv,
			  list);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	free(list);
	return -err;
}

static int start_guard(struct text_guard *guard)
{
	uint64_t now = clock_boottime_ns();
	int pair[2], err;

	if (guard->started_ns && now - guard->started_ns < START_NS)
		return -EAGAIN;
	guard->started_ns = now;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	err = spawn_keeper(pair[1], &guard->pid);
	close(pair[1]);
	if (err) {
		guard->pid = 0;
		close(pair[0]);
		return err;
	}
	guard->socket = pair[0];
	guard->kept = 0;
	guard->first = UINT64_MAX;
	guard->room = count_room();
	return 0;
}

/* The pid is valid until waitpid() returns it. Even a killed process may
 * hang. */
static void end_keeper(struct text_guard *guard)
{
	if (!guard->pid)
		return;
	kill(guard->pid, SIGKILL);
	for (int i = 0; i < END_MS; i++) {
		pid_t ended = waitpid(guard->pid, NULL, WNOHANG);

		if (ended == guard->pid || (ended < 0 && errno != EINTR))
			break;
		poll(NULL, 0, 1);
	}
	close(guard->socket);
	guard->pid = 0;
	guard->kept = 0;
}

static ssize_t send_once(const struct text_guard *guard,
			 const struct text_message *text, bool with_files)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .header = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET,
				  SCM_RIGHTS } };
	struct iovec data = { (void *)text, sizeof(*text) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	const int fds[2] = { text->text.mem, text->text.list };

	if (with_files) {
		memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(guard->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns 0, or -EAGAIN after killing a keeper that does not read. */
static int send_to_keeper(struct text_guard *guard,
			  const struct text_message *text)
{
	struct pollfd room = { .fd = guard->socket, .events = POLLOUT };
	bool with_files = text->what == TEXT_KEEP;
	ssize_t sent = send_once(guard, text, with_files);

	if (sent < 0 && errno == EAGAIN && poll(&room, 1, SEND_MS) == 1)
		sent = send_once(guard, text, with_files);
	if (sent == sizeof(*text))
		return 0;
	kill(guard->pid, SIGKILL);
	return -EAGAIN;
}

int text_guard_keep(struct text_guard *guard, const struct kept_text *text)
{
	const struct text_message message = { TEXT_KEEP, *text };
	int err = guard->pid ? 0 : start_guard(guard);

	if (!err && guard->kept >= guard->room)
		err = -ENOSPC;
	if (!err)
		err = send_to_keeper(guard, &message);
	if (!err && !guard->kept++)
		guard->first = text->number;
	return err;
}

int text_guard_renew(struct text_guard *guard, const struct kept_text *text)
{
	const struct text_message message = { TEXT_KEEP, *text };

	if (!guard->pid || text->number < guard->first)
		return -EAGAIN;
	return send_to_keeper(guard, &message);
}

void text_guard_drop(struct text_guard *guard, uint64_t number)
{
	const struct text_message message = {
		TEXT_DROP, { .number = number, .mem = -1, .list = -1 }
	};

	if (!guard->pid || number < guard->first ||
	    send_to_keeper(guard, &message) < 0)
		return;
	guard->kept--;
}

int text_guard_descriptor(const struct text_guard *guard)
{
	return guard->pid ? guard->socket : -1;
}

bool text_guard_has_ended(struct text_guard *guard)
{
	uint64_t number;
	ssize_t size;

	if (!guard->pid)
		return false;
	while ((size = recv(guard->socket, &number, sizeof(number),
			    MSG_DONTWAIT)) > 0)
		guard->refused++;
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	end_keeper(guard);
	return true;
}

void text_guard_stop(struct text_guard *guard)
{
	end_keeper(guard);
}

/* --- in perfrec-keeper --------------------------------------------------- */

/* Returns false if descriptors are missing: too many open files. */
static bool take_files(struct msghdr *message, struct kept_text *text)
{
	const struct cmsghdr *part = CMSG_FIRSTHDR(message);
	int fds[2] = { -1, -1 };

	if (part && part->cmsg_level == SOL_SOCKET &&
	    part->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(part),
		       MIN(part->cmsg_len - CMSG_LEN(0), sizeof(fds)));
	text->mem = fds[0];
	text->list = fds[1];
	if (fds[0] >= 0 && fds[1] >= 0)
		return true;
	if (fds[0] >= 0)
		close(fds[0]);
	return false;
}

static bool take_keeper_message(struct text_keeper *keeper)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct text_message text;
	struct iovec data = { &text, sizeof(text) };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control),
	};
	ssize_t size = recvmsg(SOCKET_FD, &message, MSG_CMSG_CLOEXEC);

	if (size != sizeof(text))
		return size < 0 && errno == EINTR;
	if (text.what == TEXT_DROP)
		text_keeper_drop(keeper, text.text.number);
	else if (!take_files(&message, &text.text) ||
		 text_keeper_add(keeper, &text.text) < 0)
		(void)!send(SOCKET_FD, &text.text.number,
			    sizeof(text.text.number), MSG_DONTWAIT);
	return true;
}

/* Such signals mean the collector; the keeper ends after its collector. */
static void ignore_signals(void)
{
	static const int signals[] = { SIGHUP,	SIGINT,	 SIGQUIT, SIGTERM,
				       SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE,
				       SIGXFSZ, SIGXCPU };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_IGN);
}

int text_guard_main(void)
{
	struct text_keeper keeper = { 0 };
	struct stat status;
	struct rlimit limit;

	if (fstat(SOCKET_FD, &status) < 0 || !S_ISSOCK(status.st_mode))
		return 2;
	ignore_signals();
	prctl(PR_SET_NAME, TEXT_GUARD_NAME);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	/* Keeps no mount busy. */
	(void)!chdir("/");
	while (take_keeper_message(&keeper))
		;
	text_keeper_restore(&keeper);
	return 0;
}
