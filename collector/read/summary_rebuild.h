/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_rebuild - makes the summary of a recording without summary.json: a
 * snapshot, or a recording whose collector was killed. The document has the
 * members of summary.json that the trace knows, and a member "rebuilt". One
 * thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_SUMMARY_REBUILD_H
#define PERFREC_COLLECTOR_READ_SUMMARY_REBUILD_H

#include <stdio.h>

struct summary;
struct trace_sums;

/* Makes the summary of the recording in the folder @dir from its trace, read as
 * @sums. Returns 0, and the caller frees *@out with summary_free(); *@out does
 * not need @sums. Otherwise returns -ENOMEM or -EBADMSG. Logs nothing. */
int summary_rebuild(const char *dir, const struct trace_sums *sums,
		    struct summary **out);
/* Writes @summary to @out as summary.json. Returns 0 or -EIO. */
int summary_rebuild_write(const struct summary *summary, FILE *out);

#endif
