/* SPDX-License-Identifier: Apache-2.0
 *
 * replay_text - the calls of a trace as indented text in C style, in the order
 * of time:
 *
 *        time s        took    thread  calls
 *   0.000000000      1.24 ms     5469  main() {
 *   0.000000210      78.5 us     5469    start();
 *   0.000103000     > 362 us     5469    run() {
 *
 * If @reader knows the threads' times on CPUs (call_reader_has_sched()), a
 * further column shows the on-CPU time of each call. Wide lines also have its
 * times preempted and waiting.
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
	size_t columns; /* greatest length of a line; 0: unlimited */
};

/* Prints all events of @reader, which the caller keeps, to @out. Sets *@late to
 * the number of lines out of order. Returns 0, -EIO if @out cannot be written,
 * or the error of call_reader_next(). */
int replay_text_print(struct call_reader *reader,
		      const struct replay_text_options *options, FILE *out,
		      uint64_t *late);

#endif
