/* SPDX-License-Identifier: Apache-2.0
 *
 * sampler - a queue of samples, and the thread that unwinds them. The queue is
 * bounded in bytes. Whoever posts a sample never waits: samples that come
 * faster than they can be unwound are counted without their stacks.
 */
#include "collector/samples/samples_inner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "collector/base/lock.h"
#include "collector/base/pulse.h"
#include "collector/stacks/unwind_file.h"

#define QUEUE_BYTES_MAX (32u << 20)
/* A block that was allocated must not be missed: without stacks they are
 * small, so there may be some more. */
#define QUEUE_BYTES_HARD (48u << 20)
#define CACHE_BYTES_MAX (64u << 20)

struct sampler {
	struct lock lock; /* of the queue */
	pthread_cond_t more, dealt;
	struct sample *first, **last;
	uint64_t bytes; /* of what waits */
	uint64_t posted_count, dealt_count;
	bool stopping;
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

static uint64_t sample_bytes(const struct sample *sample)
{
	return sizeof(*sample) + sample->stack_bytes;
}

/* Under lock. */
static void append_sample(struct sampler *sampler, struct sample *sample)
{
	sample->next = NULL;
	*sampler->last = sample;
	sampler->last = &sample->next;
	sampler->bytes += sample_bytes(sample);
	sampler->posted_count++;
	pthread_cond_signal(&sampler->more);
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

bool sampler_post(struct sampler *sampler, struct sample *sample,
		  struct samples_lost *lost)
{
	uint64_t max = QUEUE_BYTES_MAX;
	bool fits;

	lock_acquire(&sampler->lock);
	if (must_stay_queued(sample) &&
	    sampler->bytes + sample_bytes(sample) > max) {
		sample = strip_stack(sample);
		max = QUEUE_BYTES_HARD;
	}
	fits = sampler->bytes + sample_bytes(sample) <= max;
	if (fits)
		append_sample(sampler, sample);
	else
		add_lost(lost, sample->count, sample->weight_ns);
	lock_release(&sampler->lock);
	if (!fits)
		free(sample);
	return fits;
}

void sampler_lose(struct sampler *sampler, uint64_t count, uint64_t weight_ns,
		  struct samples_lost *lost)
{
	lock_acquire(&sampler->lock);
	add_lost(lost, count, weight_ns);
	lock_release(&sampler->lock);
}

void sampler_post_end(struct sampler *sampler, struct sample *end)
{
	lock_acquire(&sampler->lock);
	append_sample(sampler, end);
	lock_release(&sampler->lock);
}

/* All that waits; NULL: it is to stop. Under lock. */
static struct sample *wait_for_sample(struct sampler *sampler)
{
	struct sample *first;

	while (!sampler->first && !sampler->stopping)
		lock_wait(&sampler->lock, &sampler->more);
	first = sampler->first;
	if (!first)
		return NULL;
	sampler->first = first->next;
	if (!sampler->first)
		sampler->last = &sampler->first;
	sampler->bytes -= sample_bytes(first);
	return first;
}

static void *sampler_thread(void *context)
{
	struct sampler *sampler = context;
	struct sample *sample;

	pthread_setname_np(pthread_self(), "perfrec-sampler");
	lock_acquire(&sampler->lock);
	while ((sample = wait_for_sample(sampler))) {
		lock_release(&sampler->lock);
		pulse_begin("unwinds stacks");
		samples_deal(sample);
		pulse_end();
		lock_acquire(&sampler->lock);
		sampler->dealt_count++;
		pthread_cond_broadcast(&sampler->dealt);
	}
	lock_release(&sampler->lock);
	return NULL;
}

int sampler_new(struct sampler **out)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	int err;

	if (!sampler)
		return -ENOMEM;
	sampler->last = &sampler->first;
	sampler->tools.cache_budget.left = CACHE_BYTES_MAX;
	lock_init(&sampler->lock, LOCK_SAMPLER);
	pthread_cond_init(&sampler->more, NULL);
	pthread_cond_init(&sampler->dealt, NULL);
	err = unwind_files_new(&sampler->tools.files);
	if (!err)
		err = -pthread_create(&sampler->thread, NULL, sampler_thread,
				      sampler);
	if (err) {
		unwind_files_free(&sampler->tools.files);
		free(sampler);
		return err;
	}
	*out = sampler;
	return 0;
}

void sampler_free(struct sampler **sampler)
{
	struct sampler *old = *sampler;

	*sampler = NULL;
	if (!old)
		return;
	lock_acquire(&old->lock);
	old->stopping = true;
	pthread_cond_signal(&old->more);
	lock_release(&old->lock);
	pthread_join(old->thread, NULL);
	unwind_files_free(&old->tools.files);
	lock_destroy(&old->lock);
	pthread_cond_destroy(&old->more);
	pthread_cond_destroy(&old->dealt);
	free(old);
}

void sampler_flush(struct sampler *sampler)
{
	uint64_t posted;

	lock_acquire(&sampler->lock);
	posted = sampler->posted_count;
	while (sampler->dealt_count < posted)
		lock_wait(&sampler->lock, &sampler->dealt);
	lock_release(&sampler->lock);
}

struct sampler_tools *sampler_tools(struct sampler *sampler)
{
	return &sampler->tools;
}
