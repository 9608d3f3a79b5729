/* SPDX-License-Identifier: Apache-2.0
 *
 * progress - one line on the terminal for work that takes more than a second:
 *
 *     perfrec: reading the trace: 42 %
 *
 * It is rewritten on stderr and removed at the end. There is none if stderr is
 * no terminal or belongs to another job.
 */
#ifndef PERFREC_COLLECTOR_SHOW_PROGRESS_H
#define PERFREC_COLLECTOR_SHOW_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
	const char *what;
	uint64_t next_ns; /* CLOCK_MONOTONIC: next update */
	bool wanted, shown;
};

/* Returns true if stderr is a terminal and this process is in the foreground;
 * background jobs may be stopped for writing. Any thread. */
bool progress_has_terminal(void);

/* Returns true if a progress line cannot mix with output to @out: @out is a
 * file or is discarded. A pipe may lead to a pager, which uses the terminal.
 * Any thread. */
bool progress_fits(FILE *out);

/* Begins work. @what ("reading the trace") must stay valid. Shows nothing
 * unless @wanted. One thread per @progress. */
void progress_begin(struct progress *progress, const char *what, bool wanted);
/* Reports that @at of @size (any unit) is done. @progress: a struct
 * progress. */
void progress_tell(void *progress, uint64_t at, uint64_t size);
/* Removes the line. Call it before other output to the terminal; repeated calls
 * and an all-zero @progress are allowed. */
void progress_end(struct progress *progress);
/* Removes an unfinished line from stderr. */
void progress_clear_line(void);

#endif
