/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_event - one event that the kernel reported about a thread.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_KERNEL_EVENT_H
#define PERFREC_COLLECTOR_REPLAY_KERNEL_EVENT_H

#include <stdint.h>

#include "collector/trace/out_perfetto.h"

#define CPU_LONG_NS OUT_LONG_WAIT_NS

enum kernel_event_kind {
	/* Counts, charged to the innermost span. */
	KERNEL_TICK, /* value: CPU samples; flag: 1 in the kernel */
	KERNEL_FAULT, /* value: page faults */
	KERNEL_COUNTER, /* value: of hardware counter flag */
	/* Changes of the thread's state: see sched_track.h. */
	KERNEL_START, /* value: id of the thread that started it */
	/* Runs on cpu. flag: the object of the wait is known; value: the
	 * object, a const char * that the recording owns, or 0. */
	KERNEL_IN,
	/* Another thread made it runnable; comes before IN. value: its name, a
	 * const char * that the recording owns; call: its id, or 0. */
	KERNEL_WOKEN,
	KERNEL_PREEMPTED, /* left its CPU, still runnable */
	KERNEL_BLOCKED, /* left its CPU to wait */
	KERNEL_UNKNOWN, /* events from here on were lost */
	KERNEL_EXIT,
	/* The thread is blocked. value of KERNEL_DELAY: its time in run queues
	 * as the kernel counts it; value of KERNEL_ANCHOR, which follows: its
	 * time on CPUs. */
	KERNEL_DELAY,
	KERNEL_ANCHOR,
};

struct kernel_event {
	uint64_t ns; /* BOOTTIME */
	uint64_t value;
	uint16_t cpu;
	uint8_t kind; /* enum kernel_event_kind */
	uint8_t flag;
	uint32_t call; /* IN: the number of the system call of the wait, plus 1;
			* 0: none or unknown; WOKEN: see there */
};

#endif
