/* SPDX-License-Identifier: Apache-2.0
 *
 * pulse - the current work of each thread and its start time, for the watchdog
 * (watchdog.h). Any thread, but no signal handler; costs one reading of the
 * clock.
 */
#ifndef PERFREC_COLLECTOR_BASE_PULSE_H
#define PERFREC_COLLECTOR_BASE_PULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Starts a piece of work of the calling thread. @what is a literal that
 * continues "the thread ...". A piece of work is short: a job, an event, a
 * pass. */
void pulse_begin(const char *what);
/* Ends the piece of work: the thread waits for the next one. */
void pulse_end(void);
/* Replaces the description within a piece of work. Returns the old one for a
 * later call, or does nothing and returns NULL outside a piece of work. */
const char *pulse_step(const char *what);

struct pulse {
	pid_t tid;
	const char *what;
	uint64_t since_ns;
};

/* Returns the next thread at work from *@at (0 at first), and advances *@at.
 * The list changes meanwhile. Returns false at the end. */
bool pulse_next(size_t *at, struct pulse *out);

#endif
