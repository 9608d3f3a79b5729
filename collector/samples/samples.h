/* SPDX-License-Identifier: Apache-2.0
 *
 * samples - copied stacks on their way to being unwound. Whoever reads a copy
 * of a stack (a drain worker out of a ring, or a reader of the kernel's events)
 * posts it here. A thread of the recording, the sampler's, unwinds them in the
 * order in which they were posted, and counts them by stack. It may have to
 * wait for files of its programs, and those of other recordings do not.
 *
 * struct samples is what was sampled of one process. It is reference counted,
 * and each sample that waits in the queue has a reference.
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
struct stacks;

enum sample_kind {
	SAMPLE_CPU = 1, /* weight_ns of CPU time was spent here */
	SAMPLE_KERNEL = 2, /* the same, of which only that is known */
	SAMPLE_ALLOC = 3, /* a block, in the order of clocks */
	SAMPLE_FREE = 4, /* its end, in the same order */
	SAMPLE_BLOCKED = 5, /* a wait of weight_ns, on sample_object(); of the
			     * registers only ip and sp are known */
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
	uint64_t count; /* CPU: how many samples it stands for; BLOCKED: how
			 * many waits */
	uint64_t weight_ns; /* CPU, BLOCKED */
	uint64_t address, size, clock; /* ALLOC, FREE: of the block */
	/* The same, of a block that was recorded exactly: */
	uint32_t level; /* heap_sampled_size() */
	bool temporary;
	bool at_peak; /* see heap_mark() */
	uint64_t epoch; /* of its heap, just before */
	uint64_t reg[RECORD_REGS];
	uint32_t stack_bytes;
	uint32_t object_bytes; /* BLOCKED: of a text behind the stack */
	uint32_t call; /* BLOCKED: number of the system call plus 1; 0: it was
			* in none */
	_Alignas(8) uint8_t stack[]; /* what lay at the stack pointer and up */
};

/* The collector has one. The caller ends *@out with sampler_free(). 0 or
 * -ENOMEM. */
int sampler_new(struct sampler **out);
/* Deal with all samples that were posted, then end all threads. Nobody may post
 * any more. Also for NULL. */
void sampler_free(struct sampler **sampler);
/* @recording has ended, with all its samples: end its thread. Not for that
 * thread. */
void sampler_rest(struct sampler *sampler, const struct recording *recording);
/* Wait until all samples of @recording that were posted before this call are
 * dealt with. Any thread that may wait: not the sampler's, and never a drain
 * worker. The caller has a process of @recording that is sampled. */
void sampler_flush(struct sampler *sampler, const struct recording *recording);

/* Make *@out for the process @pid, called @name, whose addresses mean what
 * @modules says. It takes references of @recording and @modules, so that
 * @recording ends after it, perhaps on the sampler's thread. The caller has one
 * reference. Any thread. 0 or -ENOMEM. */
int samples_new(struct sampler *sampler, struct recording *recording,
		struct modules *modules, pid_t pid, const char *name,
		struct samples **out);
struct samples *samples_get(struct samples *samples);
void samples_put(struct samples **samples);

/* A sample with room for @stack_bytes of stack, all zero; the caller fills it
 * in and posts it, or calls free(). NULL: out of memory. */
struct sample *sample_new(uint32_t stack_bytes);
/* A SAMPLE_BLOCKED with room for @stack_bytes of stack, of a thread that waits
 * on what @object names. The same otherwise. */
struct sample *sample_new_blocked(uint32_t stack_bytes, const char *object);
/* What the SAMPLE_BLOCKED @sample waits on; as long as @sample. */
const char *sample_object(const struct sample *sample);
/*
 * Hand @sample over to the sampler, which frees it. Never waits. Returns false
 * when too many samples wait: then @sample has been freed, and its count and
 * weight are counted as those of samples without a stack. Any thread.
 */
bool samples_post(struct samples *samples, struct sample *sample);

/* There was no memory for a sample that would stand for @count samples and
 * @weight_ns of CPU time: count them without a stack. Any thread. */
void samples_lose(struct samples *samples, uint64_t count, uint64_t weight_ns);

/* Thread @tid had @ns of CPU time, in addition to that of earlier calls. In the
 * end the samples of the thread are scaled to the sum. Without a call they
 * stand for their own weights. Any thread. */
void samples_total(struct samples *samples, pid_t tid, uint64_t ns);
/* How many periods of @hz samples a second a sample by a shot may stand for:
 * 20 ms, or 2 periods if that is longer. A busy machine may let most of the
 * shots come late, above all at a high rate. */
static inline uint64_t samples_shot_periods(uint64_t hz)
{
	return MAX(hz / 50, 2);
}

/* Thread @tid had @ns of CPU time, and only samples by shots (cpu_samples.c).
 * All such samples of the process together stand for these times and those of
 * samples_short(). Any thread. */
void samples_by_shots(struct samples *samples, pid_t tid, uint64_t ns);
/* Threads that were too short for a sample had @ns of CPU time together. Other
 * threads had @displaced_ns, but their samples were taken in other threads of
 * the process, which stand for that time, too (cpu_threads.c). Any thread. */
void samples_short(struct samples *samples, uint64_t ns, uint64_t displaced_ns);

/*
 * Have @take called with each SAMPLE_ALLOC and SAMPLE_FREE: on the sampler's
 * thread, in the order in which they were posted, with the number of the stack
 * of an allocation (STACKS_ROOT for a free). @context must stay valid as long
 * as any of them waits. To be called before the first of them is posted;
 * without a call they are dropped.
 */
typedef void samples_take_block(void *context, const struct sample *sample,
				uint32_t stack);
void samples_take_blocks(struct samples *samples, samples_take_block *take,
			 void *context);

/* Stacks of blocks that found no room in the queue; the blocks are counted
 * without. Any thread. */
uint64_t samples_lost_stacks(const struct samples *samples);

/* Why it is not known what a thread waited on that was asked for it. */
enum samples_unread {
	SAMPLES_LEFT, /* it ran again, or had ended, before that was read */
	SAMPLES_REFUSED, /* we may not look at the process */
	SAMPLES_ODD, /* what /proc says makes no sense */
	SAMPLES_UNREAD_KINDS,
};
/* Count a wait that could not be read. Any thread. */
void samples_count_unread(struct samples *samples, enum samples_unread why);

/* The load map of the process; as long as @samples. */
struct modules *samples_modules(struct samples *samples);

/* The stacks of the process by which its samples are counted. They live as long
 * as @samples. */
struct stacks *samples_stacks(struct samples *samples);

#endif
