/* SPDX-License-Identifier: Apache-2.0
 *
 * calibrate - measures what a program that is recorded pays on this machine: to
 * the shim, by the copy that the collector has of its code, and to the kernel.
 * Recordings end at the same time: whatever one thread of the process may do at
 * a time is done under a lock here.
 */
#ifndef PERFREC_COLLECTOR_FILES_CALIBRATE_H
#define PERFREC_COLLECTOR_FILES_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/own_cost.h"

#define COST_PAGE_BYTES 4096

/* The ns to touch a page of a ring for the first time. 0: unknown. */
struct calibrated_page {
	double first_ns; /* a page that nobody has touched */
	double again_ns; /* a page that only another process has */
};
/* Takes about 0.5 ms. Any thread. */
struct calibrated_page calibrate_page(void);
/* own_cost_ns(), own_cost_halves() and own_cost_sample_ns(), for any thread. */
double calibrate_own_ns(enum own_cost_kind kind, bool ticks);
struct own_cost_halves calibrate_own_halves(enum own_cost_kind kind,
					    bool ticks);
double calibrate_own_sample_ns(uint32_t stack_bytes);
/* Returns the ns of a CPU sample by the signal engine: a signal, and a copy of
 * @stack_bytes of stack; 0 if unknown. Any thread; no other thread of the
 * process may use SIGPROF. */
double calibrate_signal_ns(uint32_t stack_bytes);
/* Returns the ns of a CPU sample by the perf engine, with a copy of
 * @stack_bytes of stack: the kernel interrupts the thread and leaves cold
 * caches. 0 if the kernel does not sample this thread or lacks memory. Takes at
 * most 50 ms of CPU time, usually 4. Any thread. */
double calibrate_perf_ns(uint32_t stack_bytes);

#endif
