/* SPDX-License-Identifier: Apache-2.0
 *
 * push - --push: ends windows and runs the process perfrec-push, which sends
 * them (docs/SERVICE.md). All functions: main thread only. Only push_free() waits.
 * All accept NULL.
 */
#ifndef PERFREC_COLLECTOR_SERVE_PUSH_H
#define PERFREC_COLLECTOR_SERVE_PUSH_H

#include <stdbool.h>

struct collector;
struct push;

/* Sets *@out to NULL without --push. Sets collector->push, which recordings
 * use. @collector must outlive *@out, and the caller frees it. Returns 0, or
 * -errno after logging one line. */
int push_new(struct collector *collector, struct push **out);
/* Starts perfrec-push; the folder of recordings must exist. Returns 0, or
 * -errno after logging one line. */
int push_start(struct push *push);
/* Ends due windows, and restarts perfrec-push when its delay is over. Call it
 * at every heartbeat. */
void push_beat(struct push *push);
/* Returns true if push_beat() has work although no program runs. */
bool push_is_waiting(const struct push *push);
/* Ends no more windows. Passes started windows to the jobs threads of their
 * recordings. */
void push_rest(struct push *push);
/* Call it after all recordings have ended. Gives perfrec-push time to send the
 * remaining windows, then kills it. SIGINT or SIGTERM on the signalfd
 * @signal_fd ends that time. */
void push_free(struct push **push, int signal_fd);

#endif
