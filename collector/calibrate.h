/* SPDX-License-Identifier: Apache-2.0
 *
 * calibrate - what the kernel does for a recorded program costs on this
 * machine. What the shim does: shared/own_cost.h.
 */
#ifndef PERFREC_COLLECTOR_CALIBRATE_H
#define PERFREC_COLLECTOR_CALIBRATE_H

#include <stdint.h>

#define COST_PAGE_BYTES 4096

/* ns for a page of a ring, when it is touched for the first time: which no
 * program had, and which this process had not. 0: not known. About 0.5 ms. */
struct calibrated_page {
	double first_ns, again_ns;
};
struct calibrated_page calibrate_page(void);
/* And of a sample of CPU time: a signal, and a copy of so many bytes of stack.
 * One thread at a time; SIGPROF must be nobody's. */
double calibrate_sample_ns(uint32_t stack_bytes);

#endif
