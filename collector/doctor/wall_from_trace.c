/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions are identified by name only. The number of its text is the id of a
 * function and of its single location.
 */
#include "collector/doctor/wall_from_trace.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/output/comments.h"
#include "collector/output/out_pprof.h"
#include "collector/output/own_files.h"
#include "collector/read/trace_sums.h"

/* As in stack_profile_wall. */
static const struct out_value_type types[] = { { "calls", "count" },
					       { "wall", "nanoseconds" },
					       { "wall_measured",
						 "nanoseconds" } };

struct stack {
	uint64_t *location;
	size_t depth, room;
};

/* Sets @stack to the locations of @node, innermost first. Returns 0 or
 * -ENOMEM. */
static int find_wall_stack(const struct trace_sums *sums,
			   const struct sums_node *node, struct stack *stack)
{
	/* The root has neither parent nor name. */
	for (stack->depth = 0; node->call.parent;
	     node = trace_sums_node(sums, node->call.parent)) {
		if (grow_array(stack->location, stack->room, stack->depth + 1))
			return -ENOMEM;
		stack->location[stack->depth++] = (uint64_t)node->call.name + 1;
	}
	return 0;
}

static int put_wall_samples(const struct trace_sums *sums,
			    struct out_pprof *out)
{
	struct stack stack = { 0 };
	int err = 0;

	for (uint32_t i = 1; i < sums->tree.nodes.count && !err; i++) {
		const struct sums_node *node = trace_sums_node(sums, i);
		const int64_t values[] = { (int64_t)node->calls,
					   (int64_t)node->self_ns,
					   (int64_t)node->self_ns };
		struct out_labels labels;
		const struct trace_track *track;
		const struct trace_track *process;

		if (!node->call.parent)
			continue;
		err = find_wall_stack(sums, node, &stack);
		track = sums->tree.threads[node->call.thread].track;
		process = track->process;
		labels = (struct out_labels){
			.process = trace_reader_text(
				sums->tree.reader, process ? process->name : 0),
			.thread = trace_reader_text(sums->tree.reader,
						    track->name),
			.pid = track->pid,
			.tid = track->tid,
		};
		if (!err)
			out_pprof_sample(out, stack.location, stack.depth,
					 values, &labels);
	}
	free(stack.location);
	return err;
}

int wall_from_trace(const struct trace_sums *sums, int dir_fd)
{
	const struct out_head head = { .types = types,
				       .count = 3,
				       .default_type = 1,
				       .period_type = types[1],
				       .period = 1 };
	struct comments comments = { 0 };
	struct out_profile_end end = {
		.duration_ns =
			sums->tree.totals.last_ns - sums->tree.totals.first_ns,
	};
	struct out_pprof *out;
	int err = out_pprof_new(dir_fd, WALL_PROFILE_NAME, &head, &out);

	if (err)
		return err;
	for (uint32_t i = 0; i < sums->function_count; i++) {
		uint64_t id = (uint64_t)sums->functions[i].name + 1;
		const struct out_function function = {
			.id = id,
			.name = trace_reader_text(sums->tree.reader,
						  sums->functions[i].name),
			.file = "",
		};
		const struct out_line line = { .function = id };
		const struct out_location location = { .id = id,
						       .lines = &line,
						       .line_count = 1 };

		out_pprof_function(out, &function);
		out_pprof_location(out, &location);
	}
	err = put_wall_samples(sums, out);
	comments_add(&comments, "perfrec %s", PERFREC_VERSION);
	comments_add(&comments, "# made from the trace, because the collector "
				"was killed before it wrote this profile");
	comments_add_count(&comments,
			   "# {call was lost: it is|calls were lost: "
			   "they are} not in this profile, {its time is "
			   "its caller's|their time is their callers'}",
			   sums->lost);
	if (trace_reader_min_duration(sums->tree.reader))
		comments_add(&comments,
			     "# calls shorter than --min-duration are not in "
			     "this profile, their time is their callers'");
	end.comments = (const char *const *)comments.text;
	end.comment_count = comments.count;
	err = out_pprof_close(&out, err, &end);
	comments_release(&comments);
	return err;
}
