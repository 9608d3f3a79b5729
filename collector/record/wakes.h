/* SPDX-License-Identifier: Apache-2.0
 *
 * wakes - who ended waits for data from pipes, sockets and eventfds: compares
 * the files that a blocked thread waits for with the writes that programs have
 * recorded. Any thread.
 */
#ifndef PERFREC_COLLECTOR_RECORD_WAKES_H
#define PERFREC_COLLECTOR_RECORD_WAKES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct budget;
struct modules;
struct wakes;

/* Files that a wait has at most. */
#define WAKES_FILES_MAX 16u

/* A write, by the thread @tid of @pid, in @function. */
struct wake {
	uint64_t ns; /* BOOTTIME, just before the call */
	uint64_t function; /* 0: none */
	struct modules *modules; /* of the process */
	uint32_t generation; /* of the load map */
	pid_t pid, tid; /* in our pid namespace */
	bool closes; /* close() or shutdown(): perhaps of one of several ends */
	char name[16]; /* of the thread */
};

/* Returns the number of the file that a RELEASE of SYNC_DESCRIPTOR names by
 * @object (record_ext.h), in the process @pid. */
uint64_t wakes_file(pid_t pid, uint64_t object);

/* Makes *@out, whose memory comes from @budget. Returns 0 or -ENOMEM. */
int wakes_new(struct budget *budget, struct wakes **out);
/* Accepts NULL. */
void wakes_free(struct wakes **wakes);

/* The thread @tid, blocked since @from_ns, waits for any of @count files. */
void wakes_expect(struct wakes *wakes, pid_t tid, uint64_t from_ns,
		  const uint64_t *file, uint32_t count);
/* Takes a copy of @wake, a write to @file, with a reference to its modules. */
void wakes_add(struct wakes *wakes, uint64_t file, const struct wake *wake);
/* Sets *@out to the write that ended the wait of @tid, when all writes up to
 * @to_ns are added. The caller puts out->modules. Returns false if it is not
 * known. */
bool wakes_find(struct wakes *wakes, pid_t tid, uint64_t from_ns,
		uint64_t to_ns, struct wake *out);

#endif
