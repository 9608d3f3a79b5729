/* SPDX-License-Identifier: Apache-2.0
 *
 * sampler - queues of samples, and the threads that unwind them. Unwinding
 * reads files of programs, which may take long, or never end: so each recording
 * has a lane of its own, which is a queue with a thread, and waits for its own
 * files only. A queue is bounded in bytes, and all together are. Whoever posts
 * a sample never waits: samples that come faster than they can be unwound are
 * counted without their stacks.
 *
 * A lane begins with the first process of a recording that is sampled, and ends
 * with the recording: what was read of files serves all its processes.
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
#include "collector/record/recording.h"
#include "collector/stacks/unwind_file.h"
#include "shared/compiler.h"

#define QUEUE_BYTES_MAX (32u << 20)
/* A block that was allocated must not be missed: without stacks they are
 * small, so there may be some more. */
#define QUEUE_BYTES_HARD (48u << 20)
/* What a queue has to itself; what it takes beyond that, all share. */
#define QUEUE_BYTES_OWN (1u << 20)
#define QUEUE_BYTES_SHARED (128u << 20)
#define CACHE_BYTES_MAX (64u << 20) /* of all lanes */

struct sampler {
	struct lock lock; /* of the list */
	struct lane *lanes;
	struct budget queue_budget; /* QUEUE_BYTES_SHARED */
	struct budget cache_budget; /* CACHE_BYTES_MAX */
};

struct lane {
	struct lane *next;
	struct sampler *sampler;
	const struct recording *recording; /* no reference */
	struct lock lock; /* of the queue */
	pthread_cond_t more, dealt;
	struct sample *first, **last;
	uint64_t bytes; /* of what waits */
	uint64_t shared_bytes; /* of these, what was taken of the budget */
	uint64_t posted_count, dealt_count;
	bool stopping;
	int nice; /* of the thread */
	pthread_t thread;
	struct sampler_tools tools; /* the thread's */
};

struct sample *sample_new(uint32_t stack_bytes)
{
	struct sample *sample = calloc(1, sizeof(*sample) + stack_bytes);

	if (sample)
		sample->stack_bytes = stack_bytes;
	return sample;
}

struct sample *sample_new_blocked(uint32_t stack_bytes, const char *object)
{
	size_t bytes = strlen(object) + 1;
	struct sample *sample =
		calloc(1, sizeof(*sample) + stack_bytes + bytes);

	if (!sample)
		return NULL;
	sample->kind = SAMPLE_BLOCKED;
	sample->stack_bytes = stack_bytes;
	sample->object_bytes = (uint32_t)bytes;
	memcpy(sample->stack + stack_bytes, object, bytes);
	return sample;
}

const char *sample_object(const struct sample *sample)
{
	return (const char *)sample->stack + sample->stack_bytes;
}

static uint64_t sample_bytes(const struct sample *sample)
{
	return sizeof(*sample) + sample->stack_bytes + sample->object_bytes;
}

/* Under lock. Bytes that are waiting beyond those that the lane has to itself.
 */
static uint64_t bytes_beyond(const struct lane *lane)
{
	return lane->bytes - MIN(lane->bytes, QUEUE_BYTES_OWN);
}

/* Under lock. Makes room for @bytes; false: there is none. */
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
static void give_room(struct lane *lane, uint64_t bytes)
{
	uint64_t beyond;

	lane->bytes -= bytes;
	beyond = bytes_beyond(lane);
	if (beyond >= lane->shared_bytes)
		return;
	budget_give(&lane->sampler->queue_budget, lane->shared_bytes - beyond);
	lane->shared_bytes = beyond;
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

/* The same sample without its stack. */
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

static bool must_stay_queued(const struct sample *sample)
{
	return sample->kind == SAMPLE_ALLOC || sample->kind == SAMPLE_FREE;
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
	if (must_stay_queued(sample) &&
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
	uint64_t stacks;

	lock_acquire(&lane->lock);
	stacks = lost->stacks;
	lock_release(&lane->lock);
	return stacks;
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

/* The next that waits; NULL: it is to stop. Under lock. */
static struct sample *wait_for_sample(struct lane *lane)
{
	struct sample *first;

	while (!lane->first && !lane->stopping)
		lock_wait(&lane->lock, &lane->more);
	first = lane->first;
	if (!first)
		return NULL;
	lane->first = first->next;
	if (!lane->first)
		lane->last = &lane->first;
	/* The last one of a process was never counted. */
	if (first->kind != SAMPLE_END)
		give_room(lane, sample_bytes(first));
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

/* --- lanes ----------------------------------------------------------------
 */

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

/* Takes @lane, which is in the list, out of it. Under the sampler's lock. */
static void unlink_lane(struct sampler *sampler, struct lane *lane)
{
	struct lane **link = &sampler->lanes;

	while (*link != lane)
		link = &(*link)->next;
	*link = lane->next;
}

/* Deals with what waits in @lane, and frees it. */
static void end_lane(struct lane *lane)
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
	if (lane)
		unlink_lane(sampler, lane);
	lock_release(&sampler->lock);
	if (lane)
		end_lane(lane);
}

void sampler_flush(struct sampler *sampler, const struct recording *recording)
{
	struct lane *lane;
	uint64_t posted;

	lock_acquire(&sampler->lock);
	lane = find_lane(sampler, recording);
	lock_release(&sampler->lock);
	if (!lane)
		return;
	lock_acquire(&lane->lock);
	posted = lane->posted_count;
	while (lane->dealt_count < posted)
		lock_wait(&lane->lock, &lane->dealt);
	lock_release(&lane->lock);
}

/* --- life -----------------------------------------------------------------
 */

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
		end_lane(lane);
	}
	lock_destroy(&old->lock);
	free(old);
}
