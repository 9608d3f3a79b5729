/* SPDX-License-Identifier: Apache-2.0
 *
 * push_spool - the folder of windows that perfrec-push has not sent yet
 * (docs/SERVICE.md). A collector has one for all recordings.
 */
#ifndef PERFREC_COLLECTOR_FILES_PUSH_SPOOL_H
#define PERFREC_COLLECTOR_FILES_PUSH_SPOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_NAME_BYTES 48

struct bytes;
struct push_spool;

struct push_spool_counts {
	uint64_t windows; /* that were written */
	uint64_t full; /* that came too early: there was no room yet */
	uint64_t failed; /* that could not be written, the log says why */
};

/* Makes the spool, without a folder, for @bytes of windows. The caller ends
 * *@out with push_spool_free(). 0 or -errno. */
int push_spool_new(uint64_t bytes, struct push_spool **out);
/* Creates the spool's folder in the folder @output, or reuses it and removes
 * incomplete windows. Call it before any recording ends. Returns 0, or -errno
 * after one line in the log. */
int push_spool_open(struct push_spool *spool, const char *output);
/* Also for NULL. */
void push_spool_free(struct push_spool **spool);

/* Returns the spool's folder, valid while @spool is. */
const char *push_spool_path(const struct push_spool *spool);
/* A pipe that gets a byte for each window, for perfrec-push. */
int push_spool_pipe(const struct push_spool *spool);
/* No window comes any more: whoever reads the pipe sees its end. */
void push_spool_close(struct push_spool *spool);
/* Reads the counters that perfrec-push writes by rename, at most once a second,
 * to the folder @spool. Waits for the file system. The caller ends them by
 * json_decref(). NULL: there are none yet, or they make no sense. */
json_t *push_spool_read_counters(const char *spool);
/* Whether a server will never get something, as the counters say. */
bool push_spool_has_lost(const struct push_spool *spool);
/* Removes the folder if it has no windows; with @keep_counters it stays, with
 * the counters. Returns the number of its windows. */
unsigned int push_spool_remove(struct push_spool *spool, bool keep_counters);

struct push_spool_counts push_spool_counts(struct push_spool *spool);

/* Below: threads that may wait for the disk. */

/* Whether there is room for one more window; false is counted. */
bool push_spool_has_room(struct push_spool *spool);
/* Writes the window @name, whose file is @window. Returns 0 or -errno. */
int push_spool_put(struct push_spool *spool, const char name[WINDOW_NAME_BYTES],
		   const struct bytes *window);

#endif
