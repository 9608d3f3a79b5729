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
/* And of a sample: a signal, and a copy of so many bytes of stack. One thread
 * at a time; SIGPROF must be nobody's. */
double calibrate_sample_ns(uint32_t stack_bytes);

#endif
