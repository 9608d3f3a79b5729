/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_stacks - writes the stacks of one process to the trace, on a packet
 * sequence of their own, with samples. The frames of a stack are written at its
 * first use. One thread at a time, which may block on reading symbol tables:
 * the sampler's thread, or the jobs thread.
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

/* Makes *@out for the process @pid, for the trace of @recording. The frames of
 * @stacks refer to @modules. All three must outlive it. Returns 0 or -ENOMEM.
 */
int trace_stacks_new(struct recording *recording, struct modules *modules,
		     struct stacks *stacks, pid_t pid,
		     struct trace_stacks **out);
/* Flushes and frees it. Accepts NULL. */
void trace_stacks_free(struct trace_stacks **trace);

/* Returns the sequence of its packets. Packets with its iids must be on the
 * same sequence: trace_stacks_append(). */
uint32_t trace_stacks_sequence(const struct trace_stacks *trace);
/* Returns the iid of @stack, for a callstack_iid or callstack_id of a packet.
 * Writes the stack and its frames if they are new. 0: the empty stack, or no
 * memory. */
uint64_t trace_stacks_iid(struct trace_stacks *trace, uint32_t stack);
/* Writes a sample of CPU time: thread @tid was at @stack at @ns (BOOTTIME). */
void trace_stacks_sample(struct trace_stacks *trace, uint64_t ns, pid_t tid,
			 uint32_t stack, bool is_kernel);
/* Appends @packets, at most TRACE_STACKS_BYTES, to the sequence, after all
 * earlier packets. */
#define TRACE_STACKS_BYTES (32u * 1024)
void trace_stacks_append(struct trace_stacks *trace, const void *packets,
			 size_t bytes);
/* Submits the packets so far to the trace file. */
void trace_stacks_flush(struct trace_stacks *trace);

#endif
