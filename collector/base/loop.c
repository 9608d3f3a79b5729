/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/loop.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "collector/base/pulse.h"

#define EVENTS 64

int loop_new(void)
{
	int loop = epoll_create1(EPOLL_CLOEXEC);

	return loop < 0 ? -errno : loop;
}

int loop_add(int loop, struct watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN,
				     .data = { .ptr = watch } };

	return epoll_ctl(loop, EPOLL_CTL_ADD, watch->fd, &event) ? -errno : 0;
}

void loop_write(int loop, struct watch *watch)
{
	struct epoll_event event = { .events = EPOLLOUT,
				     .data = { .ptr = watch } };

	epoll_ctl(loop, EPOLL_CTL_MOD, watch->fd, &event);
}

void loop_remove(int loop, struct watch *watch)
{
	epoll_ctl(loop, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->ready = NULL;
}

void loop_run_once(int loop, int timeout_ms)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(loop, events, EVENTS, timeout_ms);

	for (int i = 0; i < count; i++) {
		struct watch *watch = events[i].data.ptr;

		if (watch->ready) {
			pulse_begin("deals with an event");
			watch->ready(watch);
			pulse_end();
		}
	}
}
