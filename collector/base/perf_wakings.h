/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_wakings - the kernel's event "a thread wakes another", sched_waking, for
 * perf_open().
 */
#ifndef PERFREC_COLLECTOR_BASE_PERF_WAKINGS_H
#define PERFREC_COLLECTOR_BASE_PERF_WAKINGS_H

#include <linux/perf_event.h>

/* A sample has the fields of PERF_COUNTED up to the time, and then the raw data
 * of the tracepoint: its length in 4 bytes, and these members. */
#define PERF_WAKING ((PERF_COUNTED & ~PERF_SAMPLE_PERIOD) | PERF_SAMPLE_RAW)
#define PERF_WAKING_RAW 44 /* offset of the raw data in the record */
#define PERF_WAKING_FLAGS 2 /* 1 byte: enum trace_flag_type */
#define PERF_WAKING_TID 24 /* 4 bytes: the woken thread */
#define PERF_WAKING_RAW_BYTES 28 /* at least */
/* The kernel's TRACE_FLAG_HARDIRQ, _SOFTIRQ and _NMI. */
#define PERF_WAKING_INTERRUPT 0x58

/* Sets *@attr for an event of all wake-ups on one CPU, by any thread: open it
 * with tid -1. Returns 0 or -errno: -EACCES or -EPERM without permission;
 * -ENOENT: a kernel without this tracepoint; -EOPNOTSUPP: its data has another
 * format; -EXDEV: the caller is in a pid or time namespace, and the kernel has
 * the ids and the clock of the first one. Any thread. */
int perf_wakings_attributes(struct perf_event_attr *attr);

/* Returns the reason for @err, from above or from perf_open(), and the way out,
 * for a message. Valid until the next call. */
const char *perf_wakings_refusal(int err);

#endif
