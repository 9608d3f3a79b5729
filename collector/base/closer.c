/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/closer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/lock.h"

#define CLOSER_THREADS 16
#define INTERRUPT_NS 50000000

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct closing {
	struct closing *next;
	int fd;
};

static struct {
	struct lock lock;
	pthread_cond_t more;
	struct closing *first, **last;
	unsigned int waiting, threads, idle;
} g_closer = {
	.lock = LOCK_INITIALIZER(CLOSER),
	.more = PTHREAD_COND_INITIALIZER,
	.last = &g_closer.first,
};

/* --- the threads -------------------------------------------------------------
 */

static void ignore_signal(int number)
{
	(void)number;
}

/* SIGRTMIN is only for interrupting close(2) in the thread that calls this:
 * others have it blocked or never get it. False: there is no such timer. */
static bool make_interrupts(timer_t *timer)
{
	struct sigaction action = { .sa_handler = ignore_signal };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = SIGRTMIN };
	sigset_t set;

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	return sigaction(SIGRTMIN, &action, NULL) == 0 &&
	       pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0 &&
	       timer_create(CLOCK_MONOTONIC, &event, timer) == 0;
}

static void close_interrupted(timer_t *timer, int fd)
{
	const struct itimerspec often = { { 0, INTERRUPT_NS },
					  { 0, INTERRUPT_NS } };
	const struct itimerspec off = { { 0, 0 }, { 0, 0 } };

	if (timer)
		timer_settime(*timer, 0, &often, NULL);
	close(fd);
	if (timer)
		timer_settime(*timer, 0, &off, NULL);
}

static struct closing *next_closing(void)
{
	struct closing *closing;

	lock_acquire(&g_closer.lock);
	g_closer.idle++;
	while (!g_closer.first)
		lock_wait(&g_closer.lock, &g_closer.more);
	g_closer.idle--;
	closing = g_closer.first;
	g_closer.first = closing->next;
	if (!g_closer.first)
		g_closer.last = &g_closer.first;
	g_closer.waiting--;
	lock_release(&g_closer.lock);
	return closing;
}

static void *run_closer(void *unused)
{
	timer_t timer;
	bool has_timer = make_interrupts(&timer);

	(void)unused;
	pthread_setname_np(pthread_self(), "perfrec-closer");
	for (;;) {
		struct closing *closing = next_closing();
		int fd = closing->fd;

		free(closing);
		close_interrupted(has_timer ? &timer : NULL, fd);
	}
	return NULL;
}

/* 0 or -errno. */
static int start_closer(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t ignored;
	int err = pthread_attr_init(&attributes);

	if (err)
		return -err;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&ignored, &attributes, run_closer, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -err;
}

/* --- what others call --------------------------------------------------------
 */

/* Queues @closing. False: there is no thread for it. */
static bool queue_closing(struct closing *closing)
{
	bool queued = true;

	lock_acquire(&g_closer.lock);
	if (g_closer.waiting >= g_closer.idle &&
	    g_closer.threads < CLOSER_THREADS) {
		if (start_closer() == 0)
			g_closer.threads++;
		queued = g_closer.threads > 0;
	}
	if (queued) {
		*g_closer.last = closing;
		g_closer.last = &closing->next;
		g_closer.waiting++;
		pthread_cond_signal(&g_closer.more);
	}
	lock_release(&g_closer.lock);
	return queued;
}

void closer_close(int fd)
{
	struct closing *closing = calloc(1, sizeof(*closing));

	if (closing)
		closing->fd = fd;
	if (closing && queue_closing(closing))
		return;
	free(closing);
	close(fd);
}

void closer_close_socket(int fd)
{
	shutdown(fd, SHUT_RDWR);
	closer_close(fd);
}

/* Keeps up to @fd_max of the descriptors of @message, and closes the rest. */
static size_t sort_descriptors(struct msghdr *message, int *fds, size_t fd_max)
{
	size_t kept = 0;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		const unsigned char *from = CMSG_DATA(part);
		size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET ||
		    part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, from + i * sizeof(fd), sizeof(fd));
			if (kept < fd_max)
				fds[kept++] = fd;
			else
				closer_close(fd);
		}
	}
	return kept;
}

ssize_t closer_receive(int socket, void *bytes, size_t size, int *fds,
		       size_t fd_max, size_t *fd_count, bool *cut)
{
	/* Room for all: those without room are closed by recvmsg(). */
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(CLOSER_MESSAGE_FDS * sizeof(int))];
	} control;
	struct iovec data = { bytes, size };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control),
	};
	ssize_t length =
		recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	*fd_count = 0;
	if (length < 0)
		return -errno;
	if (cut)
		*cut = message.msg_flags & MSG_CTRUNC;
	*fd_count = sort_descriptors(&message, fds, fd_max);
	return length;
}
