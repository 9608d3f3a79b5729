/* SPDX-License-Identifier: Apache-2.0
 *
 * went_on - the processes that go on, unrecorded, when `perfrec record` ends
 * its recording with its command: services that put themselves into the
 * background, and children that nobody waited for.
 */
#ifndef PERFREC_COLLECTOR_SERVE_WENT_ON_H
#define PERFREC_COLLECTOR_SERVE_WENT_ON_H

struct collector;

/*
 * List them in the summary of collector->recording: those that have recorded,
 * those that have not yet and have memory of a program that did, and those that
 * were started to say hello at @socket and have not come to it. Who is in the
 * middle of its end is not listed. Before the first of them is ended. Main
 * thread; reads /proc.
 */
void went_on_list(struct collector *collector, const char *socket);

#endif
