/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_profile - values by stack, of all processes of a recording, merged and
 * written as pprof: wall.pb.gz, cpu.pb.gz, offcpu.pb.gz, heap.pb.gz,
 * span.pb.gz. Frames become locations with functions, lines and inlined
 * functions.
 *
 * Functions and locations are told apart by module, build-id and address in the
 * module, so processes that run the same file share them and equal names in two
 * modules do not. Stacks are told apart by process and thread name as well, the
 * labels of samples.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_STACK_PROFILE_H
#define PERFREC_COLLECTOR_PROFILE_STACK_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/profile/out_pprof.h"
#include "collector/profile/profile_tree.h"

struct budget;
struct cct_flat;
struct comments;
struct function_table;
struct modules;
struct stack_profile;
struct stacks;
struct symbol_cache;

#define STACK_VALUES_MAX OUT_VALUES_MAX

struct stack_profile_kind {
	const struct out_value_type *types; /* as pprof has them */
	size_t count; /* at most STACK_VALUES_MAX */
	size_t default_type; /* index: what viewers show first */
	struct out_value_type period_type;
	/* NULL: no value is a time from which own costs are subtracted. Else
	 * the last type is that time, as it was measured. */
	const struct profile_times *times;
	const char *one, *many; /* what the first type counts, in comments */
	bool keeps_lost; /* what finds no memory is in "[other stacks]", and
			  * not only in a comment */
};

/* wall.pb.gz: calls/count, wall/nanoseconds (self), wall_measured/nanoseconds
 * (the same with what perfrec took in it). */
extern const struct stack_profile_kind stack_profile_wall;
/* cpu.pb.gz: samples/count, cpu/nanoseconds. */
extern const struct stack_profile_kind stack_profile_cpu;
/* offcpu.pb.gz: waits/count, blocked/nanoseconds. */
extern const struct stack_profile_kind stack_profile_offcpu;
/* heap.pb.gz: alloc_objects/count, alloc_space/bytes, inuse_objects/count,
 * inuse_space/bytes. */
extern const struct stack_profile_kind stack_profile_heap;
/* span.pb.gz: calls/count, wall/nanoseconds (self), cpu_samples/count, then
 * the four of heap.pb.gz, then peak_space/bytes, on_cpu, runnable, blocked (all
 * nanoseconds), switches/count and wall_measured/nanoseconds. */
extern const struct stack_profile_kind stack_profile_span;
/* Where each of these values of stack_profile_span is. */
enum span_value {
	SPAN_CALLS,
	SPAN_WALL,
	SPAN_CPU_SAMPLES,
	SPAN_ALLOC_OBJECTS,
	SPAN_ALLOC_BYTES,
	SPAN_INUSE_OBJECTS,
	SPAN_INUSE_BYTES,
	SPAN_PEAK_BYTES,
	SPAN_ON_CPU, /* of a node, while it is added up: less than nothing, by
		      * the time of which nothing is known */
	SPAN_RUNNABLE,
	SPAN_BLOCKED,
	SPAN_SWITCHES,
	SPAN_OWN, /* and what follows: struct own_counts */
};

struct stack_values {
	uint32_t stack; /* of the stacks it is added with */
	int64_t value[STACK_VALUES_MAX];
};

/* Makes an empty profile, which takes its memory from @budget. @kind, @cache
 * and @budget must outlive it. The caller ends *@out with stack_profile_free().
 * 0 or -ENOMEM. */
int stack_profile_new(const struct stack_profile_kind *kind,
		      struct symbol_cache *cache, struct budget *budget,
		      struct stack_profile **out);
/* *@profile may be NULL; it is NULL afterwards. */
void stack_profile_free(struct stack_profile **profile);

/* The functions below read files: the jobs thread calls them, or another thread
 * that may wait, one at a time. Those that add return 0, or -ENOMEM: stacks
 * that found no memory are counted as lost, see keeps_lost. */

/* Adds @count values of @owner: each says its number in @stacks, whose frames
 * @modules knows. */
int stack_profile_add(struct stack_profile *profile,
		      const struct profile_owner *owner, struct stacks *stacks,
		      struct modules *modules,
		      const struct stack_values *values, size_t count);
/* Adds the calling-context tree @flat of @owner to a profile of the kind
 * stack_profile_wall. */
int stack_profile_add_flat(struct stack_profile *profile,
			   const struct profile_owner *owner,
			   const struct cct_flat *flat,
			   struct modules *modules);
/* Adds @calls that could not even be copied for stack_profile_add_flat() to
 * what was lost. */
void stack_profile_add_lost(struct stack_profile *profile, uint64_t calls);
/* Adds all that is in @from, which has the same kind and cache. */
int stack_profile_merge(struct stack_profile *profile,
			const struct stack_profile *from);

/* Adds values of @owner that have no stack, but the name @name. */
int stack_profile_add_mark(struct stack_profile *profile,
			   const struct profile_owner *owner, const char *name,
			   const int64_t *value);
/* Multiplies the value @type of every stack by @factor, 0 or more. */
void stack_profile_scale(struct stack_profile *profile, size_t type,
			 double factor);

/* What perfrec took is subtracted by @costs when a profile with times is
 * written. Without this call nothing is. Of its calls @counted were only
 * counted, which a comment of the file tells. */
void stack_profile_set_costs(struct stack_profile *profile,
			     const struct own_costs *costs, uint64_t counted);

/* Adds calls and self times of @profile, which is of stack_profile_wall, to
 * @table. 0 or -ENOMEM. */
int stack_profile_sum(const struct stack_profile *profile,
		      struct function_table *table);

struct stack_profile_header {
	uint64_t start_ns; /* UNIX time */
	uint64_t duration_ns;
	uint64_t period; /* of the kind's period_type */
	/* What the file says of itself, in this order behind the version of
	 * perfrec; what the profile lost is added to it. The caller's. */
	struct comments *comments;
};

/* Writes @profile, gzipped, to @name in @dir_fd: under another name first, so
 * that it is there whole or not at all. File and line of functions come from
 * debug information, as far as there is any. 0 or -errno. */
int stack_profile_write(struct stack_profile *profile,
			const struct stack_profile_header *header, int dir_fd,
			const char *name);

#endif
