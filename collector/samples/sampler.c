/* SPDX-License-Identifier: Apache-2.0
 *
 * sampler - queues of samples, and the threads that unwind them. Unwinding
 * reads files of programs, which may take long or never end. So each recording
 * has a lane of its own, a queue with a thread, and waits only for its own
 * files. Each queue is bounded in bytes, and so are all together. Posting never
 * blocks: samples that come faster than they are unwound are counted without
 * their stacks.
 *
 * A lane begins with the first sampled process of a recording, and ends with
 * the recording: all its processes share the data read from files.
 */
#include "collector/samples/samples_inner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/lock.h"
#include "collector/base/pulse.h"
#include "collector/base/thread_nice.h"
#include "collector/profile/unwind_file.h"
#include "collector/profile/window_profile.h"
#include "collector/record/recording.h"
#include "shared/compiler.h"

#define QUEUE_BYTES_MAX (32u << 20)
/* The limit for allocated blocks, which must not be dropped. Without stacks
 * they are small. */
#define QUEUE_BYTES_HARD (48u << 20)
/* Guaranteed bytes of a queue; the rest is shared by all. */
#define QUEUE_BYTES_OWN (1u << 20)
#define QUEUE_BYTES_SHARED (128u << 20)
#define CACHE_BYTES_MAX (64u << 20) /* of all lanes */

struct sampler {
	struct lock lock; /* of the list */
	struct lane *lanes;
	struct budget queue_budget; /* QUEUE_BYTES_SHARED */
	struct budget cache_budget; /* CACHE_BYTES_MAX */
};

struct look {
	struct stack_profile *cpu, *waits;
};

struct lane {
	struct lane *next;
	struct sampler *sampler;
	const struct recording *recording; /* no reference */
	struct lock lock; /* of the queue */
	pthread_cond_t more, dealt;
	struct sample *first, **last;
	uint64_t bytes; /* queued */
	uint64_t shared_bytes; /* of these, taken from the shared budget */
	uint64_t posted_count, dealt_count;
	struct samples_link *running; /* of processes that have not ended */
	struct look *look; /* NULL: no request */
	bool stopping;
	int nice; /* of the thread */
	pthread_t thread;
	struct sampler_tools tools; /* the thread's */
};

static struct sample *new_sample(enum sample_kind kind, uint32_t stack_bytes,
				 const void *object, size_t bytes)
{
	struct sample *sample =
		calloc(1, sizeof(*sample) + stack_bytes + bytes);

	if (!sample)
		return NULL;
	sample->kind = kind;
	sample->stack_bytes = stack_bytes;
	sample->object_bytes = (uint32_t)bytes;
	if (bytes)
		memcpy(sample->stack + stack_bytes, object, bytes);
	return sample;
}

struct sample *sample_new(uint32_t stack_bytes)
{
	return new_sample((enum sample_kind)0, stack_bytes, NULL, 0);
}

struct sample *sample_new_blocked(uint32_t stack_bytes, const char *object)
{
	return new_sample(SAMPLE_BLOCKED, stack_bytes, object,
			  strlen(object) + 1);
}

struct sample *sample_new_kernel(uint32_t stack_bytes, const uint64_t *kernel,
				 uint32_t count)
{
	return new_sample(SAMPLE_KERNEL, stack_bytes, kernel,
			  MIN(count, SAMPLE_KERNEL_MAX) * sizeof(*kernel));
}

const char *sample_object(const struct sample *sample)
{
	return (const char *)sample->stack + sample->stack_bytes;
}

static uint64_t sample_bytes(const struct sample *sample)
{
	return sizeof(*sample) + sample->stack_bytes + sample->object_bytes;
}

/* Returns the queued bytes beyond the lane's own share. Under lock. */
static uint64_t bytes_beyond(const struct lane *lane)
{
	return lane->bytes - MIN(lane->bytes, QUEUE_BYTES_OWN);
}

/* Reserves @bytes. Returns false if there is no room. Under lock. */
static bool take_room(struct lane *lane, uint64_t bytes, uint64_t max)
{
	uint64_t beyond;

	if (lane->bytes + bytes > max)
		return false;
	lane->bytes += bytes;
	beyond = bytes_beyond(lane);
	if (beyond <= lane->shared_bytes)
		return true;
	if (!budget_take(&lane->sampler->queue_budget,
			 beyond - lane->shared_bytes)) {
		lane->bytes -= bytes;
		return false;
	}
	lane->shared_bytes = beyond;
	return true;
}

/* Under lock. */
static void append_sample(struct lane *lane, struct sample *sample)
{
	sample->next = NULL;
	*lane->last = sample;
	lane->last = &sample->next;
	lane->posted_count++;
	pthread_cond_signal(&lane->more);
}

static struct sample *strip_stack(struct sample *sample)
{
	struct sample *shorter;

	sample->stack_bytes = 0;
	sample->flags |= SAMPLE_NO_STACK;
	shorter = realloc(sample, sizeof(*sample));
	if (shorter)
		sample = shorter;
	return sample;
}

/* Under lock. */
static void add_lost(struct samples_lost *lost, uint64_t count,
		     uint64_t weight_ns)
{
	lost->samples++;
	lost->count += count;
	lost->weight_ns += weight_ns;
}

bool lane_post(struct lane *lane, struct sample *sample,
	       struct samples_lost *lost)
{
	uint64_t max = QUEUE_BYTES_MAX;
	bool fits;

	lock_acquire(&lane->lock);
	if ((sample->kind == SAMPLE_ALLOC || sample->kind == SAMPLE_FREE) &&
	    lane->bytes + sample_bytes(sample) > max) {
		lost->stacks += sample->stack_bytes != 0;
		sample = strip_stack(sample);
		max = QUEUE_BYTES_HARD;
	}
	fits = take_room(lane, sample_bytes(sample), max);
	if (fits)
		append_sample(lane, sample);
	else
		add_lost(lost, sample->count, sample->weight_ns);
	lock_release(&lane->lock);
	if (!fits)
		free(sample);
	return fits;
}

uint64_t lane_lost_stacks(struct lane *lane, const struct samples_lost *lost)
{
	return LOCKED(&lane->lock, lost->stacks);
}

void lane_lose(struct lane *lane, uint64_t count, uint64_t weight_ns,
	       struct samples_lost *lost)
{
	lock_acquire(&lane->lock);
	add_lost(lost, count, weight_ns);
	lock_release(&lane->lock);
}

void lane_post_end(struct lane *lane, struct sample *end)
{
	lock_acquire(&lane->lock);
	append_sample(lane, end);
	lock_release(&lane->lock);
}

struct sampler_tools *lane_tools(struct lane *lane)
{
	return &lane->tools;
}

void lane_list(struct lane *lane, struct samples_link *samples)
{
	lock_acquire(&lane->lock);
	samples->next = lane->running;
	samples->link = &lane->running;
	if (samples->next)
		samples->next->link = &samples->next;
	lane->running = samples;
	lock_release(&lane->lock);
}

void lane_unlist(struct lane *lane, struct samples_link *samples)
{
	lock_acquire(&lane->lock);
	*samples->link = samples->next;
	if (samples->next)
		samples->next->link = samples->link;
	lock_release(&lane->lock);
}

/* Answers sampler_look(). Only this thread removes list entries; others add at
 * the front. Under lock, which it releases meanwhile. */
static void take_look(struct lane *lane)
{
	const struct recording_profiles *profiles =
		&recording_setup(lane->recording)->profiles;
	struct samples_link *samples = lane->running;
	const struct look *look = lane->look;

	lock_release(&lane->lock);
	pulse_begin("sums up samples");
	/* The profile counts values that it has no room for. */
	if (look->cpu)
		(void)window_profile_add(look->cpu, profiles->cpu, NULL);
	if (look->waits)
		(void)window_profile_add(look->waits, profiles->offcpu, NULL);
	for (; samples; samples = samples->next)
		samples_add_so_far(samples, look->cpu, look->waits);
	pulse_end();
	lock_acquire(&lane->lock);
	lane->look = NULL;
	pthread_cond_broadcast(&lane->dealt);
}

/* Returns the next queued sample, or NULL to stop. Under lock. */
static struct sample *wait_for_sample(struct lane *lane)
{
	struct sample *first;
	uint64_t beyond;

	for (;;) {
		if (lane->look)
			take_look(lane);
		else if (lane->first || lane->stopping)
			break;
		else
			lock_wait(&lane->lock, &lane->more);
	}
	first = lane->first;
	if (!first)
		return NULL;
	lane->first = first->next;
	if (!lane->first)
		lane->last = &lane->first;
	/* The last sample of a process was never counted. */
	if (first->kind == SAMPLE_END)
		return first;
	lane->bytes -= sample_bytes(first);
	beyond = bytes_beyond(lane);
	if (beyond < lane->shared_bytes) {
		budget_give(&lane->sampler->queue_budget,
			    lane->shared_bytes - beyond);
		lane->shared_bytes = beyond;
	}
	return first;
}

static void *lane_thread(void *context)
{
	struct lane *lane = context;
	struct sample *sample;

	pthread_setname_np(pthread_self(), "perfrec-sampler");
	thread_nice_raise(lane->nice);
	lock_acquire(&lane->lock);
	while ((sample = wait_for_sample(lane))) {
		lock_release(&lane->lock);
		pulse_begin("unwinds stacks");
		samples_deal(sample);
		pulse_end();
		lock_acquire(&lane->lock);
		lane->dealt_count++;
		pthread_cond_broadcast(&lane->dealt);
	}
	lock_release(&lane->lock);
	return NULL;
}

/* --- lanes --------------------------------------------------------------- */

static void free_lane(struct lane *lane)
{
	unwind_files_free(&lane->tools.files);
	lock_destroy(&lane->lock);
	pthread_cond_destroy(&lane->more);
	pthread_cond_destroy(&lane->dealt);
	free(lane);
}

static struct lane *make_lane(struct sampler *sampler,
			      const struct recording *recording)
{
	struct lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->sampler = sampler;
	lane->recording = recording;
	lane->nice = recording_setup(recording)->nice;
	lane->last = &lane->first;
	lane->tools.cache_budget = &sampler->cache_budget;
	lock_init(&lane->lock, LOCK_SAMPLER);
	pthread_cond_init(&lane->more, NULL);
	pthread_cond_init(&lane->dealt, NULL);
	if (!unwind_files_new(&lane->tools.files) &&
	    !pthread_create(&lane->thread, NULL, lane_thread, lane))
		return lane;
	free_lane(lane);
	return NULL;
}

/* Under the sampler's lock. */
static struct lane *find_lane(const struct sampler *sampler,
			      const struct recording *recording)
{
	struct lane *lane = sampler->lanes;

	while (lane && lane->recording != recording)
		lane = lane->next;
	return lane;
}

struct lane *sampler_lane(struct sampler *sampler,
			  const struct recording *recording)
{
	struct lane *lane;

	lock_acquire(&sampler->lock);
	lane = find_lane(sampler, recording);
	if (!lane) {
		lane = make_lane(sampler, recording);
		if (lane) {
			lane->next = sampler->lanes;
			sampler->lanes = lane;
		}
	}
	lock_release(&sampler->lock);
	return lane;
}

static void end_sampler_lane(struct lane *lane)
{
	lock_acquire(&lane->lock);
	lane->stopping = true;
	pthread_cond_signal(&lane->more);
	lock_release(&lane->lock);
	pthread_join(lane->thread, NULL);
	free_lane(lane);
}

void sampler_rest(struct sampler *sampler, const struct recording *recording)
{
	struct lane *lane;

	lock_acquire(&sampler->lock);
	lane = find_lane(sampler, recording);
	if (lane) {
		struct lane **link = &sampler->lanes;

		while (*link != lane)
			link = &(*link)->next;
		*link = lane->next;
	}
	lock_release(&sampler->lock);
	if (lane)
		end_sampler_lane(lane);
}

/* Returns the lane of @recording with its lock held, or NULL. */
static struct lane *lock_lane(struct sampler *sampler,
			      const struct recording *recording)
{
	struct lane *lane;

	lock_acquire(&sampler->lock);
	lane = find_lane(sampler, recording);
	lock_release(&sampler->lock);
	if (lane)
		lock_acquire(&lane->lock);
	return lane;
}

void sampler_flush(struct sampler *sampler, const struct recording *recording)
{
	struct lane *lane = lock_lane(sampler, recording);
	uint64_t posted;

	if (!lane)
		return;
	posted = lane->posted_count;
	while (lane->dealt_count < posted)
		lock_wait(&lane->lock, &lane->dealt);
	lock_release(&lane->lock);
}

void sampler_look(struct sampler *sampler, const struct recording *recording,
		  struct stack_profile *cpu, struct stack_profile *waits)
{
	struct look look = { cpu, waits };
	struct lane *lane = lock_lane(sampler, recording);

	if (!lane)
		return;
	lane->look = &look;
	pthread_cond_signal(&lane->more);
	while (lane->look == &look)
		lock_wait(&lane->lock, &lane->dealt);
	lock_release(&lane->lock);
}

/* --- life ---------------------------------------------------------------- */

int sampler_new(struct sampler **out)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		return -ENOMEM;
	sampler->queue_budget.left = QUEUE_BYTES_SHARED;
	sampler->cache_budget.left = CACHE_BYTES_MAX;
	lock_init(&sampler->lock, LOCK_SAMPLER_LANES);
	*out = sampler;
	return 0;
}

void sampler_free(struct sampler **sampler)
{
	struct sampler *old = *sampler;

	*sampler = NULL;
	if (!old)
		return;
	while (old->lanes) {
		struct lane *lane = old->lanes;

		old->lanes = lane->next;
		end_sampler_lane(lane);
	}
	lock_destroy(&old->lock);
	free(old);
}
