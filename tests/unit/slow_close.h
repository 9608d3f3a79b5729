/* SPDX-License-Identifier: Apache-2.0
 *
 * slow_close - descriptors whose close(2) blocks until a test releases it. A
 * socket lingers, or the close() below holds its thread; the collector's code
 * calls that as well. (No FUSE file is available.)
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
	bool slow[1024];
	int held;
	int calls;
	bool released, one; /* all waiting calls may go on, or only one */
} g_slow_close = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

/* Replaces close() of the C library. It ends in the library's function, not in
 * the system call: ThreadSanitizer must see the close, or it confuses the
 * descriptor with the next one of the same number. */
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

/* Makes closer_close() of @fd hold its thread. */
static inline void slow_close_hold(int fd)
{
	scratch_must(fd >= 0 && fd < 1024, "few files");
	pthread_mutex_lock(&g_slow_close.lock);
	g_slow_close.slow[fd] = true;
	pthread_mutex_unlock(&g_slow_close.lock);
	closer_close(fd);
}

static inline void slow_close_await(int threads)
{
	pthread_mutex_lock(&g_slow_close.lock);
	while (g_slow_close.held < threads)
		pthread_cond_wait(&g_slow_close.changed, &g_slow_close.lock);
	pthread_mutex_unlock(&g_slow_close.lock);
}

/* Lets one held close() return. Its thread then takes the next waiting
 * descriptor and is held again; the closer gets another one to wait. */
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

static inline void slow_close_release(void)
{
	pthread_mutex_lock(&g_slow_close.lock);
	g_slow_close.released = true;
	pthread_cond_broadcast(&g_slow_close.changed);
	pthread_mutex_unlock(&g_slow_close.lock);
}

/* Holds all threads of the closer and fills its queue to the limit. */
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

/* Returns a socket whose close(2) blocks while *@peer is open. */
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
