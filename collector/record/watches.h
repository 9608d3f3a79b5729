/* SPDX-License-Identifier: Apache-2.0
 *
 * watches - limits the descriptors that the collector holds for processes.
 *
 * A recorded process takes up to WATCH_FDS descriptors: its pidfd, its memory,
 * its folder in /proc. A program may fork thousands of children, which must
 * leave descriptors for other programs. So a child is watched only while its
 * family has fewer watched processes than could still be added. One family gets
 * at most half of all, two a third each, and a rest always remains. (A. K.
 * Choudhury and E. L. Hahne, "Dynamic queue length thresholds for shared-memory
 * packet switches", 1998, share out buffers this way.) Unwatched processes are
 * recorded as well; process_look() finds their ends.
 */
#ifndef PERFREC_COLLECTOR_RECORD_WATCHES_H
#define PERFREC_COLLECTOR_RECORD_WATCHES_H

#include <stdbool.h>
#include <stdint.h>

struct collector;

#define WATCH_FDS 8

/* Returns how many processes can be watched if @files may be open: half of the
 * files serve for that. Pure. */
uint32_t watches_most(uint64_t files);

/* Returns true if a family with @held watched processes may watch one more, and
 * counts it until watches_give(). In `perfrec record` all processes are one
 * family, which may use all. Any thread. */
bool watches_take(struct collector *collector, uint32_t held);
/* Counts a process that said hello; it is watched even beyond the limit. */
void watches_take_root(struct collector *collector);
/* After the descriptors of a process are closed. Any thread. */
void watches_give(struct collector *collector);

#endif
