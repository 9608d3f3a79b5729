/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/closer.h"

#include <assert.h>
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

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "shared/compiler.h"

#define INTERRUPT_NS 50000000
/* If no thread has asked for another descriptor for this long, the descriptors
 * in hand hold all threads. */
#define HELD_NS 50000000
/* Pause before an idle thread looks at the queue again. */
#define LINGER_NS 1000000
/* With this many descriptors waiting, another thread starts instead. */
#define LINGER_WAITING_MAX 16
/* Most messages to read off a socket; its queue holds a few hundred. */
#define UNREAD_MAX 4096

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct closing {
	struct closing *next;
	int fd;
};

struct closer {
	pthread_cond_t more;
	struct closing *first, **last;
	unsigned int waiting, threads, idle, threads_max;
	unsigned int closing; /* threads with a descriptor in hand */
	uint64_t asked_ns; /* last request for a descriptor; MONOTONIC */
	unsigned int coming; /* idle threads that were woken */
	unsigned int lingering; /* threads that will look without a signal */
	bool of_sockets;
};

static struct lock g_lock = LOCK_INITIALIZER(CLOSER); /* of both closers */

static struct closer g_descriptors = {
	.more = PTHREAD_COND_INITIALIZER,
	.last = &g_descriptors.first,
	.threads_max = CLOSER_THREADS,
};

static struct closer g_sockets = {
	.more = PTHREAD_COND_INITIALIZER,
	.last = &g_sockets.first,
	.threads_max = CLOSER_SOCKET_THREADS,
	.of_sockets = true,
};

/* --- the threads --------------------------------------------------------- */

static void *run_closer(void *context);

static int start_thread(struct closer *closer)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t ignored;
	int err = pthread_attr_init(&attributes);

	if (err)
		return -err;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* The main thread handles all signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&ignored, &attributes, run_closer, closer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -err;
}

/* Wakes or starts a thread, unless one will look at the queue anyway. g_lock
 * held. */
static void tell_one(struct closer *closer)
{
	if (closer->coming ||
	    (closer->lingering && closer->waiting < LINGER_WAITING_MAX))
		return;
	if (!closer->idle) {
		if (closer->threads == closer->threads_max ||
		    start_thread(closer) < 0)
			return;
		closer->threads++;
	}
	closer->coming++;
	pthread_cond_signal(&closer->more);
}

static void ignore_signal(int number)
{
	(void)number;
}

/* Makes a timer that interrupts close(2) in the calling thread by SIGRTMIN,
 * which other threads block or never get. Returns false if timers are not
 * available. */
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

/* Discards unread messages. Otherwise the peer gets ECONNRESET and loses the
 * last messages from this side. */
static void drop_unread(int socket)
{
	char bytes[4096];

	for (int i = 0; i < UNREAD_MAX; i++)
		if (recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
			break;
}

static void set_interrupts(timer_t *timer, long every_ns)
{
	const struct itimerspec often = { { 0, every_ns }, { 0, every_ns } };

	if (timer)
		timer_settime(*timer, 0, &often, NULL);
}

static void wait_until_told(struct closer *closer)
{
	lock_acquire(&g_lock);
	closer->idle++;
	while (!closer->coming)
		lock_wait(&g_lock, &closer->more);
	closer->coming--;
	closer->idle--;
	lock_release(&g_lock);
}

static void linger(struct closer *closer)
{
	const struct timespec pause = { 0, LINGER_NS };

	closer->lingering++;
	lock_release(&g_lock);
	nanosleep(&pause, NULL);
	lock_acquire(&g_lock);
	closer->lingering--;
}

/* Returns the next descriptor to close, or NULL. Frees @done, the entry of the
 * descriptor just closed (may be NULL). */
static struct closing *next_closing(struct closer *closer, struct closing *done)
{
	uint64_t now = clock_monotonic_ns();
	struct closing *closing;

	free(done);
	lock_acquire(&g_lock);
	closer->closing -= done != NULL;
	closer->asked_ns = now;
	if (!closer->first)
		linger(closer);
	closing = closer->first;
	if (closing) {
		closer->first = closing->next;
		if (!closer->first)
			closer->last = &closer->first;
		closer->waiting--;
		closer->closing++;
		/* The descriptor may block this thread, so another must
		 * look. */
		if (closer->first)
			tell_one(closer);
	}
	lock_release(&g_lock);
	return closing;
}

static void *run_closer(void *context)
{
	struct closer *closer = context;
	struct closing *closing = NULL;
	timer_t storage, *timer = make_interrupts(&storage) ? &storage : NULL;

	pthread_setname_np(pthread_self(), "perfrec-closer");
	for (;;) {
		wait_until_told(closer);
		set_interrupts(timer, INTERRUPT_NS);
		while ((closing = next_closing(closer, closing))) {
			if (closer->of_sockets)
				drop_unread(closing->fd);
			close(closing->fd);
		}
		set_interrupts(timer, 0);
	}
	return NULL;
}

/* --- what others call ---------------------------------------------------- */

static void close_by(struct closer *closer, int fd)
{
	struct closing *closing = calloc(1, sizeof(*closing));
	bool queued = false;

	if (closing) {
		closing->fd = fd;
		lock_acquire(&g_lock);
		tell_one(closer);
		queued = closer->threads > 0;
		if (queued) {
			*closer->last = closing;
			closer->last = &closing->next;
			closer->waiting++;
		}
		lock_release(&g_lock);
	}
	if (queued)
		return;
	free(closing);
	close(fd);
}

void closer_close(int fd)
{
	close_by(&g_descriptors, fd);
}

void closer_close_socket(int fd)
{
	shutdown(fd, SHUT_RDWR);
	close_by(&g_sockets, fd);
}

bool closer_is_full(void)
{
	uint64_t now = clock_monotonic_ns();
	bool held, full;

	lock_acquire(&g_lock);
	held = g_descriptors.closing == g_descriptors.threads &&
	       now >= g_descriptors.asked_ns + HELD_NS;
	full = g_descriptors.waiting >= CLOSER_UNSERVED_MAX ||
	       (held && g_descriptors.waiting >= CLOSER_WAITING_MAX);
	lock_release(&g_lock);
	return full;
}

ssize_t closer_receive(int socket, void *bytes, size_t size, int *fds,
		       size_t fd_max, size_t *fd_count, int *cut)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(CLOSER_FDS_MAX * sizeof(int))];
	} control;
	struct iovec data = { bytes, size };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *part;
	ssize_t length;

	*fd_count = 0;
	*cut = 0;
	assert(fd_max <= CLOSER_FDS_MAX);
	/* Not CMSG_SPACE(): its padding has room for one more. */
	message.msg_control = fd_max ? control.bytes : NULL;
	message.msg_controllen = fd_max ? CMSG_LEN(fd_max * sizeof(int)) : 0;
	length = recvmsg(socket, &message,
			 MSG_PEEK | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (length < 0)
		return -errno;
	part = CMSG_FIRSTHDR(&message);
	if (part && part->cmsg_level == SOL_SOCKET &&
	    part->cmsg_type == SCM_RIGHTS) {
		*fd_count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		*fd_count = MIN(*fd_count, fd_max);
		memcpy(fds, CMSG_DATA(part), *fd_count * sizeof(int));
	}
	if (!(message.msg_flags & MSG_CTRUNC)) {
		/* Removes the message. The kernel then drops its references,
		 * but the same files are open here: none is closed for good. */
		(void)!recv(socket, bytes, (size_t)length, MSG_DONTWAIT);
		return length;
	}
	*cut = *fd_count < fd_max ? -EMFILE : -E2BIG;
	while (*fd_count)
		closer_close(fds[--*fd_count]);
	return length;
}
