/* SPDX-License-Identifier: Apache-2.0
 *
 * went_on - processes that continue unrecorded when `perfrec record` ends with
 * its command: background services and children without a waiting parent.
 */
#ifndef PERFREC_COLLECTOR_SERVE_WENT_ON_H
#define PERFREC_COLLECTOR_SERVE_WENT_ON_H

struct collector;

/*
 * Lists in the summary of collector->recording: processes that recorded,
 * processes that share memory with a recorded program, and processes started
 * for @socket that have not sent hello yet. Skips exiting processes. Call it
 * before the first process_end(). Main thread; reads /proc.
 */
void went_on_list(struct collector *collector, const char *socket);

#endif
