/* SPDX-License-Identifier: Apache-2.0
 *
 * samples - copied stacks on their way to unwinding. The thread that reads a
 * copied stack (a drain worker from a ring, or the reader of the kernel's
 * events) posts it here. A thread of the recording, the sampler's, unwinds them
 * in the order of posting, and counts them by stack. It may have to wait for
 * files of its programs, without delaying other recordings.
 *
 * struct samples has the samples of one process. It is reference counted, and
 * each queued sample has a reference.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_SAMPLES_H
#define PERFREC_COLLECTOR_SAMPLES_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/compiler.h"
#include "shared/record_ext.h"

struct modules;
struct recording;
struct sampler;
struct samples;
struct stack_profile;
struct stacks;

enum sample_kind {
	SAMPLE_CPU = 1, /* weight_ns of CPU time was spent here */
	SAMPLE_KERNEL = 2, /* the same, in the kernel */
	SAMPLE_ALLOC = 3, /* an allocated block, in order of clocks */
	SAMPLE_FREE = 4, /* its end, in the same order */
	/* A wait of weight_ns, on sample_object(); only ip and sp of the
	 * registers are known. */
	SAMPLE_BLOCKED = 5,
};

struct sample {
	struct sample *next; /* the sampler's */
	struct samples *of; /* set by samples_post() */
	enum sample_kind kind;
	pid_t tid; /* in our namespace */
	char thread[16]; /* its name */
	uint64_t ns; /* BOOTTIME */
	uint32_t generation; /* of the load map */
	uint32_t flags; /* enum record_sample_flags */
	/* CPU: the number of samples that it stands for; BLOCKED: waits. */
	uint64_t count;
	uint64_t weight_ns; /* CPU, BLOCKED */
	uint64_t address, size, clock; /* ALLOC, FREE: of the block */
	/* The same, of an exactly recorded block: */
	uint32_t level; /* heap_sampled_size() */
	bool temporary;
	bool at_peak; /* see heap_mark() */
	uint64_t epoch; /* of its heap, just before */
	struct trace_ids request; /* of the thread; all zero: none */
	bool request_told; /* false: samples_request() has the request */
	uint64_t reg[RECORD_REGS];
	uint32_t stack_bytes;
	/* Behind the stack: BLOCKED: a text; KERNEL: the addresses of the
	 * kernel's stack as uint64_t, the innermost first. */
	uint32_t object_bytes;
	uint32_t call; /* BLOCKED: number of the system call plus 1; 0: none. */
	_Alignas(8) uint8_t stack[]; /* from the stack pointer up */
};

/* Makes the sampler of the collector. The caller ends *@out with
 * sampler_free(). Returns 0 or -ENOMEM. */
int sampler_new(struct sampler **out);
/* Handles all posted samples, then ends all threads. After the last post.
 * Accepts NULL. */
void sampler_free(struct sampler **sampler);
/* Ends the thread of @recording, which has ended with all its samples. Not on
 * that thread. */
void sampler_rest(struct sampler *sampler, const struct recording *recording);
/* Waits until all samples of @recording posted before this call are handled.
 * Any thread that may wait: not the sampler's, and never a drain worker. The
 * caller has a sampled process of @recording. */
void sampler_flush(struct sampler *sampler, const struct recording *recording);

/* Adds the CPU samples and the waits of @recording so far to @cpu and @waits
 * (window_profile.h); either may be NULL. Waits for the thread of @recording.
 * Any thread that may wait except the sampler's, one at a time per recording.
 */
void sampler_look(struct sampler *sampler, const struct recording *recording,
		  struct stack_profile *cpu, struct stack_profile *waits);

/* Makes *@out for the process @pid, named @name, with addresses in @modules.
 * Takes references to @recording and @modules; so @recording ends after it,
 * perhaps on the sampler's thread. The caller gets one reference. Any thread.
 * Returns 0 or -ENOMEM. */
int samples_new(struct sampler *sampler, struct recording *recording,
		struct modules *modules, pid_t pid, const char *name,
		struct samples **out);
struct samples *samples_get(struct samples *samples);
void samples_put(struct samples **samples);

/* Returns a sample with room for @stack_bytes of stack, all zero; the caller
 * fills it in and posts or free()s it. NULL: out of memory. */
struct sample *sample_new(uint32_t stack_bytes);
/* The same for a SAMPLE_BLOCKED of a thread that waits on @object. */
struct sample *sample_new_blocked(uint32_t stack_bytes, const char *object);
/* The same for a SAMPLE_KERNEL with @count addresses of the kernel's stack, the
 * innermost first. It keeps the first SAMPLE_KERNEL_MAX. */
#define SAMPLE_KERNEL_MAX 64u
struct sample *sample_new_kernel(uint32_t stack_bytes, const uint64_t *kernel,
				 uint32_t count);
/* Returns the object of the SAMPLE_BLOCKED @sample, which owns it. */
const char *sample_object(const struct sample *sample);
/*
 * Passes @sample to the sampler, which frees it. Never blocks. Returns false if
 * the queue is full: then @sample is freed, and its count and weight are added
 * to the samples without a stack. Any thread.
 */
bool samples_post(struct samples *samples, struct sample *sample);

/* Counts @count samples and @weight_ns of CPU time without a stack, for a
 * sample without memory. Any thread. */
void samples_lose(struct samples *samples, uint64_t count, uint64_t weight_ns);

/* Sets the request of thread @tid to @ids (all zero: none) from @ns (BOOTTIME)
 * on: the label of its samples. In order of time for each thread. Any thread.
 */
void samples_request(struct samples *samples, pid_t tid, uint64_t ns,
		     const struct trace_ids *ids);

/* Adds @ns to the CPU time of thread @tid. At the end the samples of the thread
 * are scaled to the sum. Without a call they stand for their own weights. Any
 * thread. */
void samples_total(struct samples *samples, pid_t tid, uint64_t ns);
/* Returns how many periods of @hz samples a second one sample from a shot may
 * stand for: 20 ms, or 2 periods if that is longer. A busy machine may delay
 * most shots, above all at a high rate. */
static inline uint64_t samples_shot_periods(uint64_t hz)
{
	return MAX(hz / 50, 2);
}

/* Adds @ns of CPU time of thread @tid, which has only samples from shots
 * (cpu_samples.c). All such samples of the process together stand for these
 * times and those of samples_short(). Any thread. */
void samples_by_shots(struct samples *samples, pid_t tid, uint64_t ns);
/* Adds @ns of CPU time of threads that were too short for a sample.
 * @displaced_ns is CPU time of threads whose samples went to other threads of
 * the process, which stand for that time as well (cpu_threads.c). Any thread.
 */
void samples_short(struct samples *samples, uint64_t ns, uint64_t displaced_ns);

/*
 * Sets the callback for each SAMPLE_ALLOC and SAMPLE_FREE: on the sampler's
 * thread, in the order of posting, with the number of the stack of an
 * allocation (STACKS_ROOT for a free). @context must stay valid while any of
 * them is queued. Call before the first of them is posted; without a call they
 * are dropped.
 */
typedef void samples_take_block(void *context, const struct sample *sample,
				uint32_t stack);
void samples_take_blocks(struct samples *samples, samples_take_block *take,
			 void *context);

/* Returns the number of stacks dropped from a full queue; the blocks are
 * counted without them. Any thread. */
uint64_t samples_lost_stacks(const struct samples *samples);

/* Why the object of a requested wait is unknown. */
enum samples_unread {
	SAMPLES_LEFT, /* the wait ended before it was read */
	SAMPLES_REFUSED, /* no permission to read the process */
	SAMPLES_ODD, /* /proc is malformed */
	SAMPLES_UNREAD_KINDS,
};
void samples_count_unread(struct samples *samples, enum samples_unread why);

/* Returns the stacks of the process's samples, which @samples owns. */
struct stacks *samples_stacks(struct samples *samples);

#endif
