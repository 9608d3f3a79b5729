/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_events - one event per CPU and per existing thread; perf_open.c explains
 * the attributes of an event.
 *
 * A swap also moves the rest of a period from one task to another. Between
 * threads that evens out. But a shell's children take it with them at their
 * end: a shell had 200 ms of CPU time and no sample. So there is a fence, an
 * event that counts nothing and that only threads inherit. A forked child lacks
 * it, and the kernel swaps only equal sets of events. (PERF_SAMPLE_READ stops
 * all swaps since Linux 6.12, but a switch between two threads then took 6.7
 * instead of 4.6 us.)
 *
 * A swap also exchanges the counts of events, in pairs by their place in a list
 * (perf_open.c). In a thread that inherits its events the list is ordered by
 * CPU, and on each CPU by the address of the kernel's driver of the event. So
 * events are opened CPU by CPU. Page faults are in the group of the event that
 * counts time, and always come after it. The drivers of hardware counters have
 * lower addresses than that of the task clock: arch/ is linked before kernel/,
 * and others are in allocated memory. So counters come first. (They cannot be
 * in the group: if the CPU has no counter left, a whole group does not count,
 * and there would be no CPU time.) Only the counts of the event that counts
 * time matter; the others only write samples.
 */
#include "collector/samples/perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/perf_open.h"
#include "collector/samples/perf_buffers.h"
#include "collector/samples/perf_counters.h"
#include "shared/compiler.h"

static int open_perf_event(struct perf_event_attr *attr, pid_t tid, int cpu,
			   int leader)
{
	int fd = perf_open_beside(attr, tid, cpu, leader);

	if (fd == -EINVAL || fd == -E2BIG) {
		attr->remove_on_exec = 0;
		fd = perf_open_beside(attr, tid, cpu, leader);
	}
	return fd;
}

/* Adds @event, whose descriptor and id are set here, in the group of @leader
 * (-1: none). Returns the descriptor, or -errno. */
static int add_event(struct perf_events *events, const struct perf_event *event,
		     struct perf_event_attr attr, pid_t tid,
		     const struct perf_buffer *buffer, int leader)
{
	struct perf_event *added = &events->event[events->count];
	int err = 0;

	*added = *event;
	attr.clockid = buffer->clock;
	added->fd = open_perf_event(&attr, tid, buffer->cpu, leader);
	if (added->fd < 0)
		return added->fd;
	if (ioctl(added->fd, PERF_EVENT_IOC_ID, &added->id) < 0 ||
	    ioctl(added->fd, PERF_EVENT_IOC_SET_OUTPUT, buffer->fd) < 0)
		err = -errno;
	if (err) {
		close(added->fd);
		return err;
	}
	events->count++;
	return added->fd;
}

static void add_perf_counters(struct perf_events *events,
			      const struct perf_wanted *wanted, pid_t tid,
			      const struct perf_buffer *buffer)
{
	for (uint32_t i = 0; wanted->counters >> i; i++) {
		const struct perf_event event = { .kind = PERF_EVENT_COUNTER,
						  .number = i };
		int fd;

		if (!(wanted->counters >> i & 1))
			continue;
		fd = add_event(events, &event,
			       perf_counter_attributes(i, wanted->no_kernel),
			       tid, buffer, -1);
		if (fd >= 0 || fd == -ESRCH)
			continue;
		events->refused |= 1u << i;
		events->refused_err = fd;
	}
}

/* Adds the events of thread @tid on the CPU of @buffer, in the order that the
 * head of this file explains. Returns 0 or -errno. */
static int add_events(struct perf_events *events,
		      const struct perf_wanted *wanted, pid_t tid,
		      const struct perf_buffer *buffer)
{
	const struct perf_event time = { .kind = PERF_EVENT_TIME };
	const struct perf_event shot = { .kind = PERF_EVENT_SHOT };
	const struct perf_event faults = { .kind = PERF_EVENT_FAULTS };
	int leader, fd;

	add_perf_counters(events, wanted, tid, buffer);
	fd = leader = add_event(events, &time, perf_open_attributes(wanted),
				tid, buffer, -1);
	if (fd >= 0 && perf_wants_shots(wanted))
		fd = add_event(events, &shot, perf_open_for_shots(wanted), tid,
			       buffer, leader);
	if (fd >= 0 && wanted->faults)
		fd = add_event(events, &faults,
			       perf_open_counted(PERF_TYPE_SOFTWARE,
						 PERF_COUNT_SW_PAGE_FAULTS, 1),
			       tid, buffer, leader);
	return MIN(fd, 0);
}

/* Adds the fence that the head of this file explains. Kernels before Linux 5.13
 * cannot have one. */
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

	*event = (struct perf_event){ .kind = PERF_EVENT_FENCE };
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
	size_t each = 1 + (wanted->period_ns != 0) + wanted->faults +
		      (size_t)__builtin_popcount(wanted->counters);
	int err = grow_array(events->event, events->room,
			     events->count + buffers->count * each + 1);

	/* Must be first in the list. */
	if (!err && !wanted->tree)
		add_fence(events, tid);
	for (size_t i = 0; i < buffers->count && !err; i++)
		err = add_events(events, wanted, tid, &buffers->buffer[i]);
	while (err && events->count > before)
		close(events->event[--events->count].fd);
	return err;
}

int perf_events_open_wakings(struct perf_events *events,
			     const struct perf_buffers *buffers,
			     const struct perf_event_attr *attr)
{
	const struct perf_event waking = { .kind = PERF_EVENT_WAKING };
	int err = grow_array(events->event, events->room, buffers->count);

	for (size_t i = 0; i < buffers->count && err >= 0; i++)
		err = add_event(events, &waking, *attr, -1, &buffers->buffer[i],
				-1);
	if (err < 0)
		perf_events_close(events);
	return MIN(err, 0);
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
		if (!on || events->event[i].kind != PERF_EVENT_SHOT)
			ioctl(events->event[i].fd,
			      on ? PERF_EVENT_IOC_ENABLE
				 : PERF_EVENT_IOC_DISABLE,
			      0);
}

void perf_events_shoot(const struct perf_events *events, bool on)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->event[i].kind == PERF_EVENT_SHOT)
			ioctl(events->event[i].fd,
			      on ? PERF_EVENT_IOC_ENABLE
				 : PERF_EVENT_IOC_DISABLE,
			      0);
}

uint64_t perf_events_total(const struct perf_events *events)
{
	uint64_t total = 0;

	for (size_t i = 0; i < events->count; i++) {
		struct {
			uint64_t value, id;
		} now;

		if (events->event[i].kind == PERF_EVENT_TIME &&
		    read(events->event[i].fd, &now, sizeof(now)) == sizeof(now))
			total += now.value;
	}
	return total;
}

bool perf_events_kernel(void)
{
	const struct perf_wanted wanted = { .period_ns = 1000000000 };
	struct perf_event_attr attr = perf_open_attributes(&wanted);
	int fd = open_perf_event(&attr, 0, -1, -1);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}
