/* SPDX-License-Identifier: Apache-2.0
 *
 * text - a trace as text that is the same for every recording of a program
 * that does the same: no times, no ids, tracks by name. README.md says how it
 * reads.
 */
#ifndef PERFREC_TESTS_TEXT_H
#define PERFREC_TESTS_TEXT_H

#include "tests/tools/checker/trace.h"

/* Keep an event, whose name has a number + 1, or 0; @own NULL: it is on the
 * track of @sequence. @depth: of slices around it. */
void text_event(struct trace *trace, const struct sequence *sequence,
		const struct own_track *own, const struct event *event,
		uint32_t name, uint32_t depth);
/* Print all, and forget it. Before tracks_end(). */
void text_print(struct trace *trace, FILE *to);

#endif
