/* SPDX-License-Identifier: Apache-2.0
 *
 * The spans of threads that have ended are in the recording's profile. The
 * spans of other threads are in trees, which belong to drain workers. So a
 * snapshot has several steps, each on the thread that owns what the step reads:
 *
 *   main     snapshot_begin() posts a job and gives the snapshot its number
 *   jobs     begin_profile() copies the recording's profile; from then on
 *            snapshot_add_ended() adds threads that end and were not copied
 *   workers  snapshot_visit() copies the trees of each thread once, and posts
 *            a job with the copy; a worker does nothing else for a snapshot
 *   jobs     add_copy() adds each copy; after all of them, snapshot_write()
 *
 * Jobs run in the order in which they were posted, and the copy of a thread is
 * always posted before its end. So no thread is missed or counted twice.
 */
#include "collector/files/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/files/own_costs.h"
#include "collector/files/snapshot_inner.h"
#include "collector/files/span_profile.h"
#include "collector/files/thread_stacks.h"
#include "collector/files/wall_profile.h"
#include "collector/options/collect_options.h"
#include "collector/profile/stack_profile.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/samples/thread_cpu.h"
#include "collector/states/states.h"
#include "shared/atomic.h"

struct snapshot {
	struct job job; /* begin_profile() */
	struct recording *recording; /* a reference */
	uint32_t number; /* of this one among the recording's, from 1 */
	struct stack_profile *profile;
	bool is_span; /* of the kind stack_profile_span; else of wall time */
	uint64_t lost_spans;
};

/* NULL: there was none yet. Any thread. */
static struct snapshots *snapshots_of(struct recording *recording)
{
	/* order: acq, SNAPSHOT: it is zeroed */
	return atom_load_acq(recording_snapshots(recording));
}

void snapshot_forget(struct recording *recording)
{
	struct snapshots **snapshots = recording_snapshots(recording);

	free(*snapshots);
	*snapshots = NULL;
}

static void begin_profile(struct job *job)
{
	/* The job is the first member. */
	struct snapshot *snapshot = (struct snapshot *)job;
	struct recording *recording = snapshot->recording;
	const struct recording_profiles *profiles =
		&recording_setup(recording)->profiles;

	snapshots_of(recording)->now = snapshot;
	/* The profile counts stacks without room. */
	(void)stack_profile_merge(snapshot->profile, snapshot->is_span
							     ? profiles->span
							     : profiles->wall);
	snapshot->lost_spans = recording_lock(recording)->dropped_spans;
	recording_unlock(recording);
}

int snapshot_begin(struct recording *recording, bool sums,
		   struct snapshot **out)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct snapshots *snapshots = snapshots_of(recording);
	struct snapshot *snapshot;

	if (!snapshots) {
		snapshots = calloc(1, sizeof(*snapshots));
		/* order: rel, SNAPSHOT: it is zeroed */
		atom_store_rel(recording_snapshots(recording), snapshots);
	}
	if (!snapshots)
		return -ENOMEM;
	/* relaxed: the jobs thread sets it to 0 when all is over */
	if (atom_load_rlx(&snapshots->number))
		return -EBUSY;
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return -ENOMEM;
	snapshot->is_span =
		sums && setup->profiles.span && setup->options->sched;
	if (stack_profile_new(snapshot->is_span ? &stack_profile_span
						: &stack_profile_wall,
			      setup->symbols, setup->budget,
			      &snapshot->profile) < 0) {
		free(snapshot);
		return -ENOMEM;
	}
	snapshot->recording = recording_get(recording);
	snapshot->number = ++snapshots->begun;
	snapshot->job.run = begin_profile;
	jobs_post(setup->jobs, &snapshot->job);
	/* relaxed: the kick that follows orders it */
	atom_store_rlx(&snapshots->number, snapshot->number);
	*out = snapshot;
	return 0;
}

/* A thread's trees on their way to the jobs thread. */
struct copy {
	struct job job;
	struct recording *recording; /* a reference */
	uint32_t number; /* of the snapshot */
	uint64_t lost_spans;
	struct thread_stacks stacks;
};

static void add_stacks(struct snapshot *snapshot,
		       const struct thread_stacks *stacks)
{
	if (snapshot->is_span) {
		stack_profile_add_lost(snapshot->profile, stacks->lost_calls);
		span_profile_add(snapshot->profile, stacks);
	} else {
		thread_stacks_add(stacks, snapshot->profile);
	}
}

static void add_copy(struct job *job)
{
	/* The job is the first member. */
	struct copy *copy = (struct copy *)job;
	struct snapshot *snapshot = snapshots_of(copy->recording)->now;

	/* A worker may visit a thread after the last pass that counts. Its copy
	 * arrives when the snapshot is already written. */
	if (snapshot && snapshot->number == copy->number) {
		add_stacks(snapshot, &copy->stacks);
		snapshot->lost_spans += copy->lost_spans;
	}
	thread_stacks_release(&copy->stacks);
	recording_put(&copy->recording);
	free(copy);
}

void snapshot_visit(struct thread *thread)
{
	struct recording *recording = thread->setup->arena_setup->recording;
	struct snapshots *snapshots = snapshots_of(recording);
	struct copy *copy;
	uint32_t number;
	uint64_t now_ns;
	struct arena *arena;
	struct states_calls *calls;
	size_t count;

	if (!snapshots)
		return;
	/* relaxed: the kick that follows it orders it */
	number = atom_load_rlx(&snapshots->number);
	if (!number || number == thread->snapshot)
		return;
	copy = calloc(1, sizeof(*copy));
	if (!copy) /* then in the next pass */
		return;
	thread->snapshot = number;
	copy->job.run = add_copy;
	copy->recording = recording_get(recording);
	copy->number = number;
	copy->lost_spans = fibers_counts(&thread->fibers).lost_spans;
	/* The calls of the thread that were only counted so far. */
	arena = thread->setup->arena;
	count = states_slot_calls(
		arena, (uint32_t)(thread->slot - arena_slot_shm(arena, 0)),
		&calls);
	thread_stacks_set_calls(thread, calls, count);
	free(calls);
	now_ns = clock_boottime_ns();
	thread_cpu_look(thread, now_ns);
	thread_stacks_copy(thread, now_ns, &copy->stacks);
	jobs_post(recording_setup(recording)->jobs, &copy->job);
}

void snapshot_add_ended(const struct thread *thread,
			const struct thread_stacks *stacks)
{
	struct snapshots *snapshots =
		snapshots_of(thread->setup->arena_setup->recording);
	struct snapshot *snapshot = snapshots ? snapshots->now : NULL;

	if (!snapshot || thread->snapshot == snapshot->number)
		return;
	add_stacks(snapshot, stacks);
	snapshot->lost_spans += thread->entry.dropped_spans;
}

void snapshot_make_name(const char *kind, char name[SNAPSHOT_NAME_BYTES])
{
	struct timespec now;
	char date[32];
	struct tm utc;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(date, sizeof(date), "%Y%m%dT%H%M%S", &utc);
	snprintf(name, SNAPSHOT_NAME_BYTES, "%.8s.%.20s.%03ld.pb.gz", kind,
		 date, now.tv_nsec / 1000000 % 1000);
}

/* Frees *@snapshot: there may be another one from then on. */
static void snapshot_end(struct snapshot **snapshot)
{
	struct snapshot *old = *snapshot;
	struct snapshots *snapshots = snapshots_of(old->recording);

	*snapshot = NULL;
	snapshots->now = NULL;
	/* relaxed: nobody uses the snapshot after this */
	atom_store_rlx(&snapshots->number, 0);
	stack_profile_free(&old->profile);
	recording_put(&old->recording);
	free(old);
}

int snapshot_write(struct snapshot **snapshot, char name[SNAPSHOT_NAME_BYTES])
{
	struct snapshot *old = *snapshot;
	struct recording *recording = old->recording;
	const struct recording_setup *setup = recording_setup(recording);
	const struct own_costs costs = own_costs_early(recording);
	int err;

	*snapshot = NULL;
	stack_profile_set_costs(old->profile, &costs, 0);
	snapshot_make_name("wall", name);
	err = wall_profile_write(recording, old->profile,
				 clock_boottime_ns() - setup->start_ns,
				 old->lost_spans, name);
	recording_say_unwritten(recording, name, err);
	snapshot_end(&old);
	return err;
}

struct stack_profile *snapshot_take(struct snapshot **snapshot)
{
	struct snapshot *old = *snapshot;
	struct stack_profile *profile = old->profile;
	const struct own_costs costs = own_costs_early(old->recording);

	*snapshot = NULL;
	old->profile = NULL;
	stack_profile_set_costs(profile, &costs, 0);
	snapshot_end(&old);
	return profile;
}

int snapshot_sum(struct snapshot **snapshot, struct function_table *table,
		 uint64_t *lost)
{
	struct snapshot *old = *snapshot;
	int err = stack_profile_sum(old->profile, table);

	*snapshot = NULL;
	*lost += old->lost_spans;
	snapshot_end(&old);
	return err;
}
