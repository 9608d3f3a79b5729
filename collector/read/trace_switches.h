/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_switches - the switches of threads in a trace (out_sched.h), from
 * packets that may come from anywhere. One thread at a time.
 *
 *   trace_switches_begin(switches, bundle);
 *   while (trace_switches_next(switches, &next))
 *           ...
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_SWITCHES_H
#define PERFREC_COLLECTOR_READ_TRACE_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/trace_wire.h"

#define TRACE_CPUS_MAX 1024u

/* What a thread did after it left its CPU. */
enum trace_left {
	TRACE_LEFT_PREEMPTED, /* it waited for a CPU */
	TRACE_LEFT_WAITS, /* for something, and for a CPU after that */
	TRACE_LEFT_ENDED,
	TRACE_LEFT_UNKNOWN,
};

struct trace_switch {
	uint64_t ns; /* CLOCK_BOOTTIME; never falls on one CPU */
	uint32_t cpu;
	int32_t left, came; /* threads; 0: none of the recording */
	enum trace_left why; /* of left */
	bool lost; /* switches of the CPU are missing from here to its next */
};

struct trace_switches {
	/* What is left of the lists of a bundle. */
	struct wire times, states, threads;
	uint32_t cpu;
	bool lost;
	uint64_t ns; /* sum of the times */
	struct switches_cpu {
		uint64_t last_ns;
		int32_t running;
	} cpus[TRACE_CPUS_MAX];
	uint64_t count; /* switches that were given */
	uint64_t bad; /* bundles that were not read, or not to their end */
};

/* Starts on the FtraceEventBundle @bundle, whose bytes must stay until the
 * last switch has been taken. @switches was all zero before the first. */
void trace_switches_begin(struct trace_switches *switches, struct wire bundle);
/* The next switch of the bundle. False: there are no more. */
bool trace_switches_next(struct trace_switches *switches,
			 struct trace_switch *out);
/* The switch @at, whose cpu is below TRACE_CPUS_MAX, was known without its
 * bundle; those before it on its CPU were left out. */
void trace_switches_pass(struct trace_switches *switches,
			 const struct trace_switch *at);
/* What the prev_state of a switch says. Pure. */
enum trace_left trace_left_of(uint64_t state);

#endif
