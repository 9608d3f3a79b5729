/* SPDX-License-Identifier: Apache-2.0
 *
 * progress - one line on the terminal for work that takes more than a second:
 *
 *     perfrec: reading the trace: 42 %
 *
 * It is written to stderr, over and over, and is gone when the work is done.
 * There is none where stderr is no terminal, or is that of another job.
 */
#ifndef PERFREC_COLLECTOR_SHOW_PROGRESS_H
#define PERFREC_COLLECTOR_SHOW_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
	const char *what;
	uint64_t next_ns; /* MONOTONIC: when a line may be written again */
	bool wanted, shown;
};

/* Whether stderr is a terminal that this process may write to: a job in the
 * background may be stopped for it. Any thread. */
bool progress_has_terminal(void);

/* Whether a line on the terminal does not get into what is written to @out
 * meanwhile: @out is a file, or goes nowhere. Behind a pipe may be a pager,
 * which has the terminal. Any thread. */
bool progress_fits(FILE *out);

/* Begins work: @what, "reading the trace", lives as long. Nothing will be shown
 * unless @wanted. One thread for all calls with one @progress. */
void progress_begin(struct progress *progress, const char *what, bool wanted);
/* @at of @size, in any unit, is done. @progress: a struct progress. */
void progress_tell(void *progress, uint64_t at, uint64_t size);
/* Takes the line away. To be called before anything else is written to the
 * terminal; may be called twice, or for what is all zero. */
void progress_end(struct progress *progress);
/* Takes a line away that was written to stderr without an end. */
void progress_clear_line(void);

#endif
