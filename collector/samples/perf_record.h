/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_record - parses one record of the kernel's events: perf_event_open(2),
 * "MMAP layout", with the attributes of perf_open.h.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_PERF_RECORD_H
#define PERFREC_COLLECTOR_SAMPLES_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/record_ext.h"

/* A parsed record of a buffer. */
struct perf_record {
	uint32_t type; /* enum perf_event_type; only known types */
	uint64_t id; /* of the event: perf_events_open() */
	/* Its subject, in our namespace; of THROTTLE and LOST: the running
	 * thread. */
	pid_t pid, tid;
	uint64_t ns; /* CLOCK_BOOTTIME */
	int cpu; /* of the buffer */
	/* Time of the previous record in that buffer; 0: none. */
	uint64_t before_ns;
	pid_t parent_pid, parent_tid; /* FORK */
	const char *name; /* COMM: NUL-terminated */
	bool exec; /* COMM: by exec */
	bool out; /* SWITCH: left the CPU; else entered it */
	bool preempted; /* SWITCH: it could have gone on */
	uint64_t value; /* READ: ns of CPU time; LOST: number of records */
	/* SAMPLE */
	pid_t woken_tid; /* by tid, of pid; 0: another sample */
	bool in_interrupt; /* which woke it; tid was on the CPU by chance */
	/* value is the number of counted events; the following is not set. */
	bool counted;
	bool in_kernel;
	bool has_user; /* reg and stack are set */
	uint64_t reg[RECORD_REGS];
	const uint8_t *stack; /* valid until the callback returns */
	uint32_t stack_bytes, stack_asked;
	/* Addresses of the kernel's stack, the innermost first; valid as stack. */
	const uint64_t *kernel;
	uint32_t kernel_count;
};

/* Parses the record at @bytes, whose header has its length, into *@out. *@out
 * points into the record. perf_buffers_read() sets cpu and before_ns. Returns
 * false if the kind is unknown, or the record too short. Any thread. */
bool perf_record_parse(const uint8_t *bytes, struct perf_record *out);

#endif
