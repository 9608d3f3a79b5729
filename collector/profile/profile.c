/* SPDX-License-Identifier: Apache-2.0
 *
 * profile - flat trees of threads, added to one profile_tree: nodes are mapped
 * to those of the tree, parents first. All runs on the jobs thread.
 *
 * A location has one line: that of the function itself. What debug information
 * calls inlined at its entry is not: hooks tell calls of inlined functions
 * apart, so these are stacks of their own.
 *
 * What was lost is in comments of the file.
 */
#include "collector/profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/replay/cct_flat.h"
#include "collector/profile/out_pprof.h"
#include "collector/profile/profile_tree.h"
#include "collector/base/size.h"
#include "collector/stacks/stacks.h"
#include "shared/compiler.h"

#define COMMENT_BYTES 160
#define COMMENTS_MAX 8
/* Of a command in a comment. */
#define COMMAND_BYTES 4096

#define NOT_THERE UINT32_MAX

/* Values, and types of the file. */
enum { CALLS, WALL_NS, VALUES };

struct profile {
	struct profile_tree tree;
};

int profile_new(struct symbol_cache *cache, struct budget *budget,
		struct profile **out)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return -ENOMEM;
	profile_tree_init(&profile->tree, cache, budget, VALUES);
	*out = profile;
	return 0;
}

void profile_free(struct profile **profile)
{
	struct profile *old = *profile;

	*profile = NULL;
	if (!old)
		return;
	profile_tree_release(&old->tree);
	free(old);
}

/* --- adding -----------------------------------------------------------------
 */

/* One flat tree on its way into a profile. */
struct addition {
	struct profile_tree *tree;
	const struct cct_flat *flat;
	uint32_t *location; /* of each function; [0] of overflow */
	struct tree_place *mapped; /* each node of flat */
};

void profile_add_lost(struct profile *profile, uint64_t calls)
{
	const int64_t value[VALUES] = { [CALLS] = (int64_t)MIN(
						calls, (uint64_t)INT64_MAX) };

	profile_tree_lose(&profile->tree, value);
}

static void lose_node(struct addition *add, const struct flat_node *node)
{
	const int64_t value[VALUES] = {
		[CALLS] = (int64_t)MIN(node->calls, (uint64_t)INT64_MAX)
	};

	profile_tree_lose(add->tree, value);
}

/* The node that node @index is to be, whose parent became @above. */
static int map_node(struct addition *add, size_t index,
		    const struct tree_place *above, struct tree_place *out)
{
	const struct flat_node *flat = &add->flat->node[index];
	const int64_t value[VALUES] = {
		[CALLS] = (int64_t)MIN(flat->calls, (uint64_t)INT64_MAX),
		[WALL_NS] = flat->self_ns,
	};
	int err;

	if (above->node == NOT_THERE)
		return -ENOMEM;
	err = profile_tree_child(add->tree, above,
				 add->location[flat->function], out);
	if (!err)
		profile_tree_count(add->tree, out, value);
	return err;
}

static int map_nodes(struct addition *add)
{
	const struct cct_flat *flat = add->flat;
	int first_err = 0, err;
	size_t i;

	for (i = 1; i < flat->node_count; i++) {
		err = map_node(add, i, &add->mapped[flat->node[i].parent],
			       &add->mapped[i]);
		if (!err)
			continue;
		first_err = first_err ? first_err : err;
		add->mapped[i].node = NOT_THERE;
		lose_node(add, &flat->node[i]);
	}
	return first_err;
}

static int map_locations(struct addition *add, struct modules *modules)
{
	const struct cct_flat *flat = add->flat;
	struct locations *locations = &add->tree->locations;
	int err = locations_mark(locations, "[overflow]", &add->location[0]);
	size_t i;

	for (i = 1; i < flat->function_count && !err; i++) {
		const struct stack_frame frame = {
			.address = flat->function[i].address,
			.generation = flat->function[i].generation,
			.kind = FRAME_ENTRY,
		};

		err = locations_find(locations, modules, &frame,
				     &add->location[i]);
	}
	return err;
}

static int add_all(struct addition *add, const struct profile_owner *owner,
		   struct modules *modules)
{
	int err;

	if (!add->location || !add->mapped)
		return -ENOMEM;
	err = map_locations(add, modules);
	if (!err)
		err = profile_tree_root(add->tree, owner, &add->mapped[0]);
	return err;
}

int profile_add(struct profile *profile, const struct profile_owner *owner,
		const struct cct_flat *flat, struct modules *modules)
{
	struct addition add = {
		.tree = &profile->tree,
		.flat = flat,
		.location = calloc(flat->function_count, sizeof(*add.location)),
		.mapped = calloc(flat->node_count, sizeof(*add.mapped)),
	};
	int err = add_all(&add, owner, modules);
	size_t i;

	if (!err)
		err = map_nodes(&add);
	else
		for (i = 1; i < flat->node_count; i++)
			lose_node(&add, &flat->node[i]);
	free(add.location);
	free(add.mapped);
	return err;
}

int profile_merge(struct profile *profile, const struct profile *from)
{
	return profile_tree_merge(&profile->tree, &from->tree);
}

/* --- writing ----------------------------------------------------------------
 */

struct comments {
	const char *list[COMMENTS_MAX];
	size_t count;
	char text[COMMENTS_MAX][COMMENT_BYTES];
	char command[COMMAND_BYTES];
};

/* A comment about @number things, if there are any. */
static void add_comment(struct comments *comments, const char *form,
			uint64_t number)
{
	char digits[SIZE_TEXT];
	char *text = comments->text[comments->count];

	if (!number)
		return;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	size_format_text(form, digits, text, COMMENT_BYTES);
	comments->list[comments->count++] = text;
}

static void make_comments(const struct profile_tree *tree,
			  const struct profile_header *header,
			  int64_t unwritten_calls, struct comments *out)
{
	out->list[out->count++] = "perfrec " PERFREC_VERSION;
	if (header->command) {
		snprintf(out->command, sizeof(out->command), "command: %s",
			 header->command);
		out->list[out->count++] = out->command;
	}
	add_comment(out,
		    "# {span was lost: its call is|spans were lost: their "
		    "calls are} not in this "
		    "profile, {its time is its caller's|their time is their "
		    "callers'}",
		    header->lost_spans);
	add_comment(out,
		    "# {call is|calls are} not in this profile: there was no "
		    "memory "
		    "for {its stack|their stacks}",
		    (uint64_t)tree->lost[CALLS]);
	add_comment(
		out,
		"# {call is|calls are} not in this profile: it would have been "
		"too large",
		(uint64_t)unwritten_calls);
	add_comment(out,
		    "# {call was|calls were} too deep for {its|their} whole "
		    "stack: functions "
		    "are left out at [truncated]",
		    (uint64_t)tree->truncated);
}

int profile_write(struct profile *profile, const struct profile_header *header,
		  int dir_fd, const char *name)
{
	static const struct out_value_type types[VALUES] = {
		[CALLS] = { "calls", "count" },
		[WALL_NS] = { "wall", "nanoseconds" },
	};
	static const struct out_head head = {
		.types = types,
		.count = VALUES,
		.default_type = WALL_NS,
		.period_type = { "wall", "nanoseconds" },
		.period = 1,
	};
	struct comments comments = { .count = 0 };
	struct out_profile_end end = {
		.time_ns = header->start_ns,
		.duration_ns = header->duration_ns,
		.comments = comments.list,
	};
	int64_t unwritten[OUT_VALUES_MAX];
	struct out_pprof *out;
	int err = out_pprof_new(dir_fd, name, &head, &out);

	if (err)
		return err;
	err = profile_tree_write(&profile->tree, out, unwritten);
	make_comments(&profile->tree, header, unwritten[CALLS], &comments);
	end.comment_count = comments.count;
	return out_pprof_close(&out, err, &end);
}
