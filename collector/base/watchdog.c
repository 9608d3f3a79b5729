/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/watchdog.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/proc.h"
#include "collector/base/pulse.h"
#include "shared/compiler.h"

#define LOOK_MS 1000
#define NAME_BYTES 32
/* Late threads that are remembered at once. */
#define LATE_MAX 64

struct late {
	pid_t tid;
	uint64_t since_ns;
	uint64_t next_ns; /* time of the next line */
};

static struct watchdog {
	enum log_level level;
	pthread_t thread;
	bool started;
	int end_fd; /* eventfd: ends the thread */
	struct late late[LATE_MAX];
} g;

/* Returns the entry of the piece of work @pulse, or a new one, or NULL without
 * room. An entry of an older piece of work may be reused. */
static struct late *late_of(const struct pulse *pulse)
{
	struct late *room = NULL;

	for (size_t i = 0; i < LATE_MAX; i++) {
		struct late *late = &g.late[i];

		if (late->tid == pulse->tid &&
		    late->since_ns == pulse->since_ns)
			return late;
		if (!late->tid || late->tid == pulse->tid)
			room = late;
	}
	if (room)
		*room = (struct late){ pulse->tid, pulse->since_ns, 0 };
	return room;
}

static bool tell(const struct pulse *pulse, uint64_t now_ns,
		 enum log_level level)
{
	struct late *late = late_of(pulse);
	uint64_t busy_ns = now_ns - pulse->since_ns;
	char name[NAME_BYTES];

	if (!late || now_ns < late->next_ns)
		return false;
	late->next_ns = now_ns + busy_ns;
	proc_read(pulse->tid, "comm", name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	log_at(level,
	       "thread %s (%d) has made no progress for %llu s: it %s; work "
	       "that needs it is late",
	       name[0] ? name : "?", (int)pulse->tid,
	       (unsigned long long)(busy_ns / 1000000000), pulse->what);
	return true;
}

unsigned int watchdog_look(uint64_t now_ns, enum log_level level)
{
	bool seen[LATE_MAX] = { false };
	unsigned int lines = 0;
	struct pulse pulse;
	size_t at = 0;

	while (pulse_next(&at, &pulse)) {
		if (now_ns < pulse.since_ns + WATCHDOG_LATE_NS)
			continue;
		lines += tell(&pulse, now_ns, level);
		for (size_t i = 0; i < LATE_MAX; i++)
			seen[i] |= g.late[i].tid == pulse.tid;
	}
	for (size_t i = 0; i < LATE_MAX; i++)
		if (!seen[i])
			g.late[i].tid = 0;
	return lines;
}

static void *watch_work(void *unused)
{
	struct pollfd end = { .fd = g.end_fd, .events = POLLIN };

	(void)unused;
	pthread_setname_np(pthread_self(), "perfrec-dog");
	while (poll(&end, 1, LOOK_MS) <= 0)
		watchdog_look(clock_monotonic_ns(), g.level);
	return NULL;
}

int watchdog_start(enum log_level level)
{
	int err;

	g.level = level;
	g.end_fd = eventfd(0, EFD_CLOEXEC);
	if (g.end_fd < 0)
		return -errno;
	err = pthread_create(&g.thread, NULL, watch_work, NULL);
	g.started = !err;
	if (err)
		close(g.end_fd);
	return -err;
}

void watchdog_stop(void)
{
	if (!g.started)
		return;
	(void)eventfd_write(g.end_fd, 1);
	pthread_join(g.thread, NULL);
	close(g.end_fd);
	g.started = false;
}
