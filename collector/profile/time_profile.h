/* SPDX-License-Identifier: Apache-2.0
 *
 * time_profile - where the time of a recording went, by native stack: CPU
 * samples, and the stacks of blocked threads. It takes the place of the times
 * of calls where not all calls were recorded (time_from.h).
 *
 * No stack has frames of perfrec's own code: samples in it are dropped, and its
 * frames in the middle of a stack are skipped. These functions read files: only
 * the jobs thread calls them. Each returns 0, or -ENOMEM: then times are
 * missing.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_TIME_PROFILE_H
#define PERFREC_COLLECTOR_PROFILE_TIME_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct function_table;
struct stack_profile;
struct stack_profile_kind;

/* The functions that times are for. */
struct time_functions {
	struct function_table *table;
	/* Inlined functions have hooks, and so are functions of their own. In
	 * an entry build they have none: their time is that of the function
	 * whose code they are in. */
	bool inlined;
};

/* samples/count, on_cpu, runnable and blocked, all nanoseconds. */
extern const struct stack_profile_kind stack_profile_time;

/* Adds the samples of @cpu, a profile of the kind stack_profile_cpu, to @times.
 * Skips rows of processes that were not recorded. */
int time_profile_add_cpu(struct stack_profile *times,
			 const struct stack_profile *cpu);
/* Adds the waits of @offcpu, of the kind stack_profile_offcpu. A wait counts
 * for the innermost function of its stack that has hooks by @functions, or else
 * for the innermost function. */
int time_profile_add_blocked(struct stack_profile *times,
			     const struct stack_profile *offcpu,
			     const struct time_functions *functions);
/* Adds the time that threads waited for a CPU. The kernel reports no stacks for
 * it, only a sum for each thread, which is in @spans (of the kind
 * stack_profile_span): it is spread over the CPU time of the thread, or over
 * its waits if it has none. */
void time_profile_spread_runnable(struct stack_profile *times,
				  const struct stack_profile *spans);

/* Sets the times of all functions of @functions to those of @times; functions
 * that it lacks are added. A sample stands for @period_ns. */
int time_profile_sum(const struct stack_profile *times,
		     const struct time_functions *functions,
		     uint64_t period_ns);
/* Replaces the times of @profile, of the kind stack_profile_wall or _span, by
 * those of @times. The calls stay where they were. */
int time_profile_give(const struct stack_profile *times,
		      struct stack_profile *profile);

#endif
