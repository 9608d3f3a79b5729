/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/offcpu_profile.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "collector/base/budget.h"
#include "collector/files/flat_stacks.h"
#include "collector/files/thread_stacks.h"
#include "collector/options/collect_options.h"
#include "collector/output/own_files.h"
#include "collector/profile/comments.h"
#include "collector/profile/stack_profile.h"
#include "collector/record/recording.h"
#include "collector/replay/cct_flat.h"
#include "collector/stacks/stacks.h"
#include "shared/compiler.h"

#define SECOND_NS 1000000000u
/* The most memory for the stacks of one tree, which is in memory, too. */
#define STACKS_BYTES (1ULL << 30)

/* Comments on waits of which something is missing. */
static void make_comments(const struct recording *recording,
			  struct comments *out)
{
	const struct wait_totals *blocked =
		&recording_sums(recording)->totals.blocked;
	const struct {
		uint64_t count;
		const char *form;
	} rows[] = {
		{ blocked->left,
		  "# {wait|waits} ended before it could be read what "
		  "{it was|they were} on" },
		{ blocked->refused,
		  "# {wait|waits} of processes that may not be looked at" },
		{ blocked->odd, "# {wait|waits} could not be read" },
		{ blocked->lost,
		  "# {wait|waits} came faster than could be unwound" },
		{ blocked->cut,
		  "# distinct {stack|stacks} of blocked threads could not be "
		  "unwound to {its|their} end: a register that {it needs|they "
		  "need} is not known, and {its|their} outermost functions are "
		  "[truncated]" },
	};

	comments_add_command(out, recording_setup(recording)->options->command);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		comments_add_count(out, rows[i].form, rows[i].count);
}

/* --- the rest ---------------------------------------------------------------
 */

/* The waits of one tree on their way into the profile. */
struct rest {
	const struct cct_flat *flat;
	struct stacks *stacks;
	uint32_t *number; /* of the stack of each node */
	struct stack_values *values;
	size_t count;
};

/* What is not told of the waits of node @i, below its stack. */
static void add_node(struct rest *rest, size_t i)
{
	const struct stack_frame unknown = { .address = FRAME_UNKNOWN,
					     .kind = FRAME_NAMED };
	const struct kernel_counts *counts = &rest->flat->kernel[i];
	struct stack_values *one = &rest->values[rest->count];
	uint64_t told = MIN(counts->told_waits, counts->waits);
	uint64_t told_ns = MIN(counts->told_ns, counts->blocked_ns);

	if (counts->blocked_ns == told_ns && counts->waits == told)
		return;
	one->stack = stacks_child(rest->stacks, rest->number[i], &unknown);
	one->value[0] = (int64_t)(counts->waits - told);
	one->value[1] = (int64_t)(counts->blocked_ns - told_ns);
	rest->count++;
}

static void add_rest(struct stack_profile *profile,
		     const struct thread_stacks *from,
		     const struct cct_flat *flat)
{
	struct budget budget = { .left = STACKS_BYTES };
	struct rest rest = { .flat = flat };

	if (!flat->kernel)
		return;
	rest.values = calloc(flat->node_count, sizeof(*rest.values));
	if (rest.values && stacks_new(&budget, &rest.stacks) == 0)
		rest.number = flat_stacks(flat, rest.stacks);
	for (size_t i = 0; rest.number && i < flat->node_count; i++)
		add_node(&rest, i);
	if (rest.count)
		(void)stack_profile_add(profile, &from->owner, rest.stacks,
					from->modules, rest.values, rest.count);
	stacks_free(&rest.stacks);
	free(rest.number);
	free(rest.values);
}

void offcpu_profile_add_rest(struct stack_profile *profile,
			     const struct thread_stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++)
		add_rest(profile, stacks, &stacks->flat[i]);
}

/* --- the file ---------------------------------------------------------------
 */

int offcpu_profile_write(struct recording *recording, uint64_t duration_ns,
			 uint64_t *bytes)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct comments comments = { 0 };
	const struct stack_profile_header header = {
		.start_ns = (uint64_t)setup->started * SECOND_NS,
		.duration_ns = duration_ns,
		.period = 1,
		.comments = &comments,
	};
	const struct sched_totals *sched =
		&recording_sums(recording)->totals.sched;
	struct stat status;
	int err;

	*bytes = 0;
	/* An empty profile says that nothing waited. */
	if (!setup->profiles.offcpu ||
	    !(recording_sums(recording)->totals.blocked.count ||
	      sched->threads || sched->silent_threads))
		return 0;
	/* The profile counts what it has no room for. */
	(void)stack_profile_merge(setup->profiles.offcpu,
				  setup->profiles.offcpu_rest);
	make_comments(recording, &comments);
	err = stack_profile_write(setup->profiles.offcpu, &header,
				  setup->dir_fd, OFFCPU_PROFILE_NAME);
	comments_release(&comments);
	if (!err && !fstatat(setup->dir_fd, OFFCPU_PROFILE_NAME, &status, 0))
		*bytes = (uint64_t)status.st_size;
	return err;
}
