/* SPDX-License-Identifier: Apache-2.0
 *
 * wall_from_trace - wall.pb.gz of a recording, made from its trace.
 */
#ifndef PERFREC_COLLECTOR_REPAIR_WALL_FROM_TRACE_H
#define PERFREC_COLLECTOR_REPAIR_WALL_FROM_TRACE_H

struct trace_sums;

/* Writes wall.pb.gz into the folder @dir_fd: whole or not at all. Its values
 * and labels are those that a collector writes; functions have no modules, and
 * both times are those that were measured. 0 or -errno. One thread at a time.
 */
int wall_from_trace(const struct trace_sums *sums, int dir_fd);

#endif
