/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_stacks - stacks of one process in the trace, on a sequence of its own,
 * and samples with them. What a stack is made of is written when the stack is
 * first asked for. One thread at a time; reads symbol tables: the sampler, or
 * another that may wait.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_TRACE_STACKS_H
#define PERFREC_COLLECTOR_SAMPLES_TRACE_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct modules;
struct recording;
struct stacks;
struct trace_stacks;

/* Of the process @pid, for the trace of @recording. @stacks' frames mean what
 * @modules says; all three must outlive it. 0 or -ENOMEM. */
int trace_stacks_new(struct recording *recording, struct modules *modules,
		     struct stacks *stacks, pid_t pid,
		     struct trace_stacks **out);
/* Writes what is left. Also for NULL. */
void trace_stacks_free(struct trace_stacks **trace);

/* The sequence that all of it is on: what refers to its iids must be, too. */
uint32_t trace_stacks_sequence(const struct trace_stacks *trace);
/* The iid of @stack, for a callstack_iid or callstack_id: with it its frames
 * are written, those that are new. 0: the empty stack, or no memory. */
uint64_t trace_stacks_iid(struct trace_stacks *trace, uint32_t stack);
/* A sample of CPU time. */
void trace_stacks_sample(struct trace_stacks *trace, uint64_t ns, pid_t tid,
			 uint32_t stack, bool is_kernel);
/* Append packets of the sequence, which are at most as large as
 * TRACE_STACKS_BYTES, behind all so far. */
#define TRACE_STACKS_BYTES (32u * 1024)
void trace_stacks_append(struct trace_stacks *trace, const void *packets,
			 size_t bytes);
/* Hand what was written so far to the trace file. */
void trace_stacks_flush(struct trace_stacks *trace);

#endif
