/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_events - the kernel as a sampler of CPU time: one buffer for each CPU,
 * and task clock events of threads that put their samples there.
 *
 * An event that counts on all CPUs and is inherited cannot have a buffer
 * (perf_event_open(2)). So each thread that is there has one event for each
 * CPU, which its children inherit with the buffer. Buffers are locked memory,
 * of which a user may have little: all programs share those of the collector,
 * which belong to an event of its own that counts nothing.
 *
 * Open and close on one thread; read under a lock of the caller's.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_PERF_EVENTS_H
#define PERFREC_COLLECTOR_SAMPLES_PERF_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/record_ext.h"

struct perf_buffers;

/* What the events of a program are to do. */
struct perf_wanted {
	uint64_t period_ns; /* of CPU time, between two samples of a thread */
	uint32_t stack_bytes;
	bool no_kernel; /* not in the kernel: it is counted, not sampled */
	bool tree; /* take no samples, count across execs */
};

/* One record out of a buffer, as the kernel wrote it (perf_event_open(2)),
 * taken apart. */
struct perf_record {
	uint32_t type; /* enum perf_event_type; others are not passed on */
	uint64_t id; /* of the event: perf_events_open() */
	pid_t pid, tid; /* whom it is about, in our namespace; of THROTTLE and
			 * LOST: who ran */
	uint64_t ns; /* CLOCK_BOOTTIME */
	pid_t parent_pid, parent_tid; /* FORK */
	const char *name; /* COMM: NUL-terminated */
	bool exec; /* COMM: by exec */
	uint64_t value; /* READ: ns of CPU time; LOST: how many */
	/* SAMPLE */
	bool in_kernel;
	bool has_user; /* reg and stack are set */
	uint64_t reg[RECORD_REGS];
	const uint8_t *stack; /* until the call back returns */
	uint32_t stack_bytes, stack_asked;
};

typedef void perf_visit(void *context, const struct perf_record *record);

/* Buffers for @wanted on every CPU that there is. *@denied: the kernel does
 * not allow us to. 0 or -errno. */
int perf_buffers_new(const struct perf_wanted *wanted,
		     struct perf_buffers **out);
void perf_buffers_free(struct perf_buffers **buffers);
/* An epoll descriptor that is ready when a buffer is half full. */
int perf_buffers_fd(const struct perf_buffers *buffers);
/* Whether there may be something unread: a glance. Any thread. */
bool perf_buffers_ready(const struct perf_buffers *buffers);
/* Call @visit for all that lies in the buffers, the records of each CPU in
 * their order, those of all nearly so. */
void perf_buffers_read(struct perf_buffers *buffers, perf_visit *visit,
		       void *context);
/* The size of one of them. */
size_t perf_buffers_bytes(const struct perf_buffers *buffers);

/* The events of one program: a descriptor and an id for each CPU and thread
 * that was there. */
struct perf_events {
	struct perf_event {
		int fd;
		uint64_t id;
	} * event;
	size_t count, room;
};

/*
 * Sample thread @tid, and all it makes from now on, threads and processes,
 * until they exec (or not: @wanted says). 0, or -errno with nothing opened:
 * -ESRCH, it is gone; -EACCES, -EPERM: we may not.
 */
int perf_events_open(struct perf_events *events, struct perf_buffers *buffers,
		     const struct perf_wanted *wanted, pid_t tid);
void perf_events_close(struct perf_events *events);
/* Count and sample, or do not. */
void perf_events_enable(const struct perf_events *events, bool on);
/* CPU time of all its threads that were ever sampled, in ns. */
uint64_t perf_events_total(const struct perf_events *events);

/* Whether the kernel lets us see itself; decided by trying. */
bool perf_events_kernel(void);

#endif
