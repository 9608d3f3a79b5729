/* SPDX-License-Identifier: Apache-2.0
 *
 * calibrate - measures what the kernel takes for a program that is recorded, on
 * this machine. shared/own_cost.h measures what the shim takes.
 */
#ifndef PERFREC_COLLECTOR_FILES_CALIBRATE_H
#define PERFREC_COLLECTOR_FILES_CALIBRATE_H

#include <stdint.h>

#define COST_PAGE_BYTES 4096

/* What it takes to touch a page of a ring for the first time, in ns. 0: not
 * known.
 */
struct calibrated_page {
	double first_ns; /* a page that nobody has touched */
	double again_ns; /* a page that only another process has */
};
/* Takes about 0.5 ms. Any thread. */
struct calibrated_page calibrate_page(void);
/* What a sample of CPU time by the signal engine takes, in ns: a signal, and a
 * copy of @stack_bytes of stack. 0: not known. One thread at a time; nobody
 * else in the process may use SIGPROF. */
double calibrate_signal_ns(uint32_t stack_bytes);
/* What a sample by the perf engine takes, in ns, with a copy of @stack_bytes of
 * stack: for so long the kernel takes the CPU away from this thread. 0: the
 * kernel does not sample this thread, or has no memory for it. Takes at most 50
 * ms of CPU time, usually 4. Any thread. */
double calibrate_perf_ns(uint32_t stack_bytes);

#endif
