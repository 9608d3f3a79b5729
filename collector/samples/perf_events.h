/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_events - task clock events of threads: the kernel samples their CPU time
 * into perf_buffers.
 *
 * An inherited event that counts on all CPUs cannot have a buffer
 * (perf_event_open(2)). So each existing thread has one event per CPU, which
 * its children inherit with the buffer.
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
struct perf_event_attr;
struct perf_wanted;

enum perf_event_kind {
	PERF_EVENT_TIME, /* CPU time; also samples and records of threads */
	PERF_EVENT_FENCE, /* nothing: see perf_events.c */
	PERF_EVENT_SHOT, /* samples while enabled: perf_events_shoot() */
	PERF_EVENT_FAULTS,
	PERF_EVENT_COUNTER,
	PERF_EVENT_WAKING, /* a thread of any process wakes another */
};

/* The events of one program: a descriptor and an id for each CPU, each thread
 * at the start, and each counted kind. */
struct perf_events {
	struct perf_event {
		int fd;
		enum perf_event_kind kind;
		uint32_t number; /* of a counter: perf_counters.h */
		uint64_t id;
	} * event;
	size_t count, room;
	uint32_t refused; /* mask of counters that failed to open */
	int refused_err; /* -errno of one of those */
};

/*
 * Samples thread @tid, and all threads and processes that it creates from now
 * on, into @buffers. Sampling of a process ends at its exec, unless @wanted
 * requests a tree. Returns 0, or -errno with nothing opened: -ESRCH: the thread
 * is gone; -EACCES or -EPERM: the kernel does not permit it.
 */
int perf_events_open(struct perf_events *events, struct perf_buffers *buffers,
		     const struct perf_wanted *wanted, pid_t tid);
/* Adds @attr of perf_wakings.h to @events, for each CPU of @buffers. Returns as
 * perf_events_open(). */
int perf_events_open_wakings(struct perf_events *events,
			     const struct perf_buffers *buffers,
			     const struct perf_event_attr *attr);
void perf_events_close(struct perf_events *events);
/* Enables (@on) or disables counting and sampling of all @events. */
void perf_events_enable(const struct perf_events *events, bool on);
/* Begins (@on) or ends a shot: samples every thread of @events that runs for
 * PERF_SHOT_NS meanwhile, however short its life. */
void perf_events_shoot(const struct perf_events *events, bool on);
/* Returns the CPU time in ns of all threads ever sampled. */
uint64_t perf_events_total(const struct perf_events *events);

/* Returns true if the kernel lets this user sample the kernel itself, by
 * opening such an event. */
bool perf_events_kernel(void);

#endif
