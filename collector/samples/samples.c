/* SPDX-License-Identifier: Apache-2.0
 *
 * samples - stacks of one process, counted on a thread of the sampler. Each
 * sample that waits in the queue has a reference. When the last reference is
 * given back, an end is put into the queue, behind all samples. When the
 * sampler comes to that end, it adds what was counted to the profile of the
 * recording; so no sum misses a sample that waited.
 *
 * A sample without a stack is counted below FRAME_UNKNOWN, and one that found
 * no room below FRAME_OTHER: the time of a profile is right whatever happens.
 */
#include "collector/samples/samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/options/collect_options.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/record/recording.h"
#include "collector/samples/samples_inner.h"
#include "collector/stacks/stack_cache.h"
#include "collector/profile/stack_profile.h"
#include "collector/stacks/stacks.h"
#include "collector/samples/trace_stacks.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* Objects that the threads of a process wait on; more are one. */
#define OBJECTS_MAX 4096u
#define OTHER_OBJECTS "[other objects]"
/* A sample is written at most so often into the trace. A sample that stands for
 * more periods comes from a program that did not run. */
#define TRACE_SAMPLES_MAX 64u
/* Bytes by which a copy may be smaller than what was asked for. */
#define COPY_SLACK 64

/* Keys come first in both; see pool.h. */
struct owner {
	char thread[16];
	uint64_t tid;
};

struct counted {
	uint32_t owner, stack;

	int64_t count, ns;
};

/* Of one kind of sample. */
struct counts {
	struct pool pool; /* struct counted */
	int64_t other[2]; /* no room: count and ns */
};

/* The CPU time of a thread, from samples_total() and samples_by_shots(). */
struct told {
	uint64_t tid;

	uint64_t told_ns, shot_ns;
	uint64_t sampled_ns; /* at the end: of its samples */
};

struct samples {
	uint32_t refs;
	struct lane *lane;
	struct recording *recording; /* a reference */
	const struct recording_setup *setup; /* of the recording */
	struct modules *modules; /* a reference */
	pid_t pid;
	char name[16];
	struct samples_lost lost, lost_waits; /* under the lane's lock */
	struct lock told_lock; /* of the next three */
	struct pool told; /* struct told */
	uint64_t short_ns, displaced_ns;
	uint64_t unread[SAMPLES_UNREAD_KINDS];
	struct sample end; /* for the queue */
	struct stacks *stacks;

	/* The lane's thread from here on. */
	struct unwind *unwind; /* NULL: no stack was unwound yet */
	struct stack_cache cache;
	struct trace_stacks *trace; /* NULL: nothing of it is in the trace */
	struct pool owners; /* struct owner */
	struct counts cpu, waits;
	struct pool objects; /* const char *: of the symbol cache */
	struct sample_totals totals;
	struct wait_totals wait_totals;
	samples_take_block *take_block; /* set before there are any */
	void *take_context;
};

/* --- life -------------------------------------------------------------------
 */

static void init_counts(struct counts *counts, struct budget *budget)
{
	pool_init(&counts->pool, budget, sizeof(struct counted),
		  offsetof(struct counted, count));
}

int samples_new(struct sampler *sampler, struct recording *recording,
		struct modules *modules, pid_t pid, const char *name,
		struct samples **out)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct samples *samples = calloc(1, sizeof(*samples));

	if (!samples)
		return -ENOMEM;
	samples->lane = sampler_lane(sampler, recording);
	if (!samples->lane || stacks_new(setup->budget, &samples->stacks) < 0) {
		free(samples);
		return -ENOMEM;
	}
	samples->refs = 1;
	samples->recording = recording_get(recording);
	samples->setup = setup;
	samples->modules = modules_get(modules);
	samples->pid = pid;
	samples->end.of = samples;
	samples->end.kind = SAMPLE_END;
	snprintf(samples->name, sizeof(samples->name), "%s", name);
	stack_cache_init(&samples->cache,
			 lane_tools(samples->lane)->cache_budget);
	pool_init(&samples->owners, setup->budget, sizeof(struct owner),
		  sizeof(struct owner));
	init_counts(&samples->cpu, setup->budget);
	init_counts(&samples->waits, setup->budget);
	pool_init(&samples->objects, setup->budget, sizeof(const char *),
		  sizeof(const char *));
	lock_init(&samples->told_lock, LOCK_SAMPLES_TOLD);
	pool_init(&samples->told, setup->budget, sizeof(struct told),
		  offsetof(struct told, told_ns));
	*out = samples;
	return 0;
}

struct samples *samples_get(struct samples *samples)
{
	/* relaxed: whoever takes one has one */
	atom_add_rlx(&samples->refs, 1);
	return samples;
}

void samples_put(struct samples **samples)
{
	struct samples *old = *samples;

	*samples = NULL;
	/* order: sc, REFS: all uses of it come before its end */
	if (old && atom_add_sc(&old->refs, -1u) == 1)
		lane_post_end(old->lane, &old->end);
}

bool samples_post(struct samples *samples, struct sample *sample)
{
	struct samples *of = samples_get(samples);
	bool fits;

	sample->of = of;
	fits = lane_post(samples->lane, sample,
			 sample->kind == SAMPLE_BLOCKED ? &samples->lost_waits
							: &samples->lost);
	if (!fits)
		samples_put(&of);
	return fits;
}

void samples_lose(struct samples *samples, uint64_t count, uint64_t weight_ns)
{
	lane_lose(samples->lane, count, weight_ns, &samples->lost);
}

/* What was told of thread @tid, made if it is new. NULL: out of memory. */
static struct told *told_of_thread(struct samples *samples, uint64_t tid)
{
	const struct told one = { .tid = tid };
	uint32_t number;

	if (pool_intern(&samples->told, &one, &number) < 0)
		return NULL;
	return (struct told *)samples->told.items + number;
}

void samples_total(struct samples *samples, pid_t tid, uint64_t ns)
{
	struct told *told;

	lock_acquire(&samples->told_lock);
	told = told_of_thread(samples, (uint32_t)tid);
	if (told)
		told->told_ns += ns;
	lock_release(&samples->told_lock);
}

void samples_by_shots(struct samples *samples, pid_t tid, uint64_t ns)
{
	struct told *told;

	lock_acquire(&samples->told_lock);
	told = told_of_thread(samples, (uint32_t)tid);
	if (told)
		told->shot_ns += ns;
	lock_release(&samples->told_lock);
}

void samples_short(struct samples *samples, uint64_t ns, uint64_t displaced_ns)
{
	lock_acquire(&samples->told_lock);
	samples->short_ns += ns;
	samples->displaced_ns += displaced_ns;
	lock_release(&samples->told_lock);
}

void samples_count_unread(struct samples *samples, enum samples_unread why)
{
	lock_acquire(&samples->told_lock);
	samples->unread[why]++;
	lock_release(&samples->told_lock);
}

uint64_t samples_lost_stacks(const struct samples *samples)
{
	return lane_lost_stacks(samples->lane, &samples->lost);
}

struct modules *samples_modules(struct samples *samples)
{
	return samples->modules;
}

struct stacks *samples_stacks(struct samples *samples)
{
	return samples->stacks;
}

void samples_take_blocks(struct samples *samples, samples_take_block *take,
			 void *context)
{
	samples->take_block = take;
	samples->take_context = context;
}

/* --- counting ---------------------------------------------------------------
 */

static uint32_t named_stack(struct samples *samples, uint32_t parent,
			    enum frame_name name)
{
	const struct stack_frame frame = { .address = name,
					   .kind = FRAME_NAMED };

	return stacks_child(samples->stacks, parent, &frame);
}

/* The stack of a sample of which at most the registers are known. */
static uint32_t stack_of_registers(struct samples *samples,
				   const struct sample *sample)
{
	const struct stack_frame frame = {
		.address = sample->reg[RECORD_REG_IP],
		.generation = sample->generation,
		.kind = FRAME_PC,
	};
	uint32_t stack = named_stack(samples, STACKS_ROOT, FRAME_UNKNOWN);

	samples->totals.unknown += sample->kind != SAMPLE_BLOCKED;
	if (!frame.address)
		return stack;
	return stacks_child(samples->stacks, stack, &frame);
}

/* Whether more would have been copied if --stack-size were larger. */
static bool is_copy_full(const struct samples *samples,
			 const struct unwind_stack *stack)
{
	return stack->stack_bytes + COPY_SLACK >=
	       samples->setup->options->stack_bytes;
}

/* A stack was unwound: what is not known of it. Where a thread is blocked that
 * is mostly a register, and no more of the stack would tell. */
static void count_unwound(struct samples *samples,
			  const struct unwind_stack *stack,
			  const struct unwind_result *result)
{
	samples->totals.unwound++;
	if (stack->unknown_reg) {
		samples->wait_totals.cut += result->cut;
		return;
	}
	samples->totals.cut += result->cut;
	samples->totals.too_short +=
		result->is_short && is_copy_full(samples, stack);
	samples->totals.guessed += result->guessed;
}

static uint32_t unwind_sample(struct samples *samples,
			      const struct unwind_stack *stack)
{
	struct unwind_result *result = &lane_tools(samples->lane)->result;
	uint32_t number = STACKS_ROOT;

	unwind_run(samples->unwind, stack, result);
	for (size_t i = result->count; i > 0; i--)
		number = stacks_child(samples->stacks, number,
				      &result->frame[i - 1]);
	count_unwound(samples, stack, result);
	stack_cache_add(&samples->cache, stack, result, number);
	return number;
}

static uint32_t stack_of_sample(struct samples *samples,
				const struct sample *sample)
{
	const struct unwind_stack stack = {
		.reg = sample->reg,
		.unknown_reg = sample->kind == SAMPLE_BLOCKED
				       ? ~(1ULL << RECORD_REG_IP |
					   1ULL << RECORD_REG_SP)
				       : 0,
		.stack = sample->stack,
		.stack_bytes = MIN(sample->stack_bytes, UNWIND_WINDOW),
		.generation = sample->generation,
	};
	struct unwind_files *files = lane_tools(samples->lane)->files;
	uint64_t edition;
	uint32_t number;

	if (!stack.stack_bytes || sample->flags & SAMPLE_NO_STACK)
		return stack_of_registers(samples, sample);
	if (!samples->unwind &&
	    unwind_new(samples->modules, files, &samples->unwind) < 0)
		return stack_of_registers(samples, sample);
	edition = unwind_edition(samples->unwind, stack.generation);
	if (stack_cache_find(&samples->cache, edition, &stack, &number))
		return number;
	return unwind_sample(samples, &stack);
}

static void count_sample(struct samples *samples, struct counts *counts,
			 const struct sample *sample, uint32_t stack)
{
	struct owner owner = { .tid = (uint32_t)sample->tid };
	struct counted one = { .stack = stack }, *found;
	uint32_t number;

	memcpy(owner.thread, sample->thread, sizeof(owner.thread));
	if (pool_intern(&samples->owners, &owner, &one.owner) < 0 ||
	    pool_intern(&counts->pool, &one, &number) < 0) {
		counts->other[0] += (int64_t)sample->count;
		counts->other[1] += (int64_t)sample->weight_ns;
		return;
	}
	found = (struct counted *)counts->pool.items + number;
	found->count += (int64_t)sample->count;
	found->ns += (int64_t)sample->weight_ns;
}

static void put_in_trace(struct samples *samples, const struct sample *sample,
			 uint32_t stack)
{
	uint64_t count = 1;

	if (!samples->trace &&
	    trace_stacks_new(samples->recording, samples->modules,
			     samples->stacks, samples->pid,
			     &samples->trace) < 0)
		return;
	/* A timer of a program is late by whole ticks of the kernel's clock,
	 * and its sample stands for several. A viewer of the trace counts them.
	 */
	if (sample->kind == SAMPLE_CPU)
		count = MIN(MAX(sample->count, 1), TRACE_SAMPLES_MAX);
	while (count-- > 0)
		trace_stacks_sample(samples->trace, sample->ns, sample->tid,
				    stack, sample->kind == SAMPLE_KERNEL);
}

static void deal_cpu(struct samples *samples, const struct sample *sample)
{
	bool is_kernel = sample->kind == SAMPLE_KERNEL;
	uint32_t stack = STACKS_ROOT;

	if (sample->stack_bytes || sample->reg[RECORD_REG_IP] || !is_kernel)
		stack = stack_of_sample(samples, sample);
	if (is_kernel)
		stack = named_stack(samples, stack, FRAME_KERNEL);
	samples->totals.count += sample->count;
	samples->totals.ns += sample->weight_ns;
	count_sample(samples, &samples->cpu, sample, stack);
	put_in_trace(samples, sample, stack);
}

/* The text @object, as long as the recording lives: one for each, or that for
 * all that are too many. NULL: no memory. */
static const char *intern_object(struct samples *samples, const char *object)
{
	struct symbol_cache *cache = samples->setup->symbols;
	const char *text = symbol_cache_told_string(cache, object);
	uint32_t number;

	if (text && (pool_find(&samples->objects, &text, &number) ||
		     (samples->objects.count < OBJECTS_MAX &&
		      pool_intern(&samples->objects, &text, &number) >= 0)))
		return text;
	return symbol_cache_string(cache, OTHER_OBJECTS);
}

static void deal_blocked(struct samples *samples, const struct sample *sample)
{
	uint32_t stack = stack_of_sample(samples, sample);
	const char *object = intern_object(samples, sample_object(sample));
	const struct stack_frame frame = { .address = (uintptr_t)object,
					   .kind = FRAME_TEXT };

	stack = object ? stacks_child(samples->stacks, stack, &frame)
		       : named_stack(samples, stack, FRAME_UNKNOWN);
	samples->wait_totals.count += sample->count;
	samples->wait_totals.ns += sample->weight_ns;
	count_sample(samples, &samples->waits, sample, stack);
}

static void deal_block(struct samples *samples, const struct sample *sample)
{
	uint32_t stack = STACKS_ROOT;

	if (!samples->take_block)
		return;
	if (sample->kind == SAMPLE_ALLOC)
		stack = stack_of_sample(samples, sample);
	samples->take_block(samples->take_context, sample, stack);
}

/* --- the end ----------------------------------------------------------------
 */

static int counts_by_owner(const void *a, const void *b)
{
	const struct counted *left = a, *right = b;

	if (left->owner != right->owner)
		return left->owner < right->owner ? -1 : 1;
	return left->stack < right->stack ? -1 : left->stack > right->stack;
}

static void add_thread_values(struct samples *samples,
			      struct stack_profile *profile,
			      const struct owner *thread,
			      const struct stack_values *values, size_t count)
{
	struct profile_owner owner = { .pid = samples->pid };

	memcpy(owner.process, samples->name, sizeof(owner.process));
	if (thread) {
		owner.tid = (pid_t)thread->tid;
		memcpy(owner.thread, thread->thread, sizeof(owner.thread));
		owner.thread[sizeof(owner.thread) - 1] = '\0';
	}
	(void)stack_profile_add(profile, &owner, samples->stacks,
				samples->modules, values, count);
}

static void add_named_value(struct samples *samples,
			    struct stack_profile *profile, enum frame_name name,
			    int64_t count, int64_t ns)
{
	const struct stack_values values = {
		.stack = named_stack(samples, STACKS_ROOT, name),
		.value = { count, ns },
	};

	if (count || ns)
		add_thread_values(samples, profile, NULL, &values, 1);
}

static void add_counts(struct samples *samples, struct counts *counts,
		       struct stack_profile *profile)
{
	struct counted *counted = counts->pool.items;
	size_t all = counts->pool.count, i;
	struct stack_values *values = calloc(all + 1, sizeof(*values));

	/* The pool is of no use after this. */
	if (all)
		qsort(counted, all, sizeof(*counted), counts_by_owner);
	for (i = 0; i < all; i++) {
		if (!values) {
			counts->other[0] += counted[i].count;
			counts->other[1] += counted[i].ns;
			continue;
		}
		values[i] = (struct stack_values){
			.stack = counted[i].stack,
			.value = { counted[i].count, counted[i].ns },
		};
	}
	for (size_t begin = 0; values && begin < all; begin = i) {
		uint32_t owner = counted[begin].owner;

		for (i = begin; i < all && counted[i].owner == owner;)
			i++;
		add_thread_values(samples, profile,
				  (struct owner *)samples->owners.items + owner,
				  &values[begin], i - begin);
	}
	free(values);
	add_named_value(samples, profile, FRAME_OTHER, counts->other[0],
			counts->other[1]);
}

/* --- samples and what was told ----------------------------------------------
 */

static struct told *told_of_counted(struct samples *samples,
				    const struct counted *counted)
{
	const struct owner *owner =
		(struct owner *)samples->owners.items + counted->owner;

	return told_of_thread(samples, owner->tid);
}

/* The time that samples stand for, divided by the sum of told_ns. That sum
 * includes the time of lost samples. Their threads are unknown, so the lost
 * time is subtracted from all. Displaced time is added to all, or to that of
 * short threads if the sum is 0. */
static double part_of_told(struct samples *samples)
{
	const struct told *told = samples->told.items;
	uint64_t sum = 0, lost = samples->lost.weight_ns;
	double more = (double)samples->displaced_ns;

	for (size_t i = 0; i < samples->told.count; i++)
		sum += told[i].told_ns;
	if (!sum)
		samples->short_ns += samples->displaced_ns;
	if (sum <= lost)
		return 0;
	return ((double)(sum - lost) + more) / (double)sum;
}

static void scale_count(struct samples *samples, struct counted *counted,
			double part, double shot_part)
{
	const struct told *told = told_of_counted(samples, counted);
	int64_t ns = counted->ns;

	if (!told || !told->sampled_ns)
		return;
	if (told->told_ns && part > 0)
		ns = (int64_t)((double)ns * ((double)told->told_ns * part /
					     (double)told->sampled_ns));
	else if (told->shot_ns)
		ns = (int64_t)((double)ns * shot_part);
	samples->totals.ns += (uint64_t)(ns - counted->ns);
	counted->ns = ns;
}

/* Moves up to @most ns out of *@from. Returns how many. */
static uint64_t move_time(uint64_t *from, uint64_t most)
{
	uint64_t ns = MIN(*from, most);

	*from -= ns;
	return ns;
}

/* The time of threads that have samples by shots only, or none at all, divided
 * by what those samples stand for. Shots hit these threads by chance, in
 * proportion to their times, so all such samples together stand for all these
 * threads. Time beyond samples_shot_periods() stays where it is. */
static double part_of_shots(struct samples *samples)
{
	struct told *told = samples->told.items;
	uint64_t shots_ns = 0, all = 0, room;

	if (!told)
		return 1;
	for (size_t i = 0; i < samples->told.count; i++) {
		if (told[i].told_ns) {
			told[i].told_ns += told[i].shot_ns;
			continue;
		}
		all += told[i].shot_ns;
		shots_ns += told[i].shot_ns ? told[i].sampled_ns : 0;
	}
	if (!shots_ns)
		return 1;
	room = shots_ns * samples_shot_periods(samples->setup->options->cpu_hz);
	all += move_time(&samples->displaced_ns, room - MIN(room, all));
	all += move_time(&samples->short_ns, room - MIN(room, all));
	return (double)all / (double)shots_ns;
}

static void scale_counts(struct samples *samples)
{
	struct counted *counted = samples->cpu.pool.items;
	double part, shot_part;
	struct told *told;

	for (size_t i = 0; i < samples->cpu.pool.count; i++) {
		told = told_of_counted(samples, &counted[i]);
		if (told)
			told->sampled_ns += (uint64_t)counted[i].ns;
	}
	shot_part = part_of_shots(samples);
	part = part_of_told(samples);
	for (size_t i = 0; i < samples->cpu.pool.count; i++)
		scale_count(samples, &counted[i], part, shot_part);
}

/* Whose code ran in @stack. What the kernel does for a hook (a page of a new
 * ring, waiting for room) is not what a hook costs each time. */
static enum module_owner owner_of_stack(struct samples *samples, uint32_t stack)
{
	const struct stack_frame frame = stacks_frame(samples->stacks, stack);

	if (frame.kind != FRAME_PC && frame.kind != FRAME_RETURN)
		return MODULE_PROGRAM;
	return modules_owner(samples->modules, frame.address, frame.generation);
}

/* What own_costs.h makes of it is what perfrec costs in the program. */
static void count_own(struct samples *samples)
{
	const struct counted *counted = samples->cpu.pool.items;
	struct sample_totals *totals = &samples->totals;

	for (size_t i = 0; i < samples->cpu.pool.count; i++) {
		uint64_t count = (uint64_t)counted[i].count;
		uint64_t ns = (uint64_t)counted[i].ns;

		switch (owner_of_stack(samples, counted[i].stack)) {
		case MODULE_LIBRARY:
			totals->library_count += count;
			totals->library_ns += ns;
			break;
		case MODULE_THUNKS:
			totals->thunk_count += count;
			totals->thunk_ns += ns;
			break;
		default:
			break;
		}
	}
}

static void add_sample_totals(struct samples *samples)
{
	const struct sample_totals *mine = &samples->totals;
	struct sample_totals *sum;

	sum = &recording_lock(samples->recording)->sampled;
	sum->count += mine->count + samples->lost.count;
	sum->ns += mine->ns + samples->lost.weight_ns + samples->short_ns;
	sum->library_count += mine->library_count;
	sum->library_ns += mine->library_ns;
	sum->thunk_count += mine->thunk_count;
	sum->thunk_ns += mine->thunk_ns;
	sum->unwound += mine->unwound;
	sum->unknown += mine->unknown;
	sum->cut += mine->cut;
	sum->too_short += mine->too_short;
	sum->guessed += mine->guessed;
	sum->lost += samples->lost.samples;
	sum->cached += samples->cache.hits;
	sum->lost_stacks += stacks_lost(samples->stacks);
	recording_unlock(samples->recording);
}

static void add_wait_totals(struct samples *samples)
{
	const struct wait_totals *mine = &samples->wait_totals;
	struct wait_totals *sum;

	sum = &recording_lock(samples->recording)->blocked;
	sum->count += mine->count;
	sum->ns += mine->ns;
	sum->cut += mine->cut;
	sum->lost += samples->lost_waits.samples;
	sum->left += samples->unread[SAMPLES_LEFT];
	sum->refused += samples->unread[SAMPLES_REFUSED];
	sum->odd += samples->unread[SAMPLES_ODD];
	recording_unlock(samples->recording);
}

/* Add what was counted to the profiles of the recording. */
static void add_to_profiles(struct samples *samples)
{
	const struct recording_profiles *profiles = &samples->setup->profiles;

	if (profiles->cpu) {
		add_counts(samples, &samples->cpu, profiles->cpu);
		add_named_value(samples, profiles->cpu, FRAME_UNKNOWN,
				(int64_t)samples->lost.count,
				(int64_t)samples->lost.weight_ns);
		add_named_value(samples, profiles->cpu, FRAME_SHORT, 0,
				(int64_t)samples->short_ns);
	}
	if (profiles->offcpu)
		add_counts(samples, &samples->waits, profiles->offcpu);
}

static void end_samples(struct samples *samples)
{
	scale_counts(samples);
	count_own(samples);
	add_sample_totals(samples);
	add_wait_totals(samples);
	trace_stacks_free(&samples->trace);
	add_to_profiles(samples);
	unwind_free(&samples->unwind);
	stack_cache_release(&samples->cache);
	pool_release(&samples->owners);
	pool_release(&samples->cpu.pool);
	pool_release(&samples->waits.pool);
	pool_release(&samples->objects);
	pool_release(&samples->told);
	lock_destroy(&samples->told_lock);
	stacks_free(&samples->stacks);
	modules_put(&samples->modules);
	recording_put(&samples->recording);
	free(samples);
}

void samples_deal(struct sample *sample)
{
	struct samples *samples = sample->of;

	if (sample->kind == SAMPLE_END) {
		end_samples(samples);
		return;
	}
	if (sample->kind == SAMPLE_CPU || sample->kind == SAMPLE_KERNEL)
		deal_cpu(samples, sample);
	else if (sample->kind == SAMPLE_BLOCKED)
		deal_blocked(samples, sample);
	else
		deal_block(samples, sample);
	free(sample);
	samples_put(&samples);
}
