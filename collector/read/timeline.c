/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "shared/compiler.h"

#define ROWS_MAX (1u << 17) /* 13 MB for 100,000 threads or deep stacks */

/* Limits of finished levels; levels in the making have twice as many calls. */
static const uint32_t level_most[TIMELINE_LEVELS] = { 30000, 90000, 180000 };

int timeline_init(struct timeline *timeline, uint32_t part)
{
	*timeline = (struct timeline){ 0 };
	for (int i = 0; i < TIMELINE_LEVELS; i++) {
		struct timeline_level *level = &timeline->level[i];

		level->most = level_most[i] / part;
		level->calls =
			malloc((size_t)2 * level->most * sizeof(*level->calls));
		if (!level->calls) {
			timeline_release(timeline);
			return -ENOMEM;
		}
	}
	return 0;
}

void timeline_release(struct timeline *timeline)
{
	for (int i = 0; i < TIMELINE_LEVELS; i++)
		free(timeline->level[i].calls);
	for (uint32_t i = 0; i < timeline->thread_room; i++)
		free(timeline->threads[i].rows);
	free(timeline->threads);
	*timeline = (struct timeline){ 0 };
}

/* --- levels --- */

static int compare_calls(const void *a, const void *b)
{
	const struct timeline_call *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Merges two calls of one row; the longer one stays. */
static void merge_calls(struct timeline_call *to,
			const struct timeline_call *from)
{
	uint32_t count;

	if (__builtin_add_overflow(to->count, from->count, &count))
		count = UINT32_MAX;
	if (from->duration_ns > to->duration_ns)
		*to = *from;
	to->count = count;
}

static bool in_one_bucket(const struct timeline_level *level,
			  const struct timeline_call *a,
			  const struct timeline_call *b)
{
	return a->begin_ns >> level->shift == b->begin_ns >> level->shift;
}

/* Merges the calls of each bucket. The calls are sorted. */
static void merge_buckets(struct timeline_level *level)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < level->count; i++) {
		struct timeline_call *call = &level->calls[i];
		struct timeline_call *to = &level->calls[MAX(kept, 1u) - 1];

		if (kept && to->thread == call->thread &&
		    to->depth == call->depth && in_one_bucket(level, to, call))
			merge_calls(to, call);
		else
			level->calls[kept++] = *call;
	}
	level->count = kept;
}

static void shrink_level(struct timeline_level *level)
{
	qsort(level->calls, level->count, sizeof(*level->calls), compare_calls);
	merge_buckets(level);
	while (level->count > level->most && level->shift < 63) {
		level->shift++;
		merge_buckets(level);
	}
}

static void put_call(struct timeline *timeline, struct timeline_level *level,
		     const struct timeline_call *call)
{
	if (level->count == 2 * level->most)
		shrink_level(level);
	if (level->count == 2 * level->most)
		timeline->refused++;
	else
		level->calls[level->count++] = *call;
}

/* --- rows --- */

static struct timeline_row *find_row_slow(struct timeline *timeline,
					  uint32_t thread, uint32_t depth)
{
	uint32_t known = timeline->thread_room;
	struct timeline_thread *at;
	uint32_t count = depth + 1;

	if (grow_array(timeline->threads, timeline->thread_room,
		       (size_t)thread + 1))
		return NULL;
	for (; known < timeline->thread_room; known++)
		timeline->threads[known] = (struct timeline_thread){ 0 };
	at = &timeline->threads[thread];
	if (depth >= at->count) {
		struct timeline_row *rows;

		if (timeline->row_count + count - at->count > ROWS_MAX)
			return NULL;
		rows = realloc(at->rows, count * sizeof(*rows));
		if (!rows)
			return NULL;
		for (uint32_t i = at->count; i < count; i++)
			rows[i] = (struct timeline_row){ 0 };
		timeline->row_count += count - at->count;
		at->rows = rows;
		at->count = count;
	}
	return &at->rows[depth];
}

static struct timeline_row *find_row(struct timeline *timeline, uint32_t thread,
				     uint32_t depth)
{
	if (likely(thread < timeline->thread_room &&
		   depth < timeline->threads[thread].count))
		return &timeline->threads[thread].rows[depth];
	return find_row_slow(timeline, thread, depth);
}

void timeline_take(struct timeline *timeline, const struct timeline_call *call)
{
	struct timeline_row *row =
		call->depth < TIMELINE_DEPTH_MAX
			? find_row(timeline, call->thread, call->depth)
			: NULL;

	if (unlikely(!row)) {
		timeline->refused++;
		return;
	}
	for (int i = 0; i < TIMELINE_LEVELS; i++) {
		struct timeline_level *level = &timeline->level[i];
		struct timeline_call *last = &row->last[i];

		if (last->count && in_one_bucket(level, last, call)) {
			merge_calls(last, call);
			continue;
		}
		if (last->count)
			put_call(timeline, level, last);
		*last = *call;
	}
}

void timeline_finish(struct timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->thread_room; i++)
		for (uint32_t depth = 0; depth < timeline->threads[i].count;
		     depth++)
			for (int k = 0; k < TIMELINE_LEVELS; k++) {
				struct timeline_call *last =
					&timeline->threads[i]
						 .rows[depth]
						 .last[k];

				if (last->count)
					put_call(timeline, &timeline->level[k],
						 last);
				last->count = 0;
			}
	for (int i = 0; i < TIMELINE_LEVELS; i++) {
		struct timeline_level *level = &timeline->level[i];
		struct timeline_call *calls;

		shrink_level(level);
		calls = realloc(level->calls,
				(level->count + 1) * sizeof(*level->calls));
		level->calls = calls ?: level->calls;
	}
}
