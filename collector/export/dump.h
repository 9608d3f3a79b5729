/* SPDX-License-Identifier: Apache-2.0
 *
 * dump - the events of a trace as JSON, one object a line, in the order of the
 * file. perfrec-dump(5) lists all members. New members may be added; existing
 * ones never change.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_DUMP_H
#define PERFREC_COLLECTOR_EXPORT_DUMP_H

#include <stdio.h>

#include "collector/show/call_read.h"

#define DUMP_VERSION 1

/* Writes all events of @reader, which the caller keeps, to @out. Returns 0,
 * -EIO if @out cannot be written, or the error of call_reader_next(). */
int dump_write(struct call_reader *reader, FILE *out);

/* Writes the arguments of @event as a JSON object. */
void dump_arguments(const struct call_reader *reader, struct call_event *event,
		    FILE *out);

#endif
