/* SPDX-License-Identifier: Apache-2.0
 *
 * process_meet - starts recorded processes (record/process.h) and follows the
 * modules that they load.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_MEET_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_MEET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct arena;
struct collector;
struct process;

/*
 * Starts the process @pid, which has said hello with @arena; takes a reference
 * to @arena. The process takes over @pidfd. @inner_pid is its id in its own
 * namespace. Main thread. Returns 0 or -errno; an error closes @pidfd.
 */
int process_meet_hello(struct collector *collector, struct arena *arena,
		       pid_t pid, pid_t inner_pid, int pidfd);

/*
 * Finds the process of @arena that has claimed slot @index: a known process, or
 * a child whose first slot it is. For drain worker @worker, which will read the
 * slot: it may use *@out until its process_drained() for that process. Returns
 * 0; -ESRCH: impossible, the program lies; -EALREADY: that worker has drained
 * the process; -EAGAIN: ask again in the next pass; or -ENOMEM, of the
 * collector or of the recording, when the next pass would be too late.
 */
int process_meet_slot(struct collector *collector, struct arena *arena,
		      uint32_t index, uint32_t worker, struct process **out);

/* Posts a job that opens the files of modules that the program of @arena has
 * loaded since the last call. The drain worker of slot 0. */
void process_meet_modules(struct arena *arena);
/* Returns true if the program has called dlopen() since process_meet_modules().
 * The same worker, before it sleeps. */
bool process_meet_has_modules(struct arena *arena);

#endif
