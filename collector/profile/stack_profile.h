/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_profile - values by stack, merged over all processes of a recording and
 * written as pprof: wall.pb.gz, cpu.pb.gz, offcpu.pb.gz, heap.pb.gz,
 * span.pb.gz. Frames become locations with functions, lines and inlined
 * functions.
 *
 * Module, build-id and address in the module identify functions and locations.
 * So processes with the same file share them, and equal names in two modules
 * stay separate. Process and thread names, the labels of samples, also
 * distinguish stacks.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_STACK_PROFILE_H
#define PERFREC_COLLECTOR_PROFILE_STACK_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/output/out_pprof.h"
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
	const struct out_value_type *types; /* as in pprof */
	size_t count; /* at most STACK_VALUES_MAX */
	size_t default_type; /* index of the viewers' default */
	struct out_value_type period_type;
	/* Not NULL: own costs are subtracted from a time, and the last type is
	 * that time as measured. */
	const struct profile_times *times;
	const char *one, *many; /* name of the first type in comments */
	uint32_t moments; /* mask of types that describe a moment, and are
			   * not summed over time */
	/* Stacks without memory become "[other stacks]", not only a comment. */
	bool keeps_lost;
};

/* wall.pb.gz: calls/count, wall/nanoseconds (self), wall_measured/nanoseconds
 * (including perfrec's own time). */
extern const struct stack_profile_kind stack_profile_wall;
/* cpu.pb.gz: samples/count, cpu/nanoseconds. */
extern const struct stack_profile_kind stack_profile_cpu;
/* offcpu.pb.gz: waits/count, blocked/nanoseconds. */
extern const struct stack_profile_kind stack_profile_offcpu;
/* heap.pb.gz: alloc_objects/count, alloc_space/bytes, inuse_objects/count,
 * inuse_space/bytes. */
extern const struct stack_profile_kind stack_profile_heap;
/* span.pb.gz: calls/count, wall/nanoseconds (self), cpu_samples/count, the four
 * of heap.pb.gz, peak_space/bytes, on_cpu, runnable, blocked (all nanoseconds),
 * switches/count and wall_measured/nanoseconds. */
extern const struct stack_profile_kind stack_profile_span;
/* Indexes of the values of stack_profile_span. */
enum span_value {
	SPAN_CALLS,
	SPAN_WALL,
	SPAN_CPU_SAMPLES,
	SPAN_ALLOC_OBJECTS,
	SPAN_ALLOC_BYTES,
	SPAN_INUSE_OBJECTS,
	SPAN_INUSE_BYTES,
	SPAN_PEAK_BYTES,
	/* ^The value of a node is negative during addition, by the unknown
	 * time. */
	SPAN_ON_CPU,
	SPAN_RUNNABLE,
	SPAN_BLOCKED,
	SPAN_SWITCHES,
	SPAN_OWN, /* first of struct own_counts */
};

struct stack_values {
	uint32_t stack; /* number in the stacks it is added with */
	int64_t value[STACK_VALUES_MAX];
};

/* Makes an empty profile with memory from @budget. @kind, @cache and @budget
 * must outlive it. The caller frees *@out. Returns 0 or -ENOMEM. */
int stack_profile_new(const struct stack_profile_kind *kind,
		      struct symbol_cache *cache, struct budget *budget,
		      struct stack_profile **out);
/* Sets *@profile to NULL; it may be NULL. */
void stack_profile_free(struct stack_profile **profile);

/* The functions below read files: the jobs thread or another thread that may
 * wait calls them, one at a time. Functions that add return 0, or -ENOMEM:
 * stacks without memory count as lost, see keeps_lost. */

/* Adds @count values of @owner. Each has a number in @stacks, whose frames
 * belong to @modules. */
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
/* Adds @calls that stack_profile_add_flat() cannot add, because memory for
 * their copy was missing, to the lost values. */
void stack_profile_add_lost(struct stack_profile *profile, uint64_t calls);
/* Adds all of @from, which must have the same kind and cache. */
int stack_profile_merge(struct stack_profile *profile,
			const struct stack_profile *from);

/* Adds values of @owner under @name instead of a stack. */
int stack_profile_add_mark(struct stack_profile *profile,
			   const struct profile_owner *owner, const char *name,
			   const int64_t *value);
/* Multiplies the value @type of every stack by @factor, 0 or more. */
void stack_profile_scale(struct stack_profile *profile, size_t type,
			 double factor);

/* Sets the costs to subtract from times on writing. Without this call nothing
 * is subtracted. @counted calls were not recorded, which a comment of the file
 * reports. */
void stack_profile_set_costs(struct stack_profile *profile,
			     const struct own_costs *costs, uint64_t counted);

/* Adds calls and self times of @profile, of the kind stack_profile_wall, to
 * @table. Returns 0 or -ENOMEM. */
int stack_profile_sum(const struct stack_profile *profile,
		      struct function_table *table);

struct stack_profile_header {
	uint64_t start_ns; /* CLOCK_REALTIME */
	uint64_t duration_ns;
	uint64_t period; /* of the kind's period_type */
	/* For a window, which has no owners: the program whose mapping comes
	 * first. NULL: unknown. */
	const char *program;
	/* Comments of the file, after perfrec's version, in this order. The
	 * writer adds losses of the profile. Owned by the caller. */
	struct comments *comments;
};

/* Writes @profile, gzipped, to @name in @dir_fd atomically, through a temporary
 * name. Files and lines of functions come from debug information if it exists.
 * Returns 0 or -errno. */
int stack_profile_write(struct stack_profile *profile,
			const struct stack_profile_header *header, int dir_fd,
			const char *name);

#endif
