/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_profile - adds stacks of processes to one profile_tree. Only processes
 * the stacks with values, and their callers up to the root. Each frame is
 * resolved once, regardless of the number of its stacks.
 */
#include "collector/profile/stack_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/output/comments.h"
#include "collector/profile/stack_profile_inner.h"
#include "collector/profile/stacks.h"
#include "shared/compiler.h"

#define FORM_BYTES 256 /* of a comment without its number */

const struct stack_profile_kind stack_profile_wall = {
	.types = (const struct out_value_type[]){ { "calls", "count" },
						  { "wall", "nanoseconds" },
						  { "wall_measured",
						    "nanoseconds" } },
	.count = 3,
	.default_type = 1,
	.times = &(const struct profile_times){ .time = WALL_NS,
						.own = WALL_OWN },
	.period_type = { "wall", "nanoseconds" },
	.one = "call",
	.many = "calls",
};

const struct stack_profile_kind stack_profile_cpu = {
	.types = (const struct out_value_type[]){ { "samples", "count" },
						  { "cpu", "nanoseconds" } },
	.count = 2,
	.default_type = 1,
	.period_type = { "cpu", "nanoseconds" },
	.one = "sample",
	.many = "samples",
	.keeps_lost = true,
};

const struct stack_profile_kind stack_profile_offcpu = {
	.types =
		(const struct out_value_type[]){ { "waits", "count" },
						 { "blocked", "nanoseconds" } },
	.count = 2,
	.default_type = 1,
	.period_type = { "blocked", "nanoseconds" },
	.one = "wait",
	.many = "waits",
	.keeps_lost = true,
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
	.moments = 1 << 2 | 1 << 3,
	.one = "alloc_object",
	.many = "alloc_objects",
	.keeps_lost = true,
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
			{ "on_cpu", "nanoseconds" },
			{ "runnable", "nanoseconds" },
			{ "blocked", "nanoseconds" },
			{ "switches", "count" },
			{ "wall_measured", "nanoseconds" },
		},
	.count = 13,
	.default_type = 1,
	.times = &(const struct profile_times){ .time = SPAN_WALL,
						.own = SPAN_OWN,
						.on_cpu = SPAN_ON_CPU },
	.period_type = { "wall", "nanoseconds" },
	.one = "call",
	.many = "calls",
	.keeps_lost = true,
};

int stack_profile_new(const struct stack_profile_kind *kind,
		      struct symbol_cache *cache, struct budget *budget,
		      struct stack_profile **out)
{
	struct stack_profile *profile = calloc(1, sizeof(*profile));
	int err = 0;

	if (!profile)
		return -ENOMEM;
	profile->kind = kind;
	profile_tree_init(&profile->tree, cache, budget, kind->count,
			  kind->times);
	if (kind->keeps_lost)
		err = locations_mark(&profile->tree.locations,
				     stacks_frame_name(FRAME_OTHER),
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

/* --- adding -------------------------------------------------------------- */

enum placed {
	PLACED_NOT,
	PLACED_PROGRAM,
	PLACED_OWN, /* innermost frame is perfrec's, or works for it */
};

struct addition {
	struct profile_tree *tree;
	struct stacks *stacks;
	struct modules *modules;
	const struct profile_owner *owner;
	struct pool frames; /* struct known_frame */
	struct budget budget;
	struct tree_place *place; /* of each stack */
	uint8_t *placed; /* of each stack: enum placed */
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
		if (err) /* No memory: do not resolve the frame again. */
			found->location = UINT32_MAX;
	}
	*out = found->location;
	return *out == UINT32_MAX ? -ENOMEM : 0;
}

/* Finds the place of @stack, whose innermost frame is @location and whose
 * caller has a place. perfrec's work in the program, and the work of the kernel
 * and of clocks for it, become one frame "[perfrec]" below the recorded frame.
 * A function that the program calls through perfrec (malloc() behind its
 * wrapper, the function of a thread) becomes a child of its caller in the
 * program. So profiles, texts, pages and exports need no special case. Returns
 * 0 or -ENOMEM. */
static int place_frame(struct addition *add, uint32_t stack, uint32_t location)
{
	const struct locations *locations = &add->tree->locations;
	uint32_t caller = stacks_parent(add->stacks, stack), outer = caller;
	bool in_own = add->placed[caller] == PLACED_OWN;
	bool own = locations_is_own(locations, location) ||
		   (in_own && locations_serves_caller(locations, location));
	struct tree_place *place = &add->place[stack];
	int err = 0;

	while (add->placed[outer] == PLACED_OWN)
		outer = stacks_parent(add->stacks, outer);
	if (own && in_own)
		*place = add->place[caller];
	else
		err = profile_tree_child(add->tree, &add->place[outer],
					 location, place);
	if (!err)
		add->placed[stack] = own ? PLACED_OWN : PLACED_PROGRAM;
	return err;
}

/* As place_frame(), for @stack with the innermost frame @label: frames below it
 * belong to an owner with that label. */
static int place_label(struct addition *add, uint32_t stack,
		       const struct stack_frame *label)
{
	uint32_t caller = stacks_parent(add->stacks, stack);
	struct profile_owner owner = *add->owner;
	struct stack_frame trace;
	int err;

	owner.trace_id = stack_frame_text(label);
	if (caller != STACKS_ROOT) {
		trace = stacks_frame(add->stacks, caller);
		owner.trace_id = stack_frame_text(&trace);
		owner.span_id = stack_frame_text(label);
	}
	err = profile_tree_root(add->tree, &owner, &add->place[stack]);
	if (!err)
		add->placed[stack] = PLACED_PROGRAM;
	return err;
}

static int place_of_stack(struct addition *add, uint32_t stack,
			  struct tree_place *out)
{
	uint32_t depth = 0, location;
	struct stack_frame frame;
	int err = 0;

	if (stack >= add->stack_count)
		return -EINVAL;
	/* A caller has a smaller number, so this loop ends. */
	for (; add->placed[stack] == PLACED_NOT;
	     stack = stacks_parent(add->stacks, stack))
		add->path[depth++] = stack;
	while (depth && !err) {
		stack = add->path[--depth];
		frame = stacks_frame(add->stacks, stack);
		if (frame.kind == FRAME_LABEL) {
			err = place_label(add, stack, &frame);
			continue;
		}
		err = find_location(add, stack, &location);
		if (!err)
			err = place_frame(add, stack, location);
	}
	*out = add->place[stack];
	return err;
}

static int begin_addition(struct addition *add,
			  const struct profile_owner *owner)
{
	int err;

	add->stack_count = stacks_count(add->stacks);
	add->place = calloc(add->stack_count, sizeof(*add->place));
	add->placed = calloc(add->stack_count, 1);
	add->path = calloc(add->stack_count, sizeof(*add->path));
	if (!add->place || !add->placed || !add->path)
		return -ENOMEM;
	err = profile_tree_root(add->tree, owner, &add->place[STACKS_ROOT]);
	add->placed[STACKS_ROOT] = err ? PLACED_NOT : PLACED_PROGRAM;
	return err;
}

static int add_stack_values(struct addition *add,
			    const struct stack_values *values, size_t count)
{
	int first_err = 0;

	for (size_t i = 0; i < count; i++) {
		struct tree_place place;
		int err = place_of_stack(add, values[i].stack, &place);

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
				.owner = owner,
				.budget = { .left = INT64_MAX } };
	int err;

	pool_init(&add.frames, &add.budget, sizeof(struct known_frame),
		  offsetof(struct known_frame, location));
	err = begin_addition(&add, owner);
	if (!err)
		err = add_stack_values(&add, values, count);
	else
		for (size_t i = 0; i < count; i++)
			profile_tree_lose(add.tree, values[i].value);
	pool_release(&add.frames);
	free(add.place);
	free(add.placed);
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

void stack_profile_set_costs(struct stack_profile *profile,
			     const struct own_costs *costs, uint64_t counted)
{
	profile->counted = counted;
	profile->costs = *costs;
}

int stack_profile_sum(const struct stack_profile *profile,
		      struct function_table *table)
{
	return profile_tree_sum(&profile->tree, table);
}

/* --- writing ------------------------------------------------------------- */

/* Adds a comment about @number items of the first type. The first "%s" in @form
 * is replaced by the singular of its items, the second by their plural. */
static void add_loss(const struct stack_profile *profile, const char *form,
		     int64_t number, struct comments *comments)
{
	const struct stack_profile_kind *kind = profile->kind;
	char text[FORM_BYTES];

	snprintf(text, sizeof(text), form, kind->one, kind->many);
	comments_add_count(comments, text, (uint64_t)MAX(number, 0));
}

static void add_losses(const struct stack_profile *profile, int64_t unwritten,
		       struct comments *comments)
{
	const struct profile_tree *tree = &profile->tree;

	add_loss(profile,
		 profile->kind->keeps_lost
			 ? "# {%s is|%s are} in [other stacks]: there was no "
			   "memory for {its stack|their stacks}"
			 : "# {%s is|%s are} not in this profile: there was no "
			   "memory for {its stack|their stacks}",
		 tree->lost[0], comments);
	add_loss(profile,
		 "# {%s is|%s are} not in this profile: it would have been too "
		 "large",
		 unwritten, comments);
	if (profile->timed)
		comments_add(comments,
			     "# times are from samples: stacks with calls have "
			     "no time, and stacks with time have no calls");
	else if (profile->counted)
		comments_add_count(
			comments,
			"# {call was|calls were} only counted: {its|their} "
			"time is in {its caller|their callers}, which {is|are} "
			"estimated",
			profile->counted);
	add_loss(profile,
		 "# {%s was|%s were} too deep for {its|their} whole stack: "
		 "functions are left out at [truncated]",
		 tree->truncated, comments);
}

static int close_profile_file(struct out_pprof **out, int err,
			      const struct stack_profile_header *header)
{
	const struct comments *comments = header->comments;
	const char **list = calloc(comments->count + 1, sizeof(*list));
	struct out_profile_end end = { .time_ns = header->start_ns,
				       .duration_ns = header->duration_ns,
				       .comments = list };

	if (!list || comments->failed)
		err = err ? err : -ENOMEM;
	if (list) {
		list[end.comment_count++] = "perfrec " PERFREC_VERSION;
		for (size_t i = 0; i < comments->count; i++)
			list[end.comment_count++] = comments->text[i];
	}
	err = out_pprof_close(out, err, &end);
	free(list);
	return err;
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
	const struct profile_tree *tree = &profile->tree;
	const struct own_costs *costs = &profile->costs;
	uint64_t other[] = { profile->other + 1ULL };
	int64_t values[OUT_VALUES_MAX];
	int64_t unwritten;
	struct out_pprof *out;
	int err = out_pprof_new(dir_fd, name, &head, &out);

	if (err)
		return err;
	err = profile_tree_write(tree, out, costs, &unwritten);
	if (kind->keeps_lost &&
	    profile_tree_values(tree, tree->lost, costs, values))
		out_pprof_sample(out, other, 1, values, NULL);
	add_losses(profile, unwritten, header->comments);
	return close_profile_file(&out, err, header);
}
