/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot - the wall time profile of a recording that goes on, as it is now,
 * in a file of its own. See snapshot.c.
 */
#ifndef PERFREC_COLLECTOR_FILES_SNAPSHOT_H
#define PERFREC_COLLECTOR_FILES_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#define SNAPSHOT_NAME_BYTES 48

struct collector;
struct recording;
struct snapshot;
struct stack_profile;
struct thread;
struct thread_stacks;

/*
 * Starts a snapshot of @recording, and holds a reference to it. Main thread,
 * before drain_wait_begin(). The caller owns *@out, and ends it after
 * drain_wait_is_over() with snapshot_write(), or with snapshot_sum() if @sums.
 * With @sums it has the kernel's times of functions if the recording has them.
 * Returns 0, -EBUSY (another snapshot has not ended) or -ENOMEM.
 */
int snapshot_begin(struct recording *recording, bool sums,
		   struct snapshot **out);
/*
 * Write *@snapshot to the recording's folder, free it and set it to NULL. Sets
 * @name to the name of the file. Jobs thread. 0 or -errno; the log says so.
 */
int snapshot_write(struct snapshot **snapshot, char name[SNAPSHOT_NAME_BYTES]);

struct function_table;
/* Ends *@snapshot without a file: adds its values of each function to @table,
 * and its lost spans to *@lost. Jobs thread. Returns 0 or -ENOMEM. */
int snapshot_sum(struct snapshot **snapshot, struct function_table *table,
		 uint64_t *lost);

/* End *@snapshot without a file. Returns its profile of wall time, which the
 * caller frees. Jobs thread. */
struct stack_profile *snapshot_take(struct snapshot **snapshot);

/* Frees the state of snapshots of @recording. No snapshot may be in progress.
 * Only for the thread that finishes the recording, after all others. */
void snapshot_forget(struct recording *recording);

/* Set @name to the name of a snapshot of @kind ("wall") that is made now:
 * "KIND.20261121T100500.123.pb.gz", in UTC, so that names sort by time. Any
 * thread.
 */
void snapshot_make_name(const char *kind, char name[SNAPSHOT_NAME_BYTES]);

/* Copy the trees of @thread, if there is a snapshot that does not have them
 * yet. The drain worker of @thread calls it once in every pass. */
void snapshot_visit(struct thread *thread);
/* Adds the @stacks of @thread, which has ended, to a snapshot in progress that
 * lacks them. Jobs thread. */
void snapshot_add_ended(const struct thread *thread,
			const struct thread_stacks *stacks);

#endif
