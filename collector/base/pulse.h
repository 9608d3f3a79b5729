/* SPDX-License-Identifier: Apache-2.0
 *
 * pulse - what each thread does, and since when, for the watchdog (watchdog.h).
 * Any thread, but no signal handler; costs a reading of the clock.
 */
#ifndef PERFREC_COLLECTOR_BASE_PULSE_H
#define PERFREC_COLLECTOR_BASE_PULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The calling thread begins a piece of work: it @what, a literal that goes on
 * with "the thread ...". A piece of work is short: a job, an event, a pass. */
void pulse_begin(const char *what);
/* It has ended: the thread waits for the next one. */
void pulse_end(void);
/* Within a piece of work, from now on it @what. Returns what it did before, to
 * be set again; does nothing outside a piece of work, and returns NULL. */
const char *pulse_step(const char *what);

struct pulse {
	pid_t tid; /* of the thread */
	const char *what;
	uint64_t since_ns; /* CLOCK_MONOTONIC: begin of the piece of work */
};

/* The threads that are at work, in *@at to *@at + 1 of a list that changes
 * meanwhile: call it with 0 in *@at first. False: there are no more. */
bool pulse_next(size_t *at, struct pulse *out);

#endif
