/* SPDX-License-Identifier: Apache-2.0
 *
 * samples - stacks of one process, counted on a thread of the sampler. Each
 * queued sample has a reference. The last release puts an end into the queue,
 * behind all samples. When the sampler reaches that end, it adds the counts to
 * the profile of the recording; so no sum misses a queued sample.
 *
 * A sample without a stack is counted below FRAME_UNKNOWN, and one without
 * memory below FRAME_OTHER: the total time of a profile is always right.
 */
#include "collector/samples/samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/base/hex.h"
#include "collector/base/lock.h"
#include "collector/names/kernel_names.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/profile/stack_cache.h"
#include "collector/profile/stack_profile.h"
#include "collector/profile/stacks.h"
#include "collector/record/recording.h"
#include "collector/samples/requests.h"
#include "collector/samples/samples_inner.h"
#include "collector/samples/trace_stacks.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* perfrec's code, the C library's clock, two functions of the vdso, the kernel. */
#define CLOCK_FRAMES 5
/* Objects of the waits of a process; all further ones are one. */
#define OBJECTS_MAX 4096u
#define OTHER_OBJECTS "[other objects]"
/* Requests whose samples have labels. */
#define REQUESTS_MAX 4096u
/* How long a sample waits for the records of its thread, which name the
 * request; and how many samples wait at once. */
#define REQUEST_WAIT_NS UINT64_C(2000000000)
#define WAITING_MAX 8192u
/* How often one sample is written to the trace at most. A sample for more
 * periods comes from a program that did not run. */
#define TRACE_SAMPLES_MAX 64u
/* A copy may be this many bytes smaller than requested. */
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

struct request {
	struct trace_ids ids;

	uint32_t root; /* the stack of its labels */
	uint32_t pad;
};

struct waiting {
	uint64_t ns, count, weight_ns;
	uint32_t owner, stack;
};

struct counts {
	struct pool pool; /* struct counted */
	int64_t other[2]; /* no memory: count and ns */
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
	struct lock told_lock; /* guards all members up to unread */
	struct pool told; /* struct told */
	struct requests requests;
	bool has_requests;
	uint64_t short_ns, displaced_ns;
	uint64_t unread[SAMPLES_UNREAD_KINDS];
	struct sample end; /* for the queue */
	struct samples_link link;
	struct stacks *stacks;

	/* The lane's thread from here on. */
	struct unwind *unwind; /* NULL: nothing unwound yet */
	struct stack_cache cache;
	struct trace_stacks *trace; /* NULL: nothing in the trace yet */
	struct pool owners; /* struct owner */
	struct counts cpu, waits;
	struct pool objects; /* const char *: of the symbol cache */
	struct pool labels; /* struct request */
	struct waiting *waiting; /* a ring, the oldest at waited */
	uint32_t waiting_count, waited;
	struct sample_totals totals;
	struct wait_totals wait_totals;
	samples_take_block *take_block; /* set before the first block */
	void *take_context;
};

/* --- life ---------------------------------------------------------------- */

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
	requests_init(&samples->requests, setup->budget);
	pool_init(&samples->labels, setup->budget, sizeof(struct request),
		  offsetof(struct request, root));
	lane_list(samples->lane, &samples->link);
	*out = samples;
	return 0;
}

struct samples *samples_get(struct samples *samples)
{
	/* relaxed: the caller already has a reference */
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

/* Returns the reported times of thread @tid, and adds it if it is new. NULL:
 * out of memory. */
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

void samples_request(struct samples *samples, pid_t tid, uint64_t ns,
		     const struct trace_ids *ids)
{
	lock_acquire(&samples->told_lock);
	samples->has_requests = true;
	requests_change(&samples->requests, tid, ns, ids);
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

/* --- counting ------------------------------------------------------------ */

static uint32_t named_stack(struct samples *samples, uint32_t parent,
			    enum frame_name name)
{
	const struct stack_frame frame = { .address = name,
					   .kind = FRAME_NAMED };

	return stacks_child(samples->stacks, parent, &frame);
}

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

/* Counts the gaps of an unwound stack. For a blocked thread the gap is mostly a
 * register, and a larger copy of the stack would not help. */
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
	/* A larger --stack-size would have copied more of a full copy. */
	samples->totals.too_short +=
		result->is_short &&
		stack->stack_bytes + COPY_SLACK >=
			samples->setup->options->stack_bytes;
	samples->totals.guessed += result->guessed;
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
	struct sampler_tools *tools = lane_tools(samples->lane);
	struct unwind_result *result = &tools->result;
	uint64_t edition;
	uint32_t number;

	if (!stack.stack_bytes || sample->flags & SAMPLE_NO_STACK)
		return stack_of_registers(samples, sample);
	if (!samples->unwind &&
	    unwind_new(samples->modules, tools->files, &samples->unwind) < 0)
		return stack_of_registers(samples, sample);
	edition = unwind_edition(samples->unwind, stack.generation);
	if (stack_cache_find(&samples->cache, edition, &stack, &number))
		return number;
	unwind_run(samples->unwind, &stack, result);
	number = STACKS_ROOT;
	for (size_t i = result->count; i > 0; i--)
		number = stacks_child(samples->stacks, number,
				      &result->frame[i - 1]);
	count_unwound(samples, &stack, result);
	stack_cache_add(&samples->cache, &stack, result, number);
	return number;
}

/* @owner is UINT32_MAX without memory. */
static void count_stack_values(struct counts *counts, uint32_t owner,
			       uint32_t stack, uint64_t count, uint64_t ns)
{
	const struct counted one = { .owner = owner, .stack = stack };
	struct counted *found;
	uint32_t number;

	if (owner == UINT32_MAX ||
	    pool_intern(&counts->pool, &one, &number) < 0) {
		counts->other[0] += (int64_t)count;
		counts->other[1] += (int64_t)ns;
		return;
	}
	found = (struct counted *)counts->pool.items + number;
	found->count += (int64_t)count;
	found->ns += (int64_t)ns;
}

static uint32_t owner_of_sample(struct samples *samples,
				const struct sample *sample)
{
	struct owner owner = { .tid = (uint32_t)sample->tid };
	uint32_t number;

	memcpy(owner.thread, sample->thread, sizeof(owner.thread));
	return pool_intern(&samples->owners, &owner, &number) < 0 ? UINT32_MAX
								  : number;
}

static void count_sample(struct samples *samples, struct counts *counts,
			 const struct sample *sample, uint32_t stack)
{
	count_stack_values(counts, owner_of_sample(samples, sample), stack,
			   sample->count, sample->weight_ns);
}

/* --- requests ------------------------------------------------------------ */

/* Returns the stack of one frame for @id below @parent, or @parent without
 * memory. */
static uint32_t label_stack(struct samples *samples, uint32_t parent,
			    const uint8_t *id, size_t bytes)
{
	struct stack_frame frame = { .kind = FRAME_LABEL };
	char text[2 * sizeof(((struct trace_ids *)0)->trace) + 1];
	const char *kept;

	hex_text(id, bytes, text);
	kept = symbol_cache_told_string(samples->setup->symbols, text);
	if (!kept)
		return parent;
	frame.address = (uintptr_t)kept;
	return stacks_child(samples->stacks, parent, &frame);
}

static uint32_t labelled(struct samples *samples, const struct trace_ids *ids,
			 uint32_t stack, uint64_t count)
{
	static const struct trace_ids none;
	struct request one = { .ids = *ids, .root = STACKS_ROOT };
	uint32_t number;

	if (stack == STACKS_ROOT || !trace_ids_are_set(ids))
		return stack;
	if (pool_find(&samples->labels, &one, &number)) {
		one.root = ((struct request *)samples->labels.items + number)
				   ->root;
	} else if (samples->labels.count < REQUESTS_MAX) {
		one.root = label_stack(samples, STACKS_ROOT, ids->trace,
				       sizeof(ids->trace));
		if (one.root != STACKS_ROOT &&
		    memcmp(ids->span, none.span, sizeof(ids->span)) != 0)
			one.root = label_stack(samples, one.root, ids->span,
					       sizeof(ids->span));
		(void)pool_intern(&samples->labels, &one, &number);
	}
	if (one.root == STACKS_ROOT) {
		samples->totals.unlabelled += count;
		return stack;
	}
	return stacks_below(samples->stacks, one.root, stack);
}

static void count_waiting_time(struct samples *samples)
{
	const struct waiting *one = &samples->waiting[samples->waited];
	struct trace_ids ids = { 0 };
	const struct owner *owner;
	bool known = true;

	if (one->owner != UINT32_MAX) {
		owner = (struct owner *)samples->owners.items + one->owner;
		lock_acquire(&samples->told_lock);
		known = requests_at(&samples->requests, (pid_t)owner->tid,
				    one->ns, &ids);
		lock_release(&samples->told_lock);
	}
	samples->totals.unlabelled += known ? 0 : one->count;
	count_stack_values(&samples->cpu, one->owner,
			   labelled(samples, &ids, one->stack, one->count),
			   one->count, one->weight_ns);
	samples->waited = (samples->waited + 1) % WAITING_MAX;
	samples->waiting_count--;
}

static void count_waited(struct samples *samples)
{
	uint64_t now_ns = clock_boottime_ns();

	while (samples->waiting_count &&
	       samples->waiting[samples->waited].ns + REQUEST_WAIT_NS < now_ns)
		count_waiting_time(samples);
}

/* Lets a sample of the kernel wait. Returns false if the caller must count it
 * at once. */
static bool wait_for_request(struct samples *samples,
			     const struct sample *sample, uint32_t stack)
{
	bool wanted;

	lock_acquire(&samples->told_lock);
	wanted = samples->has_requests;
	lock_release(&samples->told_lock);
	if (!wanted)
		return false;
	if (!samples->waiting)
		samples->waiting =
			calloc(WAITING_MAX, sizeof(*samples->waiting));
	if (!samples->waiting)
		return false;
	count_waited(samples);
	if (samples->waiting_count == WAITING_MAX)
		count_waiting_time(samples);
	samples->waiting[(samples->waited + samples->waiting_count++) %
			 WAITING_MAX] =
		(struct waiting){ .ns = sample->ns,
				  .count = sample->count,
				  .weight_ns = sample->weight_ns,
				  .owner = owner_of_sample(samples, sample),
				  .stack = stack };
	return true;
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
	/* A program's timer is late by whole ticks of the kernel's clock, so
	 * its sample stands for several. Viewers of the trace count samples. */
	if (sample->kind == SAMPLE_CPU)
		count = MIN(MAX(sample->count, 1), TRACE_SAMPLES_MAX);
	while (count-- > 0)
		trace_stacks_sample(samples->trace, sample->ns, sample->tid,
				    stack, sample->kind == SAMPLE_KERNEL);
}

/* Returns the stack of the kernel's functions below @stack. Without names of them
 * it is [kernel] alone. */
static uint32_t kernel_stack(struct samples *samples,
			     const struct sample *sample, uint32_t stack)
{
	const uint8_t *chain = sample->stack + sample->stack_bytes;
	const struct kernel_names *names;
	uint64_t address;

	stack = named_stack(samples, stack, FRAME_KERNEL);
	names = sample->object_bytes ? kernel_names_shared() : NULL;
	for (size_t at = names ? sample->object_bytes : 0; at;) {
		struct stack_frame frame = { .kind = FRAME_KERNEL_CODE };

		at -= sizeof(address);
		memcpy(&address, chain + at, sizeof(address));
		/* All but the innermost are return addresses. */
		frame.address = kernel_names_find(names, address - (at != 0));
		stack = stacks_child(samples->stacks, stack, &frame);
	}
	return stack;
}

static void deal_cpu(struct samples *samples, const struct sample *sample)
{
	bool is_kernel = sample->kind == SAMPLE_KERNEL;
	uint32_t stack = STACKS_ROOT;

	if (sample->stack_bytes || sample->reg[RECORD_REG_IP] || !is_kernel)
		stack = stack_of_sample(samples, sample);
	if (is_kernel)
		stack = kernel_stack(samples, sample, stack);
	samples->totals.count += sample->count;
	samples->totals.ns += sample->weight_ns;
	put_in_trace(samples, sample, stack);
	if (sample->request_told)
		stack = labelled(samples, &sample->request, stack,
				 sample->count);
	else if (wait_for_request(samples, sample, stack))
		return;
	count_sample(samples, &samples->cpu, sample, stack);
}

static void deal_blocked(struct samples *samples, const struct sample *sample)
{
	struct symbol_cache *cache = samples->setup->symbols;
	const char *object =
		symbol_cache_told_string(cache, sample_object(sample));
	uint32_t stack = stack_of_sample(samples, sample), number;
	struct stack_frame frame = { .kind = FRAME_TEXT };

	/* All objects over the limit share one text. */
	if (!object || (!pool_find(&samples->objects, &object, &number) &&
			(samples->objects.count >= OBJECTS_MAX ||
			 pool_intern(&samples->objects, &object, &number) < 0)))
		object = symbol_cache_string(cache, OTHER_OBJECTS);
	frame.address = (uintptr_t)object;
	stack = object ? stacks_child(samples->stacks, stack, &frame)
		       : named_stack(samples, stack, FRAME_UNKNOWN);
	samples->wait_totals.count += sample->count;
	count_sample(samples, &samples->waits, sample, stack);
}

/* --- the end ------------------------------------------------------------- */

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

	/* The pool is unusable after this. */
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

/* As add_counts(), for a running process. Times are not scaled yet, and samples
 * without a stack are added at its end. */
static void add_counts_so_far(struct samples *samples,
			      const struct counts *counts,
			      struct stack_profile *profile)
{
	const struct profile_owner nobody = { .pid = 0 };
	const struct counted *counted = counts->pool.items;
	size_t all = counts->pool.count;
	struct stack_values *values = calloc(all + 1, sizeof(*values));

	for (size_t i = 0; values && i < all; i++)
		values[i] = (struct stack_values){
			.stack = counted[i].stack,
			.value = { counted[i].count, counted[i].ns },
		};
	if (values && all)
		(void)stack_profile_add(profile, &nobody, samples->stacks,
					samples->modules, values, all);
	free(values);
}

void samples_add_so_far(struct samples_link *of, struct stack_profile *cpu,
			struct stack_profile *waits)
{
	struct samples *samples =
		(void *)((char *)of - offsetof(struct samples, link));

	count_waited(samples);
	if (cpu)
		add_counts_so_far(samples, &samples->cpu, cpu);
	if (waits)
		add_counts_so_far(samples, &samples->waits, waits);
}

/* --- samples and reported times ------------------------------------------ */

static struct told *told_of_counted(struct samples *samples,
				    const struct counted *counted)
{
	const struct owner *owner =
		(struct owner *)samples->owners.items + counted->owner;

	return told_of_thread(samples, owner->tid);
}

/* Returns the time that samples stand for, divided by the sum of told_ns. That
 * sum includes the time of lost samples. Their threads are unknown, so it is
 * subtracted from all. Displaced time is added to all, or to that of short
 * threads if the sum is 0. */
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

static uint64_t move_time(uint64_t *from, uint64_t most)
{
	uint64_t ns = MIN(*from, most);

	*from -= ns;
	return ns;
}

/* Returns the time of threads with samples from shots only, or without any,
 * divided by the time that those samples stand for. Shots hit these threads by
 * chance, in proportion to their times. Together all such samples stand for all
 * such threads. Time beyond samples_shot_periods() stays where it is. */
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

/* Returns true if perfrec's frame @own called a clock, and @stack is inside
 * that clock. The innermost frame may be the kernel. */
static bool is_clock_of(struct samples *samples, uint32_t stack, uint32_t own)
{
	bool is_clock = false;

	for (; stack != own; stack = stacks_parent(samples->stacks, stack)) {
		const struct stack_frame frame =
			stacks_frame(samples->stacks, stack);
		bool is_kernel = frame.kind == FRAME_NAMED ||
				 frame.kind == FRAME_KERNEL_CODE;

		is_clock = !is_kernel &&
			   modules_clock_at(
				   samples->modules,
				   frame.address - (frame.kind == FRAME_RETURN),
				   frame.generation);
		if (!is_clock && !is_kernel)
			return false;
	}
	return is_clock;
}

/* Returns the owner of the code at the top of @stack; a clock works for its
 * caller. Other kernel time for a hook (a page of a new ring, waiting for room)
 * is excluded: a hook does not cost that each time. */
static enum module_owner owner_of_stack(struct samples *samples, uint32_t stack)
{
	enum module_owner owner = MODULE_PROGRAM;
	uint32_t at = stack;

	while (stacks_frame(samples->stacks, at).kind == FRAME_KERNEL_CODE)
		at = stacks_parent(samples->stacks, at);
	for (int i = 0; i < CLOCK_FRAMES && at != STACKS_ROOT; i++) {
		const struct stack_frame frame =
			stacks_frame(samples->stacks, at);
		bool is_code =
			frame.kind == FRAME_PC || frame.kind == FRAME_RETURN;

		if (!is_code && (frame.kind != FRAME_NAMED ||
				 frame.address != FRAME_KERNEL))
			return MODULE_PROGRAM;
		if (is_code)
			owner = modules_owner(samples->modules, frame.address,
					      frame.generation);
		if (owner != MODULE_PROGRAM)
			break;
		at = stacks_parent(samples->stacks, at);
	}
	if (at == stack || owner == MODULE_PROGRAM)
		return owner;
	return is_clock_of(samples, stack, at) ? owner : MODULE_PROGRAM;
}

/* own_costs.h computes perfrec's cost in the program from this. */
static void count_own_samples(struct samples *samples)
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
	sum->unlabelled += mine->unlabelled;
	sum->lost += samples->lost.samples;
	sum->cached += samples->cache.hits;
	sum->lost_stacks += stacks_lost(samples->stacks);
	recording_unlock(samples->recording);
}

static void end_samples(struct samples *samples)
{
	const struct wait_totals *mine = &samples->wait_totals;
	struct wait_totals *sum;
	const struct recording_profiles *profiles;

	lane_unlist(samples->lane, &samples->link);
	while (samples->waiting_count)
		count_waiting_time(samples);
	scale_counts(samples);
	count_own_samples(samples);
	add_sample_totals(samples);
	sum = &recording_lock(samples->recording)->blocked;
	sum->count += mine->count;
	sum->cut += mine->cut;
	sum->lost += samples->lost_waits.samples;
	sum->left += samples->unread[SAMPLES_LEFT];
	sum->refused += samples->unread[SAMPLES_REFUSED];
	sum->odd += samples->unread[SAMPLES_ODD];
	recording_unlock(samples->recording);
	trace_stacks_free(&samples->trace);
	profiles = &samples->setup->profiles;
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
	unwind_free(&samples->unwind);
	stack_cache_release(&samples->cache);
	pool_release(&samples->owners);
	pool_release(&samples->cpu.pool);
	pool_release(&samples->waits.pool);
	pool_release(&samples->objects);
	pool_release(&samples->told);
	pool_release(&samples->labels);
	requests_release(&samples->requests);
	free(samples->waiting);
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
	else if (samples->take_block)
		samples->take_block(
			samples->take_context, sample,
			sample->kind == SAMPLE_ALLOC
				? labelled(samples, &sample->request,
					   stack_of_sample(samples, sample), 1)
				: STACKS_ROOT);
	free(sample);
	samples_put(&samples);
}
