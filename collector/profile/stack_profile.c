/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_profile - stacks of processes, added to one profile_tree. Of each
 * process only the stacks that have values are looked at, their callers on the
 * way to the root; a frame is looked up once, however many stacks it is in.
 */
#include "collector/profile/stack_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/profile/profile_tree.h"
#include "collector/stacks/stacks.h"
#include "shared/compiler.h"

#define COMMENT_BYTES 160
/* Of our own, beside those of the header. */
#define COMMENTS_MAX 4

const struct stack_profile_kind stack_profile_cpu = {
	.types = (const struct out_value_type[]){ { "samples", "count" },
						  { "cpu", "nanoseconds" } },
	.count = 2,
	.default_type = 1,
	.period_type = { "cpu", "nanoseconds" },
};

const struct stack_profile_kind stack_profile_heap = {
	.types =
		(const struct out_value_type[]){
			{ "alloc_objects", "count" },
			{ "alloc_space", "bytes" },
			{ "inuse_objects", "count" },
			{ "inuse_space", "bytes" },
		},
	.count = 4,
	.default_type = 3,
	.period_type = { "space", "bytes" },
};

const struct stack_profile_kind stack_profile_span = {
	.types =
		(const struct out_value_type[]){
			{ "calls", "count" },
			{ "wall", "nanoseconds" },
			{ "cpu_samples", "count" },
			{ "alloc_objects", "count" },
			{ "alloc_space", "bytes" },
			{ "inuse_objects", "count" },
			{ "inuse_space", "bytes" },
			{ "peak_space", "bytes" },
		},
	.count = 8,
	.default_type = 1,
	.period_type = { "wall", "nanoseconds" },
};

struct stack_profile {
	const struct stack_profile_kind *kind;
	struct profile_tree tree;
	uint32_t other; /* location of what found no room */
};

int stack_profile_new(const struct stack_profile_kind *kind,
		      struct symbol_cache *cache, struct budget *budget,
		      struct stack_profile **out)
{
	struct stack_profile *profile = calloc(1, sizeof(*profile));
	int err;

	if (!profile)
		return -ENOMEM;
	profile->kind = kind;
	profile_tree_init(&profile->tree, cache, budget, kind->count);
	err = locations_mark(&profile->tree.locations, "[other stacks]",
			     &profile->other);
	if (err)
		stack_profile_free(&profile);
	else
		*out = profile;
	return err;
}

void stack_profile_free(struct stack_profile **profile)
{
	struct stack_profile *old = *profile;

	*profile = NULL;
	if (!old)
		return;
	profile_tree_release(&old->tree);
	free(old);
}

/* --- adding -----------------------------------------------------------------
 */

/* The stacks of a process on their way into a profile. */
struct addition {
	struct profile_tree *tree;
	struct stacks *stacks;
	struct modules *modules;
	struct pool frames; /* struct known_frame */
	struct budget budget; /* theirs */
	struct tree_place *place; /* of each stack */
	uint8_t *is_placed;
	uint32_t *path; /* room for stacks */
	uint32_t stack_count;
};

struct known_frame {
	uint64_t address;
	uint32_t generation, kind;

	uint32_t location;
	uint32_t pad;
};

static int find_location(struct addition *add, uint32_t stack, uint32_t *out)
{
	const struct stack_frame frame = stacks_frame(add->stacks, stack);
	struct known_frame known = { .address = frame.address,
				     .generation = frame.generation,
				     .kind = frame.kind };
	uint32_t number;
	int added = pool_intern(&add->frames, &known, &number), err;
	struct known_frame *found;

	if (added < 0)
		return added;
	found = (struct known_frame *)add->frames.items + number;
	if (added) {
		err = locations_find(&add->tree->locations, add->modules,
				     &frame, &found->location);
		if (err) /* Not found the next time, either: no memory. */
			found->location = UINT32_MAX;
	}
	*out = found->location;
	return *out == UINT32_MAX ? -ENOMEM : 0;
}

/* Finds the place of @stack, those of its callers first. */
static int find_place(struct addition *add, uint32_t stack,
		      struct tree_place *out)
{
	uint32_t depth = 0, location;
	int err = 0;

	if (stack >= add->stack_count)
		return -EINVAL;
	/* Numbers fall on the way to the root, so that this ends. */
	for (; !add->is_placed[stack];
	     stack = stacks_parent(add->stacks, stack))
		add->path[depth++] = stack;
	*out = add->place[stack];
	while (depth && !err) {
		const struct tree_place above = *out;

		stack = add->path[--depth];
		err = find_location(add, stack, &location);
		if (!err)
			err = profile_tree_child(add->tree, &above, location,
						 out);
		if (err)
			break;
		add->place[stack] = *out;
		add->is_placed[stack] = 1;
	}
	return err;
}

static int start(struct addition *add, const struct profile_owner *owner)
{
	int err;

	add->stack_count = stacks_count(add->stacks);
	add->place = calloc(add->stack_count, sizeof(*add->place));
	add->is_placed = calloc(add->stack_count, 1);
	add->path = calloc(add->stack_count, sizeof(*add->path));
	if (!add->place || !add->is_placed || !add->path)
		return -ENOMEM;
	err = profile_tree_root(add->tree, owner, &add->place[STACKS_ROOT]);
	add->is_placed[STACKS_ROOT] = !err;
	return err;
}

/* 0, or -ENOMEM: some were lost. */
static int add_values(struct addition *add, const struct stack_values *values,
		      size_t count)
{
	int first_err = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		struct tree_place place;
		int err = find_place(add, values[i].stack, &place);

		if (!err && values[i].stack != STACKS_ROOT)
			profile_tree_count(add->tree, &place, values[i].value);
		else
			profile_tree_lose(add->tree, values[i].value);
		first_err = first_err ? first_err : err;
	}
	return first_err;
}

int stack_profile_add(struct stack_profile *profile,
		      const struct profile_owner *owner, struct stacks *stacks,
		      struct modules *modules,
		      const struct stack_values *values, size_t count)
{
	struct addition add = { .tree = &profile->tree,
				.stacks = stacks,
				.modules = modules,
				.budget = { INT64_MAX } };
	int err;
	size_t i;

	pool_init(&add.frames, &add.budget, sizeof(struct known_frame),
		  offsetof(struct known_frame, location));
	err = start(&add, owner);
	if (!err)
		err = add_values(&add, values, count);
	else
		for (i = 0; i < count; i++)
			profile_tree_lose(add.tree, values[i].value);
	pool_release(&add.frames);
	free(add.place);
	free(add.is_placed);
	free(add.path);
	return err;
}

int stack_profile_add_mark(struct stack_profile *profile,
			   const struct profile_owner *owner, const char *name,
			   const int64_t *value)
{
	struct profile_tree *tree = &profile->tree;
	struct tree_place root, place;
	uint32_t location;
	int err = locations_mark(&tree->locations, name, &location);

	if (!err)
		err = profile_tree_root(tree, owner, &root);
	if (!err)
		err = profile_tree_child(tree, &root, location, &place);
	if (!err)
		profile_tree_count(tree, &place, value);
	else
		profile_tree_lose(tree, value);
	return err;
}

void stack_profile_scale(struct stack_profile *profile, size_t type,
			 double factor)
{
	profile_tree_scale(&profile->tree, type, factor);
}

int stack_profile_merge(struct stack_profile *profile,
			const struct stack_profile *from)
{
	return profile_tree_merge(&profile->tree, &from->tree);
}

/* --- writing ----------------------------------------------------------------
 */

struct comments {
	const char **list;
	size_t count;
	char text[COMMENTS_MAX][COMMENT_BYTES];
	size_t made;
};

/* A comment about @number of @unit, if there are any. */
static void add_comment(struct comments *comments, const char *format,
			int64_t number, const char *what)
{
	char *text = comments->text[comments->made];

	if (number <= 0)
		return;
	snprintf(text, COMMENT_BYTES, format, (long long)number, what);
	comments->made++;
	comments->list[comments->count++] = text;
}

static void make_comments(const struct stack_profile *profile,
			  const struct stack_profile_header *header,
			  int64_t unwritten, struct comments *out)
{
	const char *what = profile->kind->types[0].type;
	size_t i;

	out->list[out->count++] = "perfrec " PERFREC_VERSION;
	for (i = 0; i < header->comment_count; i++)
		out->list[out->count++] = header->comments[i];
	add_comment(out,
		    "%lld %s are in [other stacks]: there was no memory for "
		    "their stacks",
		    profile->tree.lost[0], what);
	add_comment(out,
		    "%lld %s are not in this profile: it would have been too "
		    "large",
		    unwritten, what);
	add_comment(out,
		    "%lld %s were too deep for their whole stack: functions "
		    "are left out at [truncated]",
		    profile->tree.truncated, what);
}

/* What was lost, as one sample of nobody. */
static void write_other(const struct stack_profile *profile,
			struct out_pprof *out)
{
	int64_t values[OUT_VALUES_MAX];
	uint64_t stack[] = { profile->other + 1ULL };
	int64_t any = 0;
	size_t i;

	for (i = 0; i < profile->kind->count; i++) {
		values[i] = MAX(profile->tree.lost[i], 0);
		any |= values[i];
	}
	if (any)
		out_pprof_sample(out, stack, 1, values, NULL);
}

int stack_profile_write(struct stack_profile *profile,
			const struct stack_profile_header *header, int dir_fd,
			const char *name)
{
	const struct stack_profile_kind *kind = profile->kind;
	const struct out_head head = { .types = kind->types,
				       .count = kind->count,
				       .default_type = kind->default_type,
				       .period_type = kind->period_type,
				       .period = header->period };
	struct comments comments = { .list = calloc(header->comment_count + 1 +
							    COMMENTS_MAX,
						    sizeof(*comments.list)) };
	struct out_profile_end end = { .time_ns = header->start_ns,
				       .duration_ns = header->duration_ns,
				       .comments = comments.list };
	int64_t unwritten[OUT_VALUES_MAX];
	struct out_pprof *out;
	int err = comments.list ? out_pprof_new(dir_fd, name, &head, &out)
				: -ENOMEM;

	if (!err) {
		err = profile_tree_write(&profile->tree, out, unwritten);
		write_other(profile, out);
		make_comments(profile, header, unwritten[0], &comments);
		end.comment_count = comments.count;
		err = out_pprof_close(&out, err, &end);
	}
	free(comments.list);
	return err;
}
