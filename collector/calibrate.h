/* SPDX-License-Identifier: Apache-2.0
 *
 * calibrate - what recording one span costs a program on this machine.
 */
#ifndef PERFREC_COLLECTOR_CALIBRATE_H
#define PERFREC_COLLECTOR_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

/* ns for a pair of hooks: the least of a few rounds, about 2 ms in all.
 * @ticks: with the counter as clock, else with clock_gettime(2). */
double calibrate_span_ns(bool ticks);
/* The same where hooks take the general path, but for what it decides before
 * it records. One thread at a time. */
double calibrate_general_ns(bool ticks);
/* Of a hook, of which a call has two, that finds its function excluded, or too
 * deep to be recorded. About 1 ms. One thread at a time. */
struct calibrated_hooks {
	double excluded_ns, left_out_ns;
};
struct calibrated_hooks calibrate_hooks(void);
/* And of a sample: a signal, and a copy of so many bytes of stack. One thread
 * at a time; SIGPROF must be nobody's. */
double calibrate_sample_ns(uint32_t stack_bytes);

#endif
