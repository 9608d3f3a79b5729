/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_record - one record of the kernel's events taken apart:
 * perf_event_open(2), "MMAP layout", as the attributes of perf_open.h ask for
 * it.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_PERF_RECORD_H
#define PERFREC_COLLECTOR_SAMPLES_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/record_ext.h"

/* One record out of a buffer, as the kernel wrote it (perf_event_open(2)),
 * taken apart. */
struct perf_record {
	uint32_t type; /* enum perf_event_type; others are not passed on */
	uint64_t id; /* of the event: perf_events_open() */
	pid_t pid, tid; /* whom it is about, in our namespace; of THROTTLE and
			 * LOST: who ran */
	uint64_t ns; /* CLOCK_BOOTTIME */
	int cpu; /* in whose buffer it lay */
	uint64_t before_ns; /* time of the record before it in that buffer; 0:
			     * there was none */
	pid_t parent_pid, parent_tid; /* FORK */
	const char *name; /* COMM: NUL-terminated */
	bool exec; /* COMM: by exec */
	bool out; /* SWITCH: it left the CPU; else it came */
	bool preempted; /* the same: it could have gone on */
	uint64_t value; /* READ: ns of CPU time; LOST: how many */
	/* SAMPLE */
	bool counted; /* value is how many of what the event counts; what
		       * follows is not set */
	bool in_kernel;
	bool has_user; /* reg and stack are set */
	uint64_t reg[RECORD_REGS];
	const uint8_t *stack; /* until the call back returns */
	uint32_t stack_bytes, stack_asked;
};

/* Take apart the record at @bytes, as long as its header says, into *@out,
 * which points into it, but for cpu and before_ns, which perf_buffers_read()
 * knows. False: it is of no kind that is known, or too short for its kind. Any
 * thread. */
bool perf_record_parse(const uint8_t *bytes, struct perf_record *out);

#endif
