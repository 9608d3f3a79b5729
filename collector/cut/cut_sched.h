/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_sched - the switches of threads in the ranges of a cut. A thread that is
 * on a CPU at the start of a range comes to it there. At the end of the range
 * it leaves the CPU, for a reason unknown to the cut. A thread that sleeps or
 * was preempted at the start of the first range comes to its last CPU and
 * leaves it at once, for the same reason as before, so that its state is known.
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_CUT_SCHED_H
#define PERFREC_COLLECTOR_CUT_CUT_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/base/protobuf.h"
#include "collector/cut/cut_file.h"
#include "collector/cut/cut_ranges.h"

struct budget;
struct cut_sched;
struct trace_switch;

/* Returns true if the cut has the switches of thread @tid. Also called just
 * before a switch is written. */
typedef bool cut_sched_has(void *context, int32_t tid);

/* @ranges, @file and @budget must outlive *@out. Returns 0 or -ENOMEM. The
 * caller ends it with cut_sched_free(). */
int cut_sched_new(const struct cut_ranges *ranges, struct cut_file *file,
		  struct budget *budget, cut_sched_has *has, void *context,
		  struct cut_sched **out);
void cut_sched_free(struct cut_sched **sched);

/* Reads an FtraceEventBundle of @sequence. Returns false without memory. */
bool cut_sched_take(struct cut_sched *sched, uint32_t sequence,
		    struct wire bundle);
/* Reads a switch that is in no range, from a bundle that the caller skips.
 * Returns false without memory. */
bool cut_sched_pass(struct cut_sched *sched, uint32_t sequence,
		    const struct trace_switch *at);
/* The trace ends at @ns: writes all remaining switches. The last call. */
void cut_sched_end(struct cut_sched *sched, uint64_t ns);
uint64_t cut_sched_last_ns(const struct cut_sched *sched);
/* Returns true if switches of the ended thread @tid, whose last event was at
 * @ns, may follow. Call it before cut_sched_leave(). */
bool cut_sched_may_follow(const struct cut_sched *sched, int64_t tid,
			  uint64_t ns);
/* The rest of the trace follows unchanged. It is not before @ns, nor before
 * the last switch of its CPU. Writes the thread on each CPU, or that there is
 * none, and the states of all other threads. An ended thread has a state while
 * older switches on other CPUs may follow. No range may have events. The last
 * call. */
void cut_sched_leave(struct cut_sched *sched, uint64_t ns);

#endif
