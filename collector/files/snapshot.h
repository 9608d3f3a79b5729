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
struct thread;
struct thread_stacks;

/*
 * Begin a snapshot of @recording, of which it takes a reference. Main thread,
 * before drain_wait_begin(). On success the caller owns *@out, and ends it
 * when drain_wait_is_over(), with snapshot_write(), or if @sums with
 * snapshot_sum(): then it has what the kernel told of the functions, if the
 * recording has it. 0, -EBUSY (another snapshot has not ended) or -ENOMEM.
 */
int snapshot_begin(struct recording *recording, bool sums,
		   struct snapshot **out);
/*
 * Write *@snapshot to the recording's folder, free it and set it to NULL. Sets
 * @name to the name of the file. Jobs thread. 0 or -errno; the log says so.
 */
int snapshot_write(struct snapshot **snapshot, char name[SNAPSHOT_NAME_BYTES]);

struct function_table;
/* End *@snapshot without a file: add what it has of each function to @table,
 * and to *@lost how many spans were lost. Jobs thread. 0 or -ENOMEM. */
int snapshot_sum(struct snapshot **snapshot, struct function_table *table,
		 uint64_t *lost);

/* Free what is kept of the snapshots of @recording, of which none is under way.
 * Whoever finishes the recording, after all others. */
void snapshot_forget(struct recording *recording);

/* Set @name to the name of a snapshot of @kind ("wall") that is made now:
 * "KIND.20261121T100500.123.pb.gz", in UTC, so that names sort by time. Any
 * thread.
 */
void snapshot_make_name(const char *kind, char name[SNAPSHOT_NAME_BYTES]);

/* Copy the trees of @thread, if there is a snapshot that does not have them
 * yet. The drain worker of @thread calls it once in every pass. */
void snapshot_visit(struct thread *thread);
/* @thread has ended with @stacks: add them to the snapshot, if there is one
 * that does not have them yet. Jobs thread. */
void snapshot_add_ended(const struct thread *thread,
			const struct thread_stacks *stacks);

#endif
