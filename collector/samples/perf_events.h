/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_events - the kernel as a sampler of CPU time: task clock events of
 * threads, which put their samples into perf_buffers.
 *
 * An event that counts on all CPUs and is inherited cannot have a buffer
 * (perf_event_open(2)). So each thread that is there has one event for each
 * CPU, which its children inherit with the buffer.
 *
 * Open and close on one thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_PERF_EVENTS_H
#define PERFREC_COLLECTOR_SAMPLES_PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_buffers;
struct perf_wanted;

/* What an event counts. */
enum perf_event_kind {
	PERF_EVENT_TIME, /* CPU time; it also samples, and tells of threads */
	PERF_EVENT_FENCE, /* nothing: see perf_events.c */
	PERF_EVENT_SHOT, /* samples while it is enabled: perf_events_shoot() */
	PERF_EVENT_FAULTS,
	PERF_EVENT_COUNTER,
};

/* The events of one program: a descriptor and an id for each CPU and thread
 * that was there, and for each thing that is counted. */
struct perf_events {
	struct perf_event {
		int fd;
		enum perf_event_kind kind;
		uint32_t number; /* of a counter: perf_counters.h */
		uint64_t id;
	} * event;
	size_t count, room;
	uint32_t refused; /* mask of counters that could not be opened */
	int refused_err; /* -errno of one of these */
};

/*
 * Sample thread @tid, and all threads and processes that it makes from now on,
 * into @buffers. A process that execs is sampled no more, unless @wanted asks
 * for a tree. 0, or -errno with nothing opened: -ESRCH when the thread is gone;
 * -EACCES or -EPERM when the kernel does not allow it.
 */
int perf_events_open(struct perf_events *events, struct perf_buffers *buffers,
		     const struct perf_wanted *wanted, pid_t tid);
void perf_events_close(struct perf_events *events);
/* Let all of @events count and sample (@on), or stop that for now. */
void perf_events_enable(const struct perf_events *events, bool on);
/* Begin (@on) or end a shot: every thread of @events that runs for PERF_SHOT_NS
 * meanwhile is sampled, however short its life. */
void perf_events_shoot(const struct perf_events *events, bool on);
/* CPU time of all its threads that were ever sampled, in ns. */
uint64_t perf_events_total(const struct perf_events *events);

/* Whether the kernel lets this user sample what it does itself; decided by
 * opening an event that would. */
bool perf_events_kernel(void);

#endif
