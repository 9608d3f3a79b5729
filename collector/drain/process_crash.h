/* SPDX-License-Identifier: Apache-2.0
 *
 * process_crash - whether a process was ended by a signal, for the trigger
 * "crash" (flight/triggers.h).
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_CRASH_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_CRASH_H

#include <stdint.h>
#include <sys/types.h>

struct process;
struct recording;

/* @process has exited, and is ending: fires, if a signal is the reason. What
 * the kernel says counts; it may say nothing (docs/TRIGGERS.md). Main thread.
 */
void process_crash_look(struct process *process);
/* The same of the command of perfrec record, process @pid: its parent has
 * waited for it, with @wait_status, at @ns. What was told of it before is not
 * told again. Main thread. */
void process_crash_told(struct recording *recording, pid_t pid, uint64_t ns,
			int wait_status);

#endif
