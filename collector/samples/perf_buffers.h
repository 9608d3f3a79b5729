/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_buffers - what perf_events.c and perf_buffers.c have of each other.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_PERF_BUFFERS_H
#define PERFREC_COLLECTOR_SAMPLES_PERF_BUFFERS_H

#include "collector/samples/perf_events.h"

#define PERF_SAMPLE                                                  \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
	 PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* The same trailer behind all records but samples, of which there are none. */
#define PERF_TREE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* linux asm/perf_regs.h: all but flags and segments of x86-64, numbers 0 to 8
 * and 16 to 23; all of arm64's, 0 to 32. */
#if defined(__x86_64__)
#define PERF_REGS 0xff01ffULL
#else
#define PERF_REGS 0x1ffffffffULL
#endif

struct perf_buffers {
	struct perf_buffer {
		int cpu, fd;
		struct perf_event_mmap_page *page; /* then the data */
	} * buffer;
	size_t count, bytes; /* bytes: of the data of one, a power of two */
	int epoll;
	uint8_t *scratch; /* a record that lies around the end */
};

/* A descriptor, or -errno. */
int perf_events_syscall(struct perf_event_attr *attr, pid_t tid, int cpu);

#endif
