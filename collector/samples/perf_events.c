/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_events - one event for each CPU and each thread that was there: see
 * perf_open.c for what an event is asked to do.
 *
 * A swap moves what is left of a period from one task to another, too. Between
 * threads that evens out. But a shell's children take it with them to their
 * end: it had 200 ms of CPU time and no sample. So there is a fence, an event
 * that counts nothing and that only threads inherit. A forked child lacks it,
 * and the kernel swaps only what is the same. (PERF_SAMPLE_READ stops all swaps
 * since Linux 6.12, but a switch between two threads then took 6.7 instead of
 * 4.6 us.)
 */
#include "collector/samples/perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/samples/perf_buffers.h"
#include "collector/samples/perf_open.h"

static int open_one(const struct perf_wanted *wanted, pid_t tid, int cpu)
{
	struct perf_event_attr attr = perf_open_attributes(wanted);
	int fd = perf_open(&attr, tid, cpu);

	if (fd == -EINVAL || fd == -E2BIG) {
		attr.remove_on_exec = 0;
		fd = perf_open(&attr, tid, cpu);
	}
	return fd;
}

static int add_event(struct perf_events *events,
		     const struct perf_wanted *wanted, pid_t tid, int cpu,
		     int output)
{
	struct perf_event *event = &events->event[events->count];
	int err = 0;

	event->fd = open_one(wanted, tid, cpu);
	if (event->fd < 0)
		return event->fd;
	if (ioctl(event->fd, PERF_EVENT_IOC_ID, &event->id) < 0 ||
	    ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT, output) < 0)
		err = -errno;
	if (err)
		close(event->fd);
	else
		events->count++;
	return err;
}

/* Add the fence (above). Before Linux 5.13 the kernel has none: then there is
 * no fence. */
static void add_fence(struct perf_events *events, pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_ID,
		.inherit = 1,
		.inherit_thread = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.remove_on_exec = 1,
	};
	struct perf_event *event = &events->event[events->count];

	event->fd = perf_open(&attr, tid, -1);
	if (event->fd < 0)
		return;
	if (ioctl(event->fd, PERF_EVENT_IOC_ID, &event->id) < 0)
		close(event->fd);
	else
		events->count++;
}

int perf_events_open(struct perf_events *events, struct perf_buffers *buffers,
		     const struct perf_wanted *wanted, pid_t tid)
{
	size_t before = events->count;
	int err = grow_array(events->event, events->room,
			     events->count + buffers->count + 1);

	/* First, for its place in the list. */
	if (!err && !wanted->tree)
		add_fence(events, tid);
	for (size_t i = 0; i < buffers->count && !err; i++)
		err = add_event(events, wanted, tid, buffers->buffer[i].cpu,
				buffers->buffer[i].fd);
	while (err && events->count > before)
		close(events->event[--events->count].fd);
	return err;
}

void perf_events_close(struct perf_events *events)
{
	while (events->count)
		close(events->event[--events->count].fd);
	free(events->event);
	*events = (struct perf_events){ 0 };
}

void perf_events_enable(const struct perf_events *events, bool on)
{
	for (size_t i = 0; i < events->count; i++)
		ioctl(events->event[i].fd,
		      on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t perf_events_total(const struct perf_events *events)
{
	uint64_t total = 0;

	for (size_t i = 0; i < events->count; i++) {
		struct {
			uint64_t value, id;
		} now;

		if (read(events->event[i].fd, &now, sizeof(now)) == sizeof(now))
			total += now.value;
	}
	return total;
}

bool perf_events_kernel(void)
{
	const struct perf_wanted wanted = { .period_ns = 1000000000 };
	int fd = open_one(&wanted, 0, -1);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}
