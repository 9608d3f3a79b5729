/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/files/wall_profile.h"

#include "collector/options/collect_options.h"
#include "collector/output/comments.h"
#include "collector/profile/stack_profile.h"
#include "collector/record/recording.h"
#include "collector/record/who.h"

int wall_profile_write(struct recording *recording,
		       struct stack_profile *profile, uint64_t duration_ns,
		       uint64_t lost_spans, const char *name)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct comments comments = { 0 };
	const struct stack_profile_header header = {
		.start_ns = (uint64_t)setup->started * 1000000000,
		.duration_ns = duration_ns,
		.period = 1,
		.comments = &comments,
	};
	int err;

	who_comment(recording, &comments);
	comments_add_count(&comments,
			   "# {call was lost: it is|calls were lost: "
			   "they are} not in this profile, {its time is "
			   "its caller's|their time is their callers'}",
			   lost_spans);
	err = stack_profile_write(profile, &header, setup->dir_fd, name);
	comments_release(&comments);
	return err;
}
