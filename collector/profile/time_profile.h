/* SPDX-License-Identifier: Apache-2.0
 *
 * time_profile - the time of a recording by native stack: CPU samples, and
 * stacks of blocked threads. It replaces the times of calls if not all calls
 * were recorded (time_from.h).
 *
 * No stack has frames of perfrec's own code: samples in it are dropped, and its
 * frames inside a stack are skipped. These functions read files: only the jobs
 * thread calls them. Each returns 0, or -ENOMEM if times are missing.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_TIME_PROFILE_H
#define PERFREC_COLLECTOR_PROFILE_TIME_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct function_table;
struct stack_profile;
struct stack_profile_kind;

struct time_functions {
	struct function_table *table;
	/* True if inlined functions have hooks and count as functions. In an
	 * entry build they have none: their time belongs to the function that
	 * contains their code. */
	bool inlined;
};

/* samples/count, on_cpu, runnable and blocked, all nanoseconds. */
extern const struct stack_profile_kind stack_profile_time;

/* Adds the samples of @cpu, a profile of the kind stack_profile_cpu, to @times.
 * Skips rows of unrecorded processes. */
int time_profile_add_cpu(struct stack_profile *times,
			 const struct stack_profile *cpu);
/* Adds the waits of @offcpu, of the kind stack_profile_offcpu. A wait counts
 * for the innermost function of its stack with hooks (by @functions), otherwise
 * for the innermost function. */
int time_profile_add_blocked(struct stack_profile *times,
			     const struct stack_profile *offcpu,
			     const struct time_functions *functions);
/*
 * Adds the time that threads waited for a CPU. The kernel reports no stacks for
 * this time, only a sum for each thread, in @spans (of the kind
 * stack_profile_span). The sum is spread over the CPU time of the thread, or
 * over its waits if it has none.
 */
void time_profile_spread_runnable(struct stack_profile *times,
				  const struct stack_profile *spans);

/* Sets the times of all functions of @functions to those of @times, and adds
 * missing functions. A sample stands for @period_ns. */
int time_profile_sum(const struct stack_profile *times,
		     const struct time_functions *functions,
		     uint64_t period_ns);
/* Replaces the times of @profile, of the kind stack_profile_wall or _span, by
 * those of @times. Calls stay unchanged. */
int time_profile_give(const struct stack_profile *times,
		      struct stack_profile *profile);

#endif
