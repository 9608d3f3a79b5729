/* SPDX-License-Identifier: Apache-2.0
 *
 * wall_from_trace - makes wall.pb.gz from the trace of a recording.
 */
#ifndef PERFREC_COLLECTOR_DOCTOR_WALL_FROM_TRACE_H
#define PERFREC_COLLECTOR_DOCTOR_WALL_FROM_TRACE_H

struct trace_sums;

/* Writes wall.pb.gz into the folder @dir_fd atomically. Values and labels are
 * those of a collector; functions have no modules, and both times are as
 * measured. Returns 0 or -errno. One thread at a time. */
int wall_from_trace(const struct trace_sums *sums, int dir_fd);

#endif
