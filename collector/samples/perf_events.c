/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_events - opening, closing and counting; the buffers are in
 * perf_buffers.c.
 *
 * What the attributes are for: inherit, threads and children that come later;
 * inherit_stat, each of those tells when it ends how long it ran (READ), which
 * also keeps the counts with their threads when contexts are swapped;
 * remove_on_exec, another image says hello and gets events of its own (before
 * Linux 5.13: comm_exec tells, and the caller leaves out what comes after);
 * task and comm, who forked whom and what threads are called. Events of a tree
 * have no period: they count and tell, and go on across execs.
 *
 * Those are pinned, which software events need not be, for their place in the
 * kernel's lists. Where it swaps contexts it pairs their events by the order of
 * a list, and moves the counts of each pair. In a thread that opens events this
 * is the order of opening; in one that inherits them it is pinned ones first,
 * then by CPU. With events of a tree and of a group, each for two CPUs, none of
 * them pinned, the two orders differ, and counts of one went to the other
 * (Linux 6.18: 0.98 and 1.03 s, where both should have had 1.00).
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
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/samples/perf_buffers.h"

#define PERIOD_MIN_NS 10000 /* the kernel's own limit of its timer */

int perf_events_syscall(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static struct perf_event_attr attributes(const struct perf_wanted *wanted)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = wanted->period_ns < PERIOD_MIN_NS
					 ? PERIOD_MIN_NS
					 : wanted->period_ns,
		.sample_type = PERF_SAMPLE,
		.read_format = PERF_FORMAT_ID,
		.disabled = 1,
		.inherit = 1,
		.inherit_stat = 1,
		.exclude_kernel = wanted->no_kernel,
		.exclude_hv = wanted->no_kernel,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
		.remove_on_exec = 1,
		.sample_regs_user = PERF_REGS,
		.sample_stack_user = wanted->stack_bytes & ~7u,
	};

	if (wanted->tree) {
		attr.pinned = 1;
		attr.sample_period = 0;
		attr.sample_type = PERF_TREE;
		attr.remove_on_exec = 0;
		attr.sample_regs_user = 0;
		attr.sample_stack_user = 0;
	}
	return attr;
}

static int open_one(const struct perf_wanted *wanted, pid_t tid, int cpu)
{
	struct perf_event_attr attr = attributes(wanted);
	int fd = perf_events_syscall(&attr, tid, cpu);

	if (fd == -EINVAL || fd == -E2BIG) {
		attr.remove_on_exec = 0;
		fd = perf_events_syscall(&attr, tid, cpu);
	}
	return fd;
}

static int make_room(struct perf_events *events, size_t more)
{
	size_t room = events->count + more;
	struct perf_event *longer;

	if (room <= events->room)
		return 0;
	longer = realloc(events->event, room * sizeof(*longer));
	if (!longer)
		return -ENOMEM;
	events->event = longer;
	events->room = room;
	return 0;
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

/* Where the kernel has none (before Linux 5.13) it does without. */
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

	event->fd = perf_events_syscall(&attr, tid, -1);
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
	size_t before = events->count, i;
	int err = make_room(events, buffers->count + 1);

	/* First, for its place in the list. */
	if (!err && !wanted->tree)
		add_fence(events, tid);
	for (i = 0; i < buffers->count && !err; i++)
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
	size_t i;

	for (i = 0; i < events->count; i++)
		ioctl(events->event[i].fd,
		      on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t perf_events_total(const struct perf_events *events)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < events->count; i++) {
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
