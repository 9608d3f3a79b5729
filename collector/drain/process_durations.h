/* SPDX-License-Identifier: Apache-2.0
 *
 * process_durations - how long the calls of a process took: who owns the
 * histograms, and when they go into the recording.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_DURATIONS_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_DURATIONS_H

#include <stdint.h>

struct histograms;
struct process;

/* The histograms of @process for threads in the slots of drain worker @worker,
 * which calls it. NULL: there is no memory for them. */
struct histograms *process_durations(struct process *process, uint32_t worker);

/* All threads of @process have ended and were summed up: adds what it has to
 * the recording, and frees it. The jobs thread. */
void process_durations_finish(struct process *process);

#endif
