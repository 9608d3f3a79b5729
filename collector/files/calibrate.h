/* SPDX-License-Identifier: Apache-2.0
 *
 * calibrate - what the kernel does for a recorded program costs on this
 * machine. What the shim does: shared/own_cost.h.
 */
#ifndef PERFREC_COLLECTOR_FILES_CALIBRATE_H
#define PERFREC_COLLECTOR_FILES_CALIBRATE_H

#include <stdint.h>

#define COST_PAGE_BYTES 4096

/* ns for a page of a ring, when it is touched for the first time: which no
 * program had, and which this process had not. 0: not known. About 0.5 ms. */
struct calibrated_page {
	double first_ns, again_ns;
};
struct calibrated_page calibrate_page(void);
/* ns of a sample of CPU time by the signal engine: a signal, and a copy of
 * @stack_bytes of stack. One thread at a time; SIGPROF must be nobody's. */
double calibrate_signal_ns(uint32_t stack_bytes);
/* ns of a sample by the perf engine, with a copy of @stack_bytes of stack: for
 * so long the kernel takes the CPU away from this thread. 0: the kernel does
 * not sample this thread, or has no memory for it. Takes at most 50 ms of CPU
 * time, usually 4. */
double calibrate_perf_ns(uint32_t stack_bytes);

#endif
