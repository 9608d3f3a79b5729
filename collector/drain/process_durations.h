/* SPDX-License-Identifier: Apache-2.0
 *
 * process_durations - the durations of the calls of a process: owns the
 * histograms and adds them to the recording.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_DURATIONS_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_DURATIONS_H

#include <stdint.h>

struct histograms;
struct process;

/* Returns the histograms of @process for threads in the slots of drain worker
 * @worker. NULL: out of memory. By that worker. */
struct histograms *process_durations(struct process *process, uint32_t worker);

/* Adds the histograms of @process to the recording and frees them, after all
 * its threads are summed up. Jobs thread. */
void process_durations_finish(struct process *process);

#endif
