/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_sched - the switches of threads in the ranges of a cut. A thread that is
 * on a CPU when a range begins comes there at its begin, and one that is there
 * when it ends leaves it then, for a reason that the cut does not know. A
 * thread that sleeps or was preempted when the first range begins comes to its
 * last CPU then, and leaves it at once, for the same reason: so its state is
 * known from there on. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_CUT_SCHED_H
#define PERFREC_COLLECTOR_CUT_CUT_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/cut/cut_file.h"
#include "collector/cut/cut_ranges.h"
#include "collector/read/trace_wire.h"

struct budget;
struct cut_sched;
struct trace_switch;

/* Whether the switches of thread @tid are in the cut. It is called for one that
 * is about to be written, too. */
typedef bool cut_sched_has(void *context, int32_t tid);

/* Starts. @ranges, @file and @budget outlive it. 0: the caller ends *@out by
 * cut_sched_free(); or -ENOMEM. */
int cut_sched_new(const struct cut_ranges *ranges, struct cut_file *file,
		  struct budget *budget, cut_sched_has *has, void *context,
		  struct cut_sched **out);
/* Frees *@sched, which may be NULL, and clears it. */
void cut_sched_free(struct cut_sched **sched);

/* Takes in an FtraceEventBundle, which stands on @sequence. False: no memory.
 */
bool cut_sched_take(struct cut_sched *sched, uint32_t sequence,
		    struct wire bundle);
/* Takes in a switch that is in no range, and whose bundle was left out. False:
 * no memory. */
bool cut_sched_pass(struct cut_sched *sched, uint32_t sequence,
		    const struct trace_switch *at);
/* The trace ends at @ns: writes what is left. Nothing may be taken after it. */
void cut_sched_end(struct cut_sched *sched, uint64_t ns);
/* The time of the last switch that was taken in; 0: there was none. */
uint64_t cut_sched_last_ns(const struct cut_sched *sched);
/* Returns true if switches of thread @tid, which has ended, may follow. Its
 * last event was at @ns. Before cut_sched_leave(). */
bool cut_sched_may_follow(const struct cut_sched *sched, int64_t tid,
			  uint64_t ns);
/* What follows stays as it is. It is not before @ns, nor before the last switch
 * on the same CPU. Writes who is on which CPU, if only that no thread is, and
 * the states of the others: that a thread has ended, too, as long as older
 * switches of it may follow, of other CPUs. No range has anything. Nothing may
 * be taken after it. */
void cut_sched_leave(struct cut_sched *sched, uint64_t ns);

#endif
