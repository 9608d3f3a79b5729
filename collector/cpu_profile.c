/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/cpu_profile.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/collect_options.h"
#include "collector/log.h"
#include "collector/recording.h"
#include "collector/stack_profile.h"

#define COMMENT_BYTES 160
#define COMMENTS_MAX 5
#define COMMAND_BYTES 4096
#define SECOND_NS 1000000000u

struct comments {
	const char *list[COMMENTS_MAX + 1];
	size_t count;
	char text[COMMENTS_MAX][COMMENT_BYTES];
	size_t made;
	char command[COMMAND_BYTES];
};

/* A comment about @number things, if there are any. */
static void add_comment(struct comments *comments, const char *format,
			uint64_t number)
{
	char *text = comments->text[comments->made];

	if (!number)
		return;
	snprintf(text, COMMENT_BYTES, format, (unsigned long long)number);
	comments->made++;
	comments->list[comments->count++] = text;
}

static void make_comments(const struct recording *recording,
			  struct comments *out)
{
	const struct sample_totals *sampled = &recording->sampled;
	const char *const *command =
		(const char *const *)recording->options->command;

	if (command) {
		snprintf(out->command, sizeof(out->command), "command: %s",
			 command[0]);
		out->list[out->count++] = out->command;
	}
	add_comment(out,
		    "%llu samples came faster than they could be unwound: they "
		    "are in [unknown]",
		    sampled->lost);
	add_comment(out, "%llu samples had no stack: they are in [unknown]",
		    sampled->unknown);
	add_comment(out,
		    "%llu distinct stacks are not whole: their outermost "
		    "functions are [truncated] (--stack-size copies more)",
		    sampled->cut);
	add_comment(out,
		    "%llu distinct stacks go through code without unwind "
		    "tables: callers there may be missing",
		    sampled->guessed);
	add_comment(out,
		    "%llu stacks found no memory: they are in [other stacks]",
		    sampled->lost_stacks);
}

int cpu_profile_write(struct recording *recording, uint64_t start_ns,
		      uint64_t duration_ns, uint64_t *bytes)
{
	struct comments comments = { .count = 0 };
	struct stack_profile_header header = { .start_ns = start_ns,
					       .duration_ns = duration_ns,
					       .comments = comments.list };
	struct stat status;
	int err;

	*bytes = 0;
	if (!recording->cpu_profile || !recording->options->cpu_hz)
		return 0;
	header.period = SECOND_NS / recording->options->cpu_hz;
	make_comments(recording, &comments);
	header.comment_count = comments.count;
	err = stack_profile_write(recording->cpu_profile, &header,
				  recording->dir_fd, CPU_PROFILE_NAME);
	if (err)
		log_err("cannot write '%s/%s': %s", recording->path,
			CPU_PROFILE_NAME, strerror(-err));
	else if (!fstatat(recording->dir_fd, CPU_PROFILE_NAME, &status, 0))
		*bytes = (uint64_t)status.st_size;
	return err;
}
