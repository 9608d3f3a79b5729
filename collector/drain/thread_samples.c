/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/thread_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "collector/heap/thread_heap.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/process.h"
#include "collector/record/thread_state.h"
#include "collector/replay/cct.h"
#include "collector/replay/replay.h"
#include "collector/samples/samples.h"
#include "shared/compiler.h"

#define SECOND_NS 1000000000u
/* Maximum timer overruns of one sample; larger values are clamped. */
#define WEIGHT_MAX 1000000u

static struct sample *copy_sample(const struct record_sample *said,
				  const struct record *cells)
{
	struct sample *sample = sample_new(said->stack_bytes);

	if (!sample)
		return NULL;
	sample->flags = said->flags &
			(SAMPLE_STACK_CUT | SAMPLE_NO_STACK | SAMPLE_LIVE);
	sample->address = said->address;
	sample->size = said->size;
	sample->request = said->request;
	if (said->weight)
		sample->level = (uint32_t)__builtin_ctzll(said->weight);
	memcpy(sample->reg, said->reg, sizeof(sample->reg));
	memcpy(sample->stack, cells + 1 + sizeof(*said) / sizeof(*cells),
	       said->stack_bytes);
	return sample;
}

static uint64_t said_count(const struct record_sample *said)
{
	return MIN(MAX(said->weight, 1u), WEIGHT_MAX);
}

static uint64_t said_weight_ns(const struct thread *thread,
			       const struct record_sample *said)
{
	uint32_t hz = thread->setup->collector->options->cpu_hz;

	return said_count(said) * SECOND_NS / MAX(hz, 1u);
}

static void lose_sample(struct thread *thread, const struct record_sample *said,
			enum record_ext ext)
{
	if (ext == EXT_CPU_SAMPLE)
		samples_lose(thread->setup->samples, said_count(said),
			     said_weight_ns(thread, said));
	else
		thread_heap_lose_sample(thread);
}

static void post_sample(struct thread *thread, const struct record_sample *said,
			enum record_ext ext, struct sample *sample)
{
	if (ext == EXT_CPU_SAMPLE) {
		sample->kind = SAMPLE_CPU;
		sample->count = said_count(said);
		sample->weight_ns = said_weight_ns(thread, said);
		samples_post(thread->setup->samples, sample);
		return;
	}
	sample->kind = SAMPLE_ALLOC;
	if (thread_heap_sample(thread, sample) < 0) {
		free(sample);
		lose_sample(thread, said, ext);
	}
}

int thread_sample(struct thread *thread, struct replay *replay,
		  const struct record *cells, size_t count)
{
	enum record_ext ext = record_ext(cells[0].word);
	struct record_sample said;
	struct sample *sample;

	if ((count - 1) * sizeof(*cells) < sizeof(said))
		return -EBADMSG;
	memcpy(&said, cells + 1, sizeof(said));
	if (said.stack_bytes > (count - 1) * sizeof(*cells) - sizeof(said))
		return -EBADMSG;
	if (!thread->setup->samples)
		return 0; /* samples are off */
	if (ext == EXT_ALLOC_SAMPLE && !thread_heap_wants(thread, replay))
		return 0;
	sample = copy_sample(&said, cells);
	if (!sample) {
		lose_sample(thread, &said, ext);
		return 0;
	}
	sample->tid = thread->entry.tid;
	memcpy(sample->thread, thread->entry.name, sizeof(sample->thread));
	/* The program's own request has precedence. */
	if (trace_ids_are_set(&thread->request))
		sample->request = thread->request;
	sample->request_told = true;
	sample->clock = cells[0].clock;
	sample->ns = replay_ns(replay, cells[0].clock, clock_boottime_ns());
	sample->generation = replay_tree(thread->replay)->generation;
	post_sample(thread, &said, ext, sample);
	return 0;
}
