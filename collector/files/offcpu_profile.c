/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/offcpu_profile.h"

#include <sys/stat.h>

#include "collector/options/collect_options.h"
#include "collector/output/own_files.h"
#include "collector/profile/comments.h"
#include "collector/profile/stack_profile.h"
#include "collector/record/recording.h"
#include "shared/compiler.h"

#define SECOND_NS 1000000000u

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
	struct stat status;
	int err;

	*bytes = 0;
	if (!setup->profiles.offcpu ||
	    !recording_sums(recording)->totals.blocked.count)
		return 0;
	make_comments(recording, &comments);
	err = stack_profile_write(setup->profiles.offcpu, &header,
				  setup->dir_fd, OFFCPU_PROFILE_NAME);
	comments_release(&comments);
	if (!err && !fstatat(setup->dir_fd, OFFCPU_PROFILE_NAME, &status, 0))
		*bytes = (uint64_t)status.st_size;
	return err;
}
