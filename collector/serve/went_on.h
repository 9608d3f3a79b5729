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
 * List them in the summary of collector->recording: processes that have
 * recorded; processes that have not recorded yet, but share memory with a
 * program that did; and processes that were started to say hello at @socket,
 * but have not said it yet. A process that is exiting is not listed. To be
 * called before process_end() is called for any of them. Main thread; reads
 * /proc.
 */
void went_on_list(struct collector *collector, const char *socket);

#endif
