/* SPDX-License-Identifier: Apache-2.0
 *
 * process_crash - reports processes that a signal ended, for the trigger
 * "crash" (record/triggers.h).
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_CRASH_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_CRASH_H

#include <stdint.h>
#include <sys/types.h>

struct process;
struct recording;

/* Fires if a signal ended @process, which has exited and is ending. The kernel
 * decides, and it may not report the status (docs/FLIGHT.md). Main thread. */
void process_crash_look(struct process *process);
/* The same for process @pid, the command of perfrec record: its parent has
 * waited for it, with @wait_status, at @ns. A crash fires only once. Main
 * thread. */
void process_crash_told(struct recording *recording, pid_t pid, uint64_t ns,
			int wait_status);

#endif
