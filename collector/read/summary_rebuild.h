/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_rebuild - a summary of a recording without summary.json: its
 * collector was killed before it wrote the file, or it is a snapshot. It is
 * made from the trace, as a document with the members of summary.json that the
 * trace knows. The others are not there, and the member "rebuilt" says so. One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_SUMMARY_REBUILD_H
#define PERFREC_COLLECTOR_READ_SUMMARY_REBUILD_H

#include <stdio.h>

struct summary;
struct trace_sums;

/* Makes the summary of the recording in the folder @dir, whose trace was read
 * as @sums. Returns 0; the caller then owns *@out and frees it with
 * summary_free(); it does not need @sums. Or returns -ENOMEM. Logs nothing. */
int summary_rebuild(const char *dir, const struct trace_sums *sums,
		    struct summary **out);
/* Writes @summary as summary.json has it to @out. 0 or -EIO. */
int summary_rebuild_write(const struct summary *summary, FILE *out);

#endif
