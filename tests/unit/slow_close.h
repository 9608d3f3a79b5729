/* SPDX-License-Identifier: Apache-2.0
 *
 * slow_close - descriptors whose close(2) takes as long as a test likes: a
 * socket that lingers, and, as no file of FUSE is at hand, a close(2) of the
 * test's own, which the collector's code in it calls, too.
 */
#ifndef PERFREC_TESTS_UNIT_SLOW_CLOSE_H
#define PERFREC_TESTS_UNIT_SLOW_CLOSE_H

#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/base/closer.h"
#include "tests/unit/scratch.h"

#define SLOW_CLOSE_FULL (CLOSER_THREADS + CLOSER_WAITING_MAX)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool slow[1024]; /* by descriptor */
	int held; /* calls of close() that wait */
	int calls; /* that have waited so far */
	bool released, one; /* all, or one of them */
} g_slow_close = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

/* In place of that of the C library. That one is called in the end, and not the
 * kernel: ThreadSanitizer takes the number of a descriptor that it did not see
 * closed for the same descriptor when the number is used again. */
int close(int fd)
{
	int (*real_close)(int);

	pthread_mutex_lock(&g_slow_close.lock);
	*(void **)&real_close = dlsym(RTLD_NEXT, "close");
	if (fd >= 0 && fd < 1024 && g_slow_close.slow[fd]) {
		g_slow_close.slow[fd] = false;
		g_slow_close.held++;
		g_slow_close.calls++;
		pthread_cond_broadcast(&g_slow_close.changed);
		while (!g_slow_close.released && !g_slow_close.one)
			pthread_cond_wait(&g_slow_close.changed,
					  &g_slow_close.lock);
		g_slow_close.one = false;
		g_slow_close.held--;
	}
	pthread_mutex_unlock(&g_slow_close.lock);
	return real_close(fd);
}

/* From now on closer_close() of @fd holds its thread. */
static inline void slow_close_hold(int fd)
{
	scratch_must(fd >= 0 && fd < 1024, "few files");
	pthread_mutex_lock(&g_slow_close.lock);
	g_slow_close.slow[fd] = true;
	pthread_mutex_unlock(&g_slow_close.lock);
	closer_close(fd);
}

/* Waits until @threads are held. */
static inline void slow_close_await(int threads)
{
	pthread_mutex_lock(&g_slow_close.lock);
	while (g_slow_close.held < threads)
		pthread_cond_wait(&g_slow_close.changed, &g_slow_close.lock);
	pthread_mutex_unlock(&g_slow_close.lock);
}

/* One of those that are held is closed, and the next one of those that wait
 * holds its thread; one more waits then. */
static inline void slow_close_release_one(void)
{
	int held;

	closer_close(open("/dev/null", O_RDONLY | O_CLOEXEC));
	pthread_mutex_lock(&g_slow_close.lock);
	held = g_slow_close.calls;
	g_slow_close.one = true;
	pthread_cond_broadcast(&g_slow_close.changed);
	while (g_slow_close.calls == held)
		pthread_cond_wait(&g_slow_close.changed, &g_slow_close.lock);
	pthread_mutex_unlock(&g_slow_close.lock);
}

/* Nothing is held any more. */
static inline void slow_close_release(void)
{
	pthread_mutex_lock(&g_slow_close.lock);
	g_slow_close.released = true;
	pthread_cond_broadcast(&g_slow_close.changed);
	pthread_mutex_unlock(&g_slow_close.lock);
}

/* Holds all threads of the closer, and has as many wait as there may be. */
static inline void slow_close_fill(void)
{
	for (int i = 0; i < SLOW_CLOSE_FULL; i++) {
		if (i == CLOSER_THREADS)
			slow_close_await(CLOSER_THREADS);
		slow_close_hold(open("/dev/null", O_RDONLY | O_CLOEXEC));
	}
	while (!closer_is_full())
		usleep(1000);
}

/* A socket that close(2) waits for: its peer reads nothing. *@peer keeps the
 * connection up. */
static inline int slow_close_socket(int *peer)
{
	const struct linger linger = { 1, 3600 };
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[4096] = { 0 };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	scratch_must(!bind(listening, (struct sockaddr *)&address, size),
		     "bind");
	scratch_must(!listen(listening, 1), "listen");
	scratch_must(
		!getsockname(listening, (struct sockaddr *)&address, &size),
		"getsockname");
	scratch_must(!connect(fd, (struct sockaddr *)&address, size),
		     "connect");
	*peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	scratch_must(*peer >= 0, "accept");
	close(listening);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	scratch_must(
		!setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)),
		"linger");
	return fd;
}

#endif
