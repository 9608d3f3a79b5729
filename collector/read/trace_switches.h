/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_switches - reads the switches of threads (out_sched.h) from packets of
 * a trace, which may be hostile. One thread at a time.
 *
 *   trace_switches_begin(switches, bundle);
 *   while (trace_switches_next(switches, &next))
 *           ...
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_SWITCHES_H
#define PERFREC_COLLECTOR_READ_TRACE_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/protobuf.h"

#define TRACE_CPUS_MAX 1024u

/* The state of a thread after it left its CPU. */
enum trace_left {
	TRACE_LEFT_PREEMPTED, /* waited for a CPU */
	TRACE_LEFT_WAITS, /* for something, and for a CPU after that */
	TRACE_LEFT_ENDED,
	TRACE_LEFT_UNKNOWN,
};

struct trace_switch {
	uint64_t ns; /* CLOCK_BOOTTIME; never decreases on one CPU */
	uint32_t cpu;
	int32_t left, came; /* threads; 0: none of the recording */
	enum trace_left why;
	bool lost; /* switches of the CPU are missing between this one and its
		    * next */
};

struct trace_switches {
	/* The rest of the lists of a bundle. */
	struct wire times, states, threads;
	uint32_t cpu;
	bool lost;
	uint64_t ns;
	struct switches_cpu {
		uint64_t last_ns;
		int32_t running;
	} cpus[TRACE_CPUS_MAX];
	uint64_t count; /* switches that were returned */
	uint64_t bad; /* bundles that were not read to their end */
};

/* Starts on the FtraceEventBundle @bundle, whose bytes must stay valid until
 * its last switch is read. @switches is all zero before the first bundle. */
void trace_switches_begin(struct trace_switches *switches, struct wire bundle);
/* Reads the next switch of the bundle. Returns false at the end. */
bool trace_switches_next(struct trace_switches *switches,
			 struct trace_switch *out);
/* Notes the switch @at, known without its bundle; earlier switches of its CPU
 * were skipped. at->cpu is below TRACE_CPUS_MAX. */
void trace_switches_pass(struct trace_switches *switches,
			 const struct trace_switch *at);
/* Decodes the prev_state of a switch. Pure. */
enum trace_left trace_left_of(uint64_t state);

#endif
