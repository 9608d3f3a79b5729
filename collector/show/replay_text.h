/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_text - the calls of a trace as indented text, in the order of time,
 * as they look in C:
 *
 *        time s        took    thread  calls
 *   0.000000000      1.24 ms     5469  main() {
 *   0.000000210      78.5 us     5469    start();
 *   0.000103000     > 362 us     5469    run() {
 *
 * If @reader knows where threads ran (call_reader_has_sched()), there are more
 * columns: how much of a call it was on a CPU; where a line has room, also how
 * much preempted, and waiting.
 */
#ifndef PERFREC_COLLECTOR_SHOW_REPLAY_TEXT_H
#define PERFREC_COLLECTOR_SHOW_REPLAY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/show/call_read.h"

struct replay_text_options {
	bool full_names;
	size_t columns; /* of a line at most; 0: any number */
};

/*
 * Prints all that @reader gives, which stays the caller's, to @out. Sets *@late
 * to the number of lines that came later than they happened. 0; -EIO: @out
 * cannot be written; or what call_reader_next() returned.
 */
int replay_text_print(struct call_reader *reader,
		      const struct replay_text_options *options, FILE *out,
		      uint64_t *late);

#endif
