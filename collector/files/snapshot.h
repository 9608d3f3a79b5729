/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot - the profile of a recording that goes on, as of about now, in a
 * file of its own. See snapshot.c.
 */
#ifndef PERFREC_COLLECTOR_FILES_SNAPSHOT_H
#define PERFREC_COLLECTOR_FILES_SNAPSHOT_H

#include <stdint.h>

#define SNAPSHOT_NAME_BYTES 48

struct collector;
struct recording;
struct snapshot;
struct thread;
struct thread_stacks;

/*
 * Begin a snapshot of @recording, of which it takes a reference: 0, -EBUSY
 * (there is one) or -ENOMEM. Main thread, before drain_note_passes(); the one
 * who began it ends it with snapshot_write() once drain_has_passed().
 */
int snapshot_begin(struct collector *collector, struct recording *recording,
		   struct snapshot **out);
/*
 * Write it to the recording's folder; @name is that of the file. Clears
 * *@snapshot. 0 or -errno, which the log has. Jobs thread.
 */
int snapshot_write(struct snapshot **snapshot, char name[SNAPSHOT_NAME_BYTES]);

/* What a snapshot of now is called: "KIND.20261121T100500.123.pb.gz", in UTC,
 * so names sort by time. */
void snapshot_make_name(const char *kind, char name[SNAPSHOT_NAME_BYTES]);

/* Copy what @thread did, if a snapshot wants it. For the drain worker, once in
 * every pass. */
void snapshot_visit(struct thread *thread);
/* @thread has ended: what it did was perhaps not copied. Jobs thread. */
void snapshot_add_ended(const struct thread *thread,
			const struct thread_stacks *stacks);

#endif
