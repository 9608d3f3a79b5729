/* SPDX-License-Identifier: Apache-2.0
 *
 * retention - removes the oldest finished recordings from a daemon's folder
 * (--keep-recordings) on its own thread, which may wait for the disk.
 */
#ifndef PERFREC_COLLECTOR_SERVE_RETENTION_H
#define PERFREC_COLLECTOR_SERVE_RETENTION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct keep_limits;
struct retention;

/* Callback of retention's thread after the recording in folder @dev, @ino was
 * removed. */
struct retention_owner {
	void (*removed)(void *context, dev_t dev, ino_t ino);
	void *context;
};

struct retention_counts {
	uint64_t removed, removed_bytes;
	uint64_t stuck; /* the last look could not remove them */
};

/* Applies @limits to the folder at @path. @limits must stay valid. The caller
 * frees *@out. Returns 0 or -errno. */
int retention_new(const char *path, const struct keep_limits *limits,
		  const struct retention_owner *owner, struct retention **out);
/* Waits for a look under way. Sets *@retention to NULL; it may be NULL. */
void retention_free(struct retention **retention);

/* Returns the length of NAME in a folder name NAME-PID or NAME-PID.N of a
 * daemon, or 0 for other names. Pure. */
size_t retention_program(const char *name);
/* Requests a look at the folder, because a recording has ended or time has
 * passed. Any thread; never blocks. @retention may be NULL. */
void retention_look(struct retention *retention);
/* Any thread. @retention may be NULL. */
struct retention_counts retention_counts(struct retention *retention);

#endif
