/* SPDX-License-Identifier: Apache-2.0
 *
 * process_meet - the begin of a recorded process (record/process.h), and of
 * what is known of the modules that it loads.
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
 * The process @pid has said hello with @arena, of which the process takes a
 * reference. @pidfd becomes the process'. @inner_pid is what the process calls
 * itself. Main thread. 0 or -errno; then @pidfd is closed.
 */
int process_meet_hello(struct collector *collector, struct arena *arena,
		       pid_t pid, pid_t inner_pid, int pidfd);

/*
 * The process of @arena that has claimed slot @index: a known one, or a child
 * whose first slot it is. For drain worker @worker, which will read the slot:
 * it may use *@out until it has called process_drained() for it.
 * 0, -ESRCH when it cannot be one (the program lies), -EALREADY when that
 * worker has drained it, -EAGAIN: ask again in the next pass, or -ENOMEM (of
 * us, or of its recording) where that would be too late.
 */
int process_meet_slot(struct collector *collector, struct arena *arena,
		      uint32_t index, uint32_t worker, struct process **out);

/* Have the jobs thread open the files of modules that the program of @arena
 * has loaded since the last call, if there are any. The drain worker of slot
 * 0. */
void process_meet_modules(struct arena *arena);
/* Whether the program has called dlopen() since. The same worker, before it
 * sleeps. */
bool process_meet_has_modules(struct arena *arena);

#endif
