/* SPDX-License-Identifier: Apache-2.0
 *
 * went_on - the processes that go on, unrecorded, when `perfrec record` ends
 * its recording with its command: services that put themselves into the
 * background, and children that nobody waited for.
 */
#ifndef PERFREC_COLLECTOR_WENT_ON_H
#define PERFREC_COLLECTOR_WENT_ON_H

struct collector;

/*
 * List them in the summary of collector->recording: those that have recorded,
 * and those that have not yet and have memory of a program that did. Before the
 * first of them is ended. Main thread; reads /proc if there are any.
 */
void went_on_list(struct collector *collector);

#endif
