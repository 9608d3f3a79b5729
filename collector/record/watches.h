/* SPDX-License-Identifier: Apache-2.0
 *
 * watches - of how many processes the collector holds descriptors.
 *
 * A process that is recorded takes up to WATCH_FDS of them: its pidfd, its
 * memory, its folder in /proc. A program may fork thousands of children, and
 * what these take must leave files for other programs. So a child is watched
 * only while its family has fewer processes that are watched than could still
 * be watched: the most that one family can have is half of all, two can have a
 * third each, and something is always left. (A. K. Choudhury and E. L. Hahne,
 * "Dynamic queue length thresholds for shared-memory packet switches", 1998,
 * share out buffers so.) Processes that are not watched are recorded as well;
 * process_look() finds out when they end.
 */
#ifndef PERFREC_COLLECTOR_RECORD_WATCHES_H
#define PERFREC_COLLECTOR_RECORD_WATCHES_H

#include <stdbool.h>
#include <stdint.h>

struct collector;

#define WATCH_FDS 8

/* How many processes can be watched where @files may be open: half of the files
 * are for that. Pure. */
uint32_t watches_most(uint64_t files);

/* Whether one more process may be watched of a family that has @held such
 * processes; it counts then, until watches_give(). In `perfrec record` all
 * processes are one family, which may have all. Any thread. */
bool watches_take(struct collector *collector, uint32_t held);
/* A process is watched though there may be no room: one that has said hello. */
void watches_take_root(struct collector *collector);
/* The descriptors of a process are closed. Any thread. */
void watches_give(struct collector *collector);

#endif
