/* SPDX-License-Identifier: Apache-2.0
 *
 * dump - the events of a trace as JSON, one object a line, in the order of the
 * file. perfrec-dump(5) has every member. Members are added, never changed.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_DUMP_H
#define PERFREC_COLLECTOR_EXPORT_DUMP_H

#include <stdio.h>

#include "collector/show/call_read.h"

#define DUMP_VERSION 1

/* Writes all that @reader gives, which stays the caller's, to @out. 0; -EIO:
 * @out cannot be written; or what call_reader_next() returned. */
int dump_write(struct call_reader *reader, FILE *out);

/* Writes the arguments of @event as a JSON object. */
void dump_arguments(const struct call_reader *reader, struct call_event *event,
		    FILE *out);

#endif
