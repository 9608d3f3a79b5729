/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/thread_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/record/thread_state.h"
#include "collector/replay/cct_flat.h"
#include "collector/replay/exact_calls.h"
#include "collector/states/states.h"

struct copying {
	struct thread_stacks *stacks;
	uint64_t now_ns;
};

static void copy_stack_tree(void *context, struct replay *replay)
{
	const struct copying *copying = context;
	struct thread_stacks *stacks = copying->stacks;

	if (stacks->flat && cct_flat_copy(replay, copying->now_ns,
					  &stacks->flat[stacks->count]) == 0)
		stacks->count++;
	else
		stacks->lost_calls += replay_counts(replay)->spans;
}

void thread_stacks_set_calls(struct thread *thread,
			     const struct states_calls *calls, size_t count)
{
	struct exact_calls *exact =
		count ? calloc(count, sizeof(*exact)) : NULL;

	for (size_t i = 0; exact && i < count; i++)
		exact[i] =
			(struct exact_calls){ calls[i].address,
					      calls[i].generation,
					      calls[i].calls, calls[i].apart };
	/* Without memory only recorded calls count. */
	if (exact)
		(void)exact_calls_set(&thread->fibers, exact, count);
	free(exact);
}

void thread_stacks_copy(struct thread *thread, uint64_t now_ns,
			struct thread_stacks *out)
{
	const struct process_setup *process = thread->setup;
	struct recording *recording = process->arena_setup->recording;
	struct copying copying = { out, now_ns };

	*out = (struct thread_stacks){
		.owner = { .pid = process->pid, .tid = thread->entry.tid },
		.modules = modules_get(thread->setup->modules),
		.sched = (thread->cpu &&
			  thread->setup->collector->options->sched) ||
			 thread->entry.sched,
		.flat = calloc(thread->fibers.count, sizeof(*out->flat)),
	};
	memcpy(out->owner.thread, thread->entry.name,
	       sizeof(out->owner.thread));
	recording_lock(recording);
	memcpy(out->owner.process, process->entry->name,
	       sizeof(out->owner.process));
	recording_unlock(recording);
	fibers_each(&thread->fibers, copy_stack_tree, &copying);
}

void thread_stacks_add(const struct thread_stacks *stacks,
		       struct stack_profile *profile)
{
	stack_profile_add_lost(profile, stacks->lost_calls);
	/* The profile counts stacks without room. */
	for (size_t i = 0; i < stacks->count; i++)
		(void)stack_profile_add_flat(profile, &stacks->owner,
					     &stacks->flat[i], stacks->modules);
}

void thread_stacks_release(struct thread_stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++)
		cct_flat_release(&stacks->flat[i]);
	free(stacks->flat);
	modules_put(&stacks->modules);
}
