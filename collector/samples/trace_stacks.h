/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_stacks - the stacks of one process in the trace, on a packet sequence
 * of their own, and samples with them. The frames of a stack are written when
 * the stack is first asked for. One thread at a time; it may have to wait,
 * since symbol tables are read: the sampler's thread, or the jobs thread.
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

/* Make *@out for the process @pid, into the trace of @recording. The frames of
 * @stacks mean what @modules says. All three must outlive it. 0 or -ENOMEM. */
int trace_stacks_new(struct recording *recording, struct modules *modules,
		     struct stacks *stacks, pid_t pid,
		     struct trace_stacks **out);
/* Write what is left, and free it. Also for NULL. */
void trace_stacks_free(struct trace_stacks **trace);

/* The sequence of its packets. Packets that refer to its iids must be on the
 * same sequence: trace_stacks_append(). */
uint32_t trace_stacks_sequence(const struct trace_stacks *trace);
/* The iid of @stack, for a callstack_iid or callstack_id of a packet. Writes
 * the stack and its frames, as far as they are new. 0: the empty stack, or no
 * memory. */
uint64_t trace_stacks_iid(struct trace_stacks *trace, uint32_t stack);
/* Write a sample of CPU time: thread @tid was at @stack at @ns (BOOTTIME). */
void trace_stacks_sample(struct trace_stacks *trace, uint64_t ns, pid_t tid,
			 uint32_t stack, bool is_kernel);
/* Append @packets, at most TRACE_STACKS_BYTES of them, to the sequence, behind
 * all that was written to it before. */
#define TRACE_STACKS_BYTES (32u * 1024)
void trace_stacks_append(struct trace_stacks *trace, const void *packets,
			 size_t bytes);
/* Hand what was written so far to the trace file. */
void trace_stacks_flush(struct trace_stacks *trace);

#endif
