/* SPDX-License-Identifier: Apache-2.0
 *
 * samples - copied stacks on their way to being unwound. Whoever gets one (a
 * drain worker out of a ring, a reader of perf events) posts it here; one
 * thread of the collector, the sampler, unwinds them in the order they were
 * posted and counts them by stack.
 *
 * struct samples is what was sampled of one process. It is reference counted:
 * a sample that waits holds one.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_SAMPLES_H
#define PERFREC_COLLECTOR_SAMPLES_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/record_ext.h"

struct modules;
struct recording;
struct sampler;
struct samples;
struct stacks;

enum sample_kind {
	SAMPLE_CPU = 1, /* weight_ns of CPU time was spent here */
	SAMPLE_KERNEL = 2, /* the same, of which only that is known */
	SAMPLE_ALLOC = 3, /* a block, in the order of clocks */
	SAMPLE_FREE = 4, /* its end, in the same order */
};

struct sample {
	struct sample *next; /* the sampler's */
	struct samples *of; /* samples_post() sets it */
	enum sample_kind kind;
	pid_t tid; /* in our namespace */
	char thread[16]; /* its name */
	uint64_t ns; /* BOOTTIME */
	uint32_t generation; /* of the load map */
	uint32_t flags; /* enum record_sample_flags */
	uint64_t count; /* CPU: how many samples it stands for */
	uint64_t weight_ns; /* CPU */
	uint64_t address, size, clock; /* ALLOC, FREE: of the block */
	/* The same, of a block that was recorded exactly: */
	uint32_t level; /* heap_sampled_size() */
	bool temporary;
	bool at_peak; /* see heap_mark() */
	uint64_t epoch; /* of its heap, just before */
	uint64_t reg[RECORD_REGS];
	uint32_t stack_bytes;
	_Alignas(8) uint8_t stack[]; /* what lay at the stack pointer and up */
};

/* One for the collector: starts the thread. 0 or -errno. */
int sampler_new(struct sampler **out);
/* Deals with all that was posted, then ends the thread. Nobody may post. */
void sampler_free(struct sampler **sampler);
/* Waits until all that was posted before the call is dealt with. Any thread
 * but the sampler; never a drain worker. */
void sampler_flush(struct sampler *sampler);

/* What will be sampled of the process @pid, whose frames mean what @modules
 * says. Takes references of its own; so @recording ends after it, perhaps on
 * the sampler's thread. 0 or -ENOMEM. The caller holds one reference. */
int samples_new(struct sampler *sampler, struct recording *recording,
		struct modules *modules, pid_t pid, const char *name,
		struct samples **out);
struct samples *samples_get(struct samples *samples);
void samples_put(struct samples **samples);

/* Room for one with @stack_bytes of stack, zeroed; NULL: out of memory. */
struct sample *sample_new(uint32_t stack_bytes);
/*
 * Hand @sample over, which is the sampler's from now on. Never waits. False
 * when too many wait: it is freed, and its count and weight are counted as
 * samples without a stack. Any thread.
 */
bool samples_post(struct samples *samples, struct sample *sample);

/* One that stands for @count and @weight_ns of CPU time could not even be made:
 * it is counted without a stack. Any thread. */
void samples_lose(struct samples *samples, uint64_t count, uint64_t weight_ns);

/* Thread @tid had @ns of CPU time more, in all, than was said before: its CPU
 * samples are scaled to the sum. Not said, they stand for their weights. Any
 * thread. */
void samples_total(struct samples *samples, pid_t tid, uint64_t ns);
/* Threads that were too short for a sample had @ns of CPU time, in all; others
 * had @displaced_ns, whose samples were taken in other threads of the process,
 * so that these stand for them, too. Any thread. */
void samples_short(struct samples *samples, uint64_t ns, uint64_t displaced_ns);

/*
 * Where SAMPLE_ALLOC and SAMPLE_FREE go, in the order they were posted: on the
 * sampler's thread, with the number of the stack of an allocation
 * (STACKS_ROOT for a free). @context must be good as long as any waits. Before
 * the first is posted; if never, they are dropped.
 */
typedef void samples_take_block(void *context, const struct sample *sample,
				uint32_t stack);
void samples_take_blocks(struct samples *samples, samples_take_block *take,
			 void *context);

/* All stacks of the process that samples were counted by; live as long as the
 * reference. */
struct stacks *samples_stacks(struct samples *samples);

#endif
