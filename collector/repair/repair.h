/* SPDX-License-Identifier: Apache-2.0
 *
 * repair - a recording without a summary, whose collector was killed or whose
 * machine stopped: shown from its trace, or given its summary.json, its
 * wall.pb.gz and its trace.index. The trace stays as it is; what was not
 * finished is removed. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_REPAIR_REPAIR_H
#define PERFREC_COLLECTOR_REPAIR_REPAIR_H

#include <stdbool.h>

struct summary;

/* Whether the folder @dir has a trace, but no summary: none at all, or an empty
 * file, as a machine leaves it that lost its power. */
bool repair_is_needed(const char *dir);

/*
 * Makes the summary of the recording in @dir from its trace, and writes
 * nothing. Returns 0; the caller then owns *@out and frees it with
 * summary_free(). Or returns -errno, and the log has one line for the user;
 * -EBUSY: the recording still goes on.
 */
int repair_show(const char *dir, struct summary **out);

/*
 * Writes summary.json, wall.pb.gz if that is missing, and trace.index if there
 * is none that tells of all of the trace, into @dir; the last may fail. Removes
 * what the collector has left unfinished. Where there is a summary, nothing is
 * done. All of this is logged. Returns 0; or -errno as repair_show(), and then
 * there is still no summary. 1: it is of --flight, so that there are only
 * snapshots, and never will be a summary.
 */
int repair_write(const char *dir);

/* Removes what a collector that was killed has left unfinished in @dir, such as
 * a snapshot, and logs that it did. Where a recording goes on, or is none of
 * perfrec, it removes nothing. */
void repair_tidy(const char *dir);

#endif
