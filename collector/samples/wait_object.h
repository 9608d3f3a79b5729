/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_object - names the object of a wait in a short text, the same for the
 * same object: "[mutex app+0x4080]", "[pipe 5711]", "[sleep]". One thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_OBJECT_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/record/wakes.h"
#include "collector/samples/wait_call.h"
#include "collector/samples/wait_peers.h"
#include "collector/samples/wait_text.h"

#define WAIT_HOLDERS_MAX 64u

struct wait_processes;
struct wait_objects; /* caches of processes and sockets */

/* Makes *@out, which searches @processes for programs at the other end of pipes
 * and sockets. Returns 0 or -ENOMEM; the caller ends *@out with
 * wait_objects_free(). */
int wait_objects_new(const struct wait_processes *processes,
		     struct wait_objects **out);
/* Accepts NULL. */
void wait_objects_free(struct wait_objects **objects);

struct wait_thread {
	pid_t pid, tid; /* in our namespace */
};

/* Writes the object of @thread's wait in @call, which was just read, to @text.
 * Reads /proc and the memory of the process; the text has less detail if they
 * are unreadable. */
void wait_object_name(struct wait_objects *objects,
		      const struct wait_thread *thread,
		      const struct wait_call *call, char text[WAIT_TEXT_BYTES]);

/* The files that a wait is for, and descriptors of their other ends. */
struct wait_wakers {
	uint64_t file[WAKES_FILES_MAX]; /* wakes_file() */
	uint32_t files, holders;
	struct wait_holder holder[WAIT_HOLDERS_MAX];
};

/* Sets *@out to the files from which @thread waits for data in @call, which
 * wait_object_name() has just named; none: it waits for anything else. */
void wait_object_wakers(struct wait_objects *objects,
			const struct wait_thread *thread,
			const struct wait_call *call, struct wait_wakers *out);

/* For tests: names @target, the link /proc/PID/fd/@fd. */
void wait_object_target(const char *target, int fd, char text[WAIT_TEXT_BYTES]);

#endif
