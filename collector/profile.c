/* SPDX-License-Identifier: Apache-2.0
 *
 * profile - four pools of things that are each there once: modules, locations
 * (a function in a module), owners, and nodes of one tree in which every owner
 * is a root. Adding a thread maps its nodes to those, parents first; so what
 * memory is needed grows with distinct stacks, not with threads. All runs on
 * the jobs thread.
 *
 * Addresses are those of the process that first called into a module: pprof
 * has one address space, and where it lay elsewhere it is the same function.
 * Two modules of different processes may overlap; a location says which is
 * meant.
 *
 * A location has one line: that of the function itself. What debug information
 * calls inlined at its entry is not: hooks tell calls of inlined functions
 * apart, so these are stacks of their own.
 *
 * Recursion 100,000 deep would make a file of the square of it; so deep stacks
 * are cut in the middle. Calls and self time by function stay exact. Memory
 * that runs out, and a file too large for any reader, lose stacks; how many is
 * in a comment of the file.
 */
#include "collector/profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/cct.h"
#include "collector/cct_flat.h"
#include "collector/modules.h"
#include "collector/out_pprof.h"
#include "collector/pool.h"
#include "collector/symbols.h"
#include "shared/compiler.h"

/* What is no place in any module. */
#define OVERFLOW_VADDR UINT64_MAX
#define TRUNCATED_VADDR (UINT64_MAX - 1)
#define FUNCTION_MAX (TRUNCATED_VADDR - 1)
/* pprof itself reads no file that is larger than 2 GiB when unpacked. */
#define BYTES_MAX (1ULL << 30)
#define COMMENT_BYTES 160
#define COMMENTS_MAX 8
/* Of a command in a comment. */
#define COMMAND_BYTES 4096

#define NOT_THERE UINT32_MAX

/* Keys come first in all of these; see pool.h. */
struct place {
	const char *path, *build_id;
	uint64_t file_offset;
	const struct symbol_file *unnamed; /* without a build-id: the file */

	uint64_t start, end;
	uint64_t bias; /* from virtual addresses of the file to ours */
	struct symbol_file *file; /* a reference; NULL: none */
	bool has_functions; /* any of them has a name */
};

struct location {
	uint64_t vaddr;
	const char *name;
	uint64_t place; /* number + 1; 0: none */
};

struct owner {
	char process[16], thread[16];
	uint64_t pid;

	int64_t tid; /* 0: of several threads */
};

/* A root is an owner's: parent 0, what is the owner's number. */
struct node {
	uint32_t parent; /* number + 1 */
	uint32_t what; /* location */

	uint64_t calls;
	int64_t self_ns;
};

struct profile {
	struct symbol_cache *cache;
	struct pool places, locations, owners, nodes;
	uint64_t lost_calls; /* no memory for their stacks */
	uint64_t truncated_calls; /* too deep */
};

static struct place *place_at(const struct profile *profile, size_t number)
{
	return (struct place *)profile->places.items + number;
}

static struct location *location_at(const struct profile *profile,
				    size_t number)
{
	return (struct location *)profile->locations.items + number;
}

static struct owner *owner_at(const struct profile *profile, size_t number)
{
	return (struct owner *)profile->owners.items + number;
}

static struct node *node_at(const struct profile *profile, size_t number)
{
	return (struct node *)profile->nodes.items + number;
}

/* --- life -------------------------------------------------------------------
 */

int profile_new(struct symbol_cache *cache, struct budget *budget,
		struct profile **out)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return -ENOMEM;
	profile->cache = cache;
	pool_init(&profile->places, budget, sizeof(struct place),
		  offsetof(struct place, start));
	pool_init(&profile->locations, budget, sizeof(struct location),
		  sizeof(struct location));
	pool_init(&profile->owners, budget, sizeof(struct owner),
		  offsetof(struct owner, tid));
	pool_init(&profile->nodes, budget, sizeof(struct node),
		  offsetof(struct node, calls));
	*out = profile;
	return 0;
}

void profile_free(struct profile **profile)
{
	struct profile *old = *profile;
	size_t i;

	*profile = NULL;
	if (!old)
		return;
	for (i = 0; i < old->places.count; i++)
		symbol_file_put(&place_at(old, i)->file);
	pool_release(&old->places);
	pool_release(&old->locations);
	pool_release(&old->owners);
	pool_release(&old->nodes);
	free(old);
}

/* --- adding -----------------------------------------------------------------
 */

/* The one of all strings with this text, so that it may be part of a key. */
static const char *unique(const struct profile *profile, const char *text)
{
	const char *one = symbol_cache_string(profile->cache, text);

	return one ? one : text;
}

/* Takes a reference to its file if it was not known. 0 or -ENOMEM. */
static int intern_place(struct profile *profile, const struct place *place,
			uint32_t *out)
{
	int added = pool_intern(&profile->places, place, out);

	if (added < 0)
		return added;
	if (added)
		symbol_file_get(place->file);
	place_at(profile, *out)->has_functions |= place->has_functions;
	return 0;
}

/* Sets location->place of what @symbol is about, which is at @address. */
static int find_place(struct profile *profile, struct modules *modules,
		      const struct flat_function *function,
		      const struct symbol *symbol, struct location *location)
{
	struct module_place where;
	struct place place;
	uint32_t number;
	int err;

	if (!modules_place(modules, function->address, function->generation,
			   &where))
		return 0;
	place = (struct place){
		.path = unique(profile, symbol->module),
		.build_id = unique(profile, symbol->build_id),
		.file_offset = where.file_offset,
		.unnamed = *symbol->build_id ? NULL : where.file,
		.start = where.start,
		.end = where.end,
		.bias = function->address - symbol->offset,
		.file = where.file,
		.has_functions = symbol->found,
	};
	err = intern_place(profile, &place, &number);
	symbol_file_put(&where.file);
	if (!err)
		location->place = number + 1ULL;
	return err;
}

static int intern_function(struct profile *profile, struct modules *modules,
			   const struct flat_function *function, uint32_t *out)
{
	struct location location = { 0 };
	struct symbol symbol;
	int err;

	modules_resolve(modules, function->address, function->generation,
			&symbol);
	location.name = unique(profile, symbol.name);
	location.vaddr = MIN(symbol.offset, FUNCTION_MAX);
	err = find_place(profile, modules, function, &symbol, &location);
	if (err)
		return err;
	err = pool_intern(&profile->locations, &location, out);
	return MIN(err, 0);
}

static int intern_mark(struct profile *profile, uint64_t vaddr,
		       const char *name, uint32_t *out)
{
	struct location location = { .vaddr = vaddr,
				     .name = unique(profile, name) };

	return MIN(pool_intern(&profile->locations, &location, out), 0);
}

static int add_owner(struct profile *profile, const struct owner *owner,
		     uint32_t *out)
{
	int err = pool_intern(&profile->owners, owner, out);

	if (!err && owner_at(profile, *out)->tid != owner->tid)
		owner_at(profile, *out)->tid = 0;
	return MIN(err, 0);
}

static int intern_owner(struct profile *profile,
			const struct profile_owner *owner, uint32_t *out)
{
	struct owner one = { .pid = (uint32_t)owner->pid, .tid = owner->tid };

	snprintf(one.process, sizeof(one.process), "%s", owner->process);
	snprintf(one.thread, sizeof(one.thread), "%s", owner->thread);
	return add_owner(profile, &one, out);
}

static int intern_node(struct profile *profile, uint32_t parent, uint32_t what,
		       uint32_t *out)
{
	struct node node = { .parent = parent, .what = what };

	return MIN(pool_intern(&profile->nodes, &node, out), 0);
}

static void count(struct node *node, uint64_t calls, int64_t self_ns)
{
	if (__builtin_add_overflow(node->calls, calls, &node->calls))
		node->calls = UINT64_MAX;
	if (__builtin_add_overflow(node->self_ns, self_ns, &node->self_ns))
		node->self_ns = self_ns < 0 ? INT64_MIN : INT64_MAX;
}

/* One flat tree on its way into a profile. */
struct addition {
	struct profile *profile;
	const struct cct_flat *flat;
	uint32_t *location; /* of each function; [0] of overflow */
	uint32_t truncated; /* location */
	struct mapped {
		uint32_t node; /* or NOT_THERE */
		uint32_t depth; /* as it is written */
	} * mapped; /* each node of flat */
};

/* Sets *@out to the parent (as in struct node) that the node below @above will
 * have, which is @depth deep. */
static int find_parent(struct addition *add, const struct mapped *above,
		       uint32_t depth, uint32_t *out)
{
	uint32_t mark;
	int err;

	*out = above->node + 1;
	if (depth <= PROFILE_DEPTH_MAX)
		return 0;
	/* In the place of the one above; or that was done for that one. */
	*out = node_at(add->profile, above->node)->parent;
	if (depth > PROFILE_DEPTH_MAX + 1)
		return 0;
	err = intern_node(add->profile, *out, add->truncated, &mark);
	*out = mark + 1;
	return err;
}

/* The node that node @index is to be, whose parent became @above. */
static int map_node(struct addition *add, size_t index,
		    const struct mapped *above, struct mapped *out)
{
	const struct flat_node *flat = &add->flat->node[index];
	struct profile *profile = add->profile;
	uint32_t depth = above->depth + 1, parent;
	int err;

	if (above->node == NOT_THERE)
		return -ENOMEM;
	err = find_parent(add, above, depth, &parent);
	if (!err)
		err = intern_node(profile, parent,
				  add->location[flat->function], &out->node);
	if (err)
		return err;
	out->depth = MIN(depth, PROFILE_DEPTH_MAX + 1);
	if (depth > PROFILE_DEPTH_MAX)
		profile->truncated_calls += flat->calls;
	count(node_at(profile, out->node), flat->calls, flat->self_ns);
	return 0;
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
		add->profile->lost_calls += flat->node[i].calls;
	}
	return first_err;
}

static int map_locations(struct addition *add, struct modules *modules)
{
	const struct cct_flat *flat = add->flat;
	struct profile *profile = add->profile;
	int err = intern_mark(profile, OVERFLOW_VADDR, "[overflow]",
			      &add->location[0]);
	size_t i;

	if (!err)
		err = intern_mark(profile, TRUNCATED_VADDR, "[truncated]",
				  &add->truncated);
	for (i = 1; i < flat->function_count && !err; i++)
		err = intern_function(profile, modules, &flat->function[i],
				      &add->location[i]);
	return err;
}

static int add_all(struct addition *add, const struct profile_owner *owner,
		   struct modules *modules)
{
	uint32_t number;
	int err;

	if (!add->location || !add->mapped)
		return -ENOMEM;
	err = map_locations(add, modules);
	if (!err)
		err = intern_owner(add->profile, owner, &number);
	if (!err)
		err = intern_node(add->profile, 0, number,
				  &add->mapped[0].node);
	return err;
}

void profile_add_lost(struct profile *profile, uint64_t calls)
{
	profile->lost_calls += calls;
}

int profile_add(struct profile *profile, const struct profile_owner *owner,
		const struct cct_flat *flat, struct modules *modules)
{
	struct addition add = {
		.profile = profile,
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
			profile->lost_calls += flat->node[i].calls;
	free(add.location);
	free(add.mapped);
	return err;
}

/* --- merging ----------------------------------------------------------------
 */

/* What each of @from's is called in @profile. */
struct renamed {
	uint32_t *place, *location, *owner, *node;
};

static int merge_locations(struct profile *profile, const struct profile *from,
			   const struct renamed *renamed)
{
	int err = 0;
	size_t i;

	for (i = 0; i < from->places.count && !err; i++)
		err = intern_place(profile, place_at(from, i),
				   &renamed->place[i]);
	for (i = 0; i < from->locations.count && !err; i++) {
		struct location location = *location_at(from, i);

		if (location.place)
			location.place =
				renamed->place[location.place - 1] + 1ULL;
		err = MIN(pool_intern(&profile->locations, &location,
				      &renamed->location[i]),
			  0);
	}
	return err;
}

static int merge_node(struct profile *profile, const struct node *node,
		      const struct renamed *renamed, uint32_t *out)
{
	uint32_t parent;
	int err;

	if (!node->parent)
		return intern_node(profile, 0, renamed->owner[node->what], out);
	parent = renamed->node[node->parent - 1];
	if (parent == NOT_THERE)
		return -ENOMEM;
	err = intern_node(profile, parent + 1, renamed->location[node->what],
			  out);
	if (!err)
		count(node_at(profile, *out), node->calls, node->self_ns);
	return err;
}

static int merge_nodes(struct profile *profile, const struct profile *from,
		       const struct renamed *renamed)
{
	int first_err = 0, err;
	size_t i;

	for (i = 0; i < from->nodes.count; i++) {
		err = merge_node(profile, node_at(from, i), renamed,
				 &renamed->node[i]);
		if (!err)
			continue;
		first_err = first_err ? first_err : err;
		renamed->node[i] = NOT_THERE;
		profile->lost_calls += node_at(from, i)->calls;
	}
	return first_err;
}

static int merge_all(struct profile *profile, const struct profile *from,
		     const struct renamed *renamed)
{
	int err = 0;
	size_t i;

	if (!renamed->place || !renamed->location || !renamed->owner ||
	    !renamed->node)
		return -ENOMEM;
	err = merge_locations(profile, from, renamed);
	for (i = 0; i < from->owners.count && !err; i++)
		err = add_owner(profile, owner_at(from, i), &renamed->owner[i]);
	return err;
}

int profile_merge(struct profile *profile, const struct profile *from)
{
	const struct renamed renamed = {
		calloc(from->places.count + 1, sizeof(uint32_t)),
		calloc(from->locations.count + 1, sizeof(uint32_t)),
		calloc(from->owners.count + 1, sizeof(uint32_t)),
		calloc(from->nodes.count + 1, sizeof(uint32_t)),
	};
	int err = merge_all(profile, from, &renamed);
	size_t i;

	profile->lost_calls += from->lost_calls;
	profile->truncated_calls += from->truncated_calls;
	if (!err)
		err = merge_nodes(profile, from, &renamed);
	else
		for (i = 0; i < from->nodes.count; i++)
			profile->lost_calls += node_at(from, i)->calls;
	free(renamed.place);
	free(renamed.location);
	free(renamed.owner);
	free(renamed.node);
	return err;
}

/* --- writing ----------------------------------------------------------------
 */

struct writing {
	const struct profile *profile;
	struct out_pprof *out;
	struct source *source; /* of each location */
	struct pool functions; /* struct function */
	struct budget budget; /* its */
	uint64_t unwritten_calls;
};

struct function {
	const char *name, *file;
	uint64_t start_line;
};

static const struct source_frame *frame_of(const struct writing *writing,
					   size_t location)
{
	const struct source *source = &writing->source[location];

	return source->count ? &source->frames[source->count - 1] : NULL;
}

/* Where the functions of @place come from. 0 or -ENOMEM. */
static int find_sources(struct writing *writing, size_t place)
{
	const struct profile *profile = writing->profile;
	size_t all = profile->locations.count, found = 0, i;
	uint64_t *vaddr = calloc(all, sizeof(*vaddr));
	struct source *source = calloc(all, sizeof(*source));

	if (!vaddr || !source) {
		free(vaddr);
		free(source);
		return -ENOMEM;
	}
	for (i = 0; i < all; i++)
		if (location_at(profile, i)->place == place + 1)
			vaddr[found++] = location_at(profile, i)->vaddr;
	symbol_file_sources(place_at(profile, place)->file, vaddr, found,
			    source);
	for (i = 0, found = 0; i < all; i++)
		if (location_at(profile, i)->place == place + 1)
			writing->source[i] = source[found++];
	free(vaddr);
	free(source);
	return 0;
}

static bool has_lines(const struct writing *writing, size_t place)
{
	const struct profile *profile = writing->profile;
	size_t i;

	for (i = 0; i < profile->locations.count; i++)
		if (location_at(profile, i)->place == place + 1 &&
		    writing->source[i].count)
			return true;
	return false;
}

static int write_places(struct writing *writing)
{
	const struct profile *profile = writing->profile;
	size_t i;
	int err;

	for (i = 0; i < profile->places.count; i++) {
		const struct place *place = place_at(profile, i);
		struct out_mapping mapping = {
			.id = i + 1,
			.start = place->start,
			.end = place->end,
			.file_offset = place->file_offset,
			.path = place->path,
			.build_id = place->build_id,
			.has_functions = place->has_functions,
		};

		err = place->file ? find_sources(writing, i) : 0;
		if (err)
			return err;
		mapping.has_lines = has_lines(writing, i);
		out_pprof_mapping(writing->out, &mapping);
	}
	return 0;
}

/* The id of the function of @location, which is written if it is new; 0 when
 * there is no memory. */
static uint64_t write_function(struct writing *writing, size_t location)
{
	const struct source_frame *frame = frame_of(writing, location);
	const struct function function = {
		.name = location_at(writing->profile, location)->name,
		.file = frame ? frame->file : "",
		.start_line = frame ? frame->start_line : 0,
	};
	struct out_function out = { .name = function.name,
				    .file = function.file,
				    .start_line =
					    (uint32_t)function.start_line };
	uint32_t number;
	int added = pool_intern(&writing->functions, &function, &number);

	if (added < 0)
		return 0;
	out.id = number + 1ULL;
	if (added)
		out_pprof_function(writing->out, &out);
	return out.id;
}

static int write_locations(struct writing *writing)
{
	const struct profile *profile = writing->profile;
	size_t i;

	for (i = 0; i < profile->locations.count; i++) {
		const struct location *location = location_at(profile, i);
		const struct source_frame *frame = frame_of(writing, i);
		struct out_location out = {
			.id = i + 1,
			.mapping = location->place,
			.function = write_function(writing, i),
			.line = frame ? frame->line : 0,
		};

		if (!out.function)
			return -ENOMEM;
		if (location->place)
			out.address =
				location->vaddr +
				place_at(profile, location->place - 1)->bias;
		else if (location->vaddr < FUNCTION_MAX)
			out.address = location->vaddr;
		out_pprof_location(writing->out, &out);
	}
	return 0;
}

static void write_sample(struct writing *writing, const struct node *node)
{
	const struct profile *profile = writing->profile;
	/* Clocks that were repaired may leave less than nothing. */
	const int64_t values[OUT_VALUES] = {
		[OUT_CALLS] = (int64_t)MIN(node->calls, (uint64_t)INT64_MAX),
		[OUT_WALL_NS] = MAX(node->self_ns, 0),
	};
	uint64_t stack[PROFILE_DEPTH_MAX + 1]; /* and a mark */
	const struct owner *owner;
	struct out_labels labels;
	size_t depth = 0;

	for (; node->parent; node = node_at(profile, node->parent - 1))
		stack[depth++] = node->what + 1ULL;
	owner = owner_at(profile, node->what);
	labels = (struct out_labels){ .process = owner->process,
				      .thread = owner->thread,
				      .pid = (pid_t)owner->pid,
				      .tid = owner->tid };
	out_pprof_sample(writing->out, stack, depth, values, &labels);
}

static void write_samples(struct writing *writing)
{
	const struct profile *profile = writing->profile;
	size_t i;

	for (i = 0; i < profile->nodes.count; i++) {
		const struct node *node = node_at(profile, i);

		if (!node->parent || (!node->calls && node->self_ns <= 0))
			continue;
		if (out_pprof_bytes(writing->out) < BYTES_MAX)
			write_sample(writing, node);
		else
			writing->unwritten_calls += node->calls;
	}
}

struct comments {
	const char *list[COMMENTS_MAX];
	size_t count;
	char text[COMMENTS_MAX][COMMENT_BYTES];
	char command[COMMAND_BYTES];
};

/* A comment about @number things, if there are any. */
static void add_comment(struct comments *comments, const char *format,
			uint64_t number)
{
	char *text = comments->text[comments->count];

	if (!number)
		return;
	snprintf(text, COMMENT_BYTES, format, (unsigned long long)number);
	comments->list[comments->count++] = text;
}

static void make_comments(const struct writing *writing,
			  const struct profile_header *header,
			  struct comments *out)
{
	out->list[out->count++] = "perfrec " PERFREC_VERSION;
	if (header->command) {
		snprintf(out->command, sizeof(out->command), "command: %s",
			 header->command);
		out->list[out->count++] = out->command;
	}
	add_comment(out,
		    "%llu spans were lost: their calls are not in this "
		    "profile, their time is their callers'",
		    header->lost_spans);
	add_comment(out,
		    "%llu calls are not in this profile: there was no memory "
		    "for their stacks",
		    writing->profile->lost_calls);
	add_comment(out,
		    "%llu calls are not in this profile: it would have been "
		    "too large",
		    writing->unwritten_calls);
	add_comment(out,
		    "%llu calls were too deep for their whole stack: functions "
		    "are left out at [truncated]",
		    writing->profile->truncated_calls);
}

static int write_all(struct writing *writing)
{
	int err = write_places(writing);

	if (!err)
		err = write_locations(writing);
	if (!err)
		write_samples(writing);
	return err;
}

int profile_write(struct profile *profile, const struct profile_header *header,
		  int dir_fd, const char *name)
{
	struct comments comments = { .count = 0 };
	struct writing writing = {
		.profile = profile,
		.source = calloc(profile->locations.count + 1,
				 sizeof(*writing.source)),
		.budget = { INT64_MAX },
	};
	struct out_profile_end end = {
		.time_ns = header->start_ns,
		.duration_ns = header->duration_ns,
		.comments = comments.list,
	};
	int err = writing.source ? out_pprof_new(dir_fd, name, &writing.out)
				 : -ENOMEM;

	if (!err) {
		pool_init(&writing.functions, &writing.budget,
			  sizeof(struct function), sizeof(struct function));
		err = write_all(&writing);
		make_comments(&writing, header, &comments);
		end.comment_count = comments.count;
		err = out_pprof_close(&writing.out, err, &end);
		pool_release(&writing.functions);
	}
	free(writing.source);
	return err;
}
