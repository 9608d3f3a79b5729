/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_object - what a blocked thread waits on, as a short text that is the
 * same for the same object: "[mutex app+0x4080]", "[pipe 5711]", "[sleep]". One
 * thread.
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_OBJECT_H
#define PERFREC_COLLECTOR_WAITS_WAIT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/waits/wait_call.h"
#include "collector/waits/wait_text.h"

struct wait_processes;
struct wait_objects; /* what is kept of processes and sockets */

/* Programs at the other end of pipes and sockets are looked for among
 * @processes. 0 or -ENOMEM; the caller ends *@out with wait_objects_free(). */
int wait_objects_new(const struct wait_processes *processes,
		     struct wait_objects **out);
/* Also for NULL. */
void wait_objects_free(struct wait_objects **objects);

struct wait_thread {
	pid_t pid, tid; /* in our namespace */
};

/* What @thread waits for in @call, which was just read of it, into @text. Reads
 * /proc and the memory of the process; what cannot be read makes the text say
 * less. */
void wait_object_name(struct wait_objects *objects,
		      const struct wait_thread *thread,
		      const struct wait_call *call, char text[WAIT_TEXT_BYTES]);

/* For tests: what @target is, which /proc/PID/fd/@fd leads to. */
void wait_object_target(const char *target, int fd, char text[WAIT_TEXT_BYTES]);

#endif
