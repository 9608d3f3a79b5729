/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_event - one thing that the kernel has told of a thread.
 */
#ifndef PERFREC_COLLECTOR_SCHED_KERNEL_EVENT_H
#define PERFREC_COLLECTOR_SCHED_KERNEL_EVENT_H

#include <stdint.h>

/* All waits that take so long are read, and some of the others. */
#define CPU_LONG_NS 1000000u

enum kernel_event_kind {
	/* Something was counted: for the innermost span. */
	KERNEL_TICK, /* value: CPU samples; flag: in the kernel */
	KERNEL_FAULT, /* value: page faults */
	KERNEL_COUNTER, /* value: of hardware counter number flag */
	/* The thread's state changed: see sched_track.h. */
	KERNEL_START, /* it was made, and waits for a CPU */
	/* It runs on cpu. flag: what it waited on is known; value: as a text,
	 * const char *, which lives as long as the recording, or 0. */
	KERNEL_IN,
	KERNEL_PREEMPTED, /* it runs no more, but could */
	KERNEL_BLOCKED, /* it runs no more, and waits */
	KERNEL_UNKNOWN, /* what came after this was lost */
	KERNEL_EXIT, /* it has ended */
	/* It is blocked, and this is what the kernel has counted of it: the
	 * time that it waited for CPUs (value), then the time that it ran. */
	KERNEL_DELAY,
	KERNEL_ANCHOR,
};

struct kernel_event {
	uint64_t ns; /* BOOTTIME */
	uint64_t value;
	uint16_t cpu;
	uint8_t kind; /* enum kernel_event_kind */
	uint8_t flag;
	uint32_t call; /* IN: the number of the system call that it waited in,
			* plus 1; 0: none, or not known */
};

#endif
