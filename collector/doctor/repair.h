/* SPDX-License-Identifier: Apache-2.0
 *
 * repair - handles a recording without summary, after its collector was killed
 * or its machine stopped. Shows it from its trace, or writes summary.json,
 * wall.pb.gz and trace.index. The trace stays unchanged; unfinished files are
 * removed. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_DOCTOR_REPAIR_H
#define PERFREC_COLLECTOR_DOCTOR_REPAIR_H

#include <stdbool.h>

struct summary;

/* Returns true if the folder @dir has a trace but no summary, or an empty one
 * as after a power failure. */
bool repair_is_needed(const char *dir);

/* Makes the summary of the recording in @dir from its trace, without writing
 * files. Returns 0, and the caller calls summary_free(). Otherwise returns
 * -errno after one line in the log; -EBUSY: the recording is still running. */
int repair_show(const char *dir, struct summary **out);

/*
 * Writes summary.json into @dir; wall.pb.gz if it is missing; and trace.index
 * if it is missing or incomplete, which may fail. Removes unfinished files.
 * Does nothing if there is a summary. Logs all of this. Returns 0, or -errno as
 * repair_show(), still without a summary. Returns 1 for --flight, which has
 * only snapshots and no summary.
 */
int repair_write(const char *dir);

/* Removes and logs unfinished files of a killed collector in @dir, such as a
 * snapshot. Skips running and foreign recordings. */
void repair_tidy(const char *dir);

#endif
