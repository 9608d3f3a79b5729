/* SPDX-License-Identifier: Apache-2.0
 *
 * range_model - random traces for tests of range readers, with the answers
 * found by looking at every slice. The model keeps its own list of slices and
 * does not read the trace.
 *
 * A trace has two processes, four threads and two contexts. Functions call
 * themselves and each other. Slices may take no time, share their times with
 * others, or never end. Threads wait for the collector, lose calls and pause.
 * Blocks of different tracks lie in the file in any order; blocks of one track
 * keep theirs.
 */
#ifndef PERFREC_TESTS_UNIT_RANGE_MODEL_H
#define PERFREC_TESTS_UNIT_RANGE_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/base/varint.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"
#include "tests/random.h"
#include "tests/suite.h"

#define MODEL_START_NS 5000000000ULL
#define MODEL_TRACKS 6 /* the last two are contexts of threads 0 and 1 */
#define MODEL_THREADS 4
#define MODEL_NAMES 7 /* the last is the wait for the collector */
#define MODEL_WAIT (MODEL_NAMES - 1)
#define MODEL_SLICES_MAX 4096
#define MODEL_INSTANTS_MAX 512
#define MODEL_DEPTH 12
#define MODEL_NONE UINT32_MAX
#define MODEL_TRACK_BYTES (1u << 18)
#define MODEL_BLOCKS 64 /* per track */

struct model_slice {
	/* parent: index, or MODEL_NONE for an outermost slice */
	uint32_t track, name, parent;
	uint32_t depth;
	/* BOOTTIME; an open slice ends with the trace's last event */
	uint64_t begin, end;
	bool ended;
	uint64_t waited; /* waited for the collector, as the slice's end says */
	int64_t argument; /* 0: none */
};

struct model_instant {
	uint32_t track;
	uint64_t ns, lost, paused;
};

struct model {
	struct model_slice slices[MODEL_SLICES_MAX]; /* by track, by start */
	uint32_t count;
	struct model_instant instants[MODEL_INSTANTS_MAX];
	uint32_t instant_count;
	uint64_t first_ns, last_ns;
	uint64_t random;
	struct model_track {
		uint8_t bytes[MODEL_TRACK_BYTES];
		uint32_t used;
		uint32_t blocks[MODEL_BLOCKS]; /* ends of the blocks */
		uint32_t block_count;
	} tracks[MODEL_TRACKS];
	char path[32];
	int fd;
};

static const char *const model_names[MODEL_NAMES] = {
	"main",
	"ns::f<A>(int)",
	"ns::f<B>(int)",
	"operator>",
	"leaf",
	"deep",
	"perfrec: waiting for collector",
};
static const char *const model_threads[MODEL_THREADS] = { "main", "worker",
							  "worker", "io" };

static inline uint64_t model_random(struct model *model, uint64_t below)
{
	return next_random(&model->random) % below;
}

static inline uint32_t model_thread(uint32_t track)
{
	return track < MODEL_THREADS ? track : track - MODEL_THREADS;
}

static inline int64_t model_tid(uint32_t track)
{
	return 100 + model_thread(track);
}

static inline uint32_t model_sequence(uint32_t track)
{
	return 10 + track;
}

/* --- writing --- */

static inline void model_wrote(struct model_track *to, size_t bytes)
{
	ck_assert_uint_gt(bytes, 0);
	to->used += (uint32_t)bytes;
	ck_assert_uint_lt(to->used, MODEL_TRACK_BYTES - 4096);
}

#define MODEL_ROOM(to) \
	(to)->bytes + (to)->used, sizeof((to)->bytes) - (to)->used

static inline void model_write_head(struct model *model, uint32_t track)
{
	const struct out_thread thread = {
		.uuid = 1000 + track,
		.sequence = model_sequence(track),
		.pid = 7 + (pid_t)(track >= 2),
		.tid = (pid_t)model_tid(track),
		.name = model_threads[model_thread(track)],
		.start_ns = MODEL_START_NS,
	};
	const struct out_context context = {
		.uuid = 1000 + track,
		.thread_uuid = 1000 + model_thread(track),
		.sequence = model_sequence(track),
		.name = "context",
		.start_ns = MODEL_START_NS,
	};
	struct out_name names[MODEL_NAMES];
	struct model_track *to = &model->tracks[track];

	for (uint32_t i = 0; i < MODEL_NAMES; i++)
		names[i] = (struct out_name){ i + 1, model_names[i] };
	model_wrote(to,
		    track < MODEL_THREADS
			    ? out_perfetto_thread(MODEL_ROOM(to), &thread)
			    : out_perfetto_context(MODEL_ROOM(to), &context));
	model_wrote(to,
		    out_perfetto_names(MODEL_ROOM(to), model_sequence(track),
				       names, MODEL_NAMES));
}

struct model_walk {
	struct model *model;
	struct model_track *to;
	struct encoder encoder;
	uint32_t track, open[MODEL_DEPTH], depth;
	uint64_t ns;
};

static inline void model_event(struct model_walk *walk,
			       enum out_event_type type, const char *name,
			       const char *key, int64_t number)
{
	const struct out_attribute argument = { .key = key, .number = number };
	const struct out_event event = {
		.type = type,
		.sequence = model_sequence(walk->track),
		.delta_ns = walk->ns - walk->encoder.last_ns,
		.name = name,
		.arguments = &argument,
		.argument_count = key ? 1 : 0,
	};

	model_wrote(walk->to, out_perfetto_event(MODEL_ROOM(walk->to), &event));
	walk->encoder.last_ns = walk->ns;
}

static inline void model_begin(struct model_walk *walk)
{
	struct model *model = walk->model;
	bool wait = walk->depth && !model_random(model, 20);
	uint32_t name =
		wait ? MODEL_WAIT : (uint32_t)model_random(model, MODEL_WAIT);
	struct model_slice *slice = &model->slices[model->count];
	struct encode_template begin =
		encode_template(&walk->encoder, name + 1);

	ck_assert_uint_lt(model->count, MODEL_SLICES_MAX);
	*slice = (struct model_slice){
		.track = walk->track,
		.name = name,
		.parent =
			walk->depth ? walk->open[walk->depth - 1] : MODEL_NONE,
		.depth = walk->depth,
		.begin = walk->ns,
		.argument = wait || model_random(model, 8)
				    ? 0
				    : (int64_t)model->count + 1,
	};
	if (slice->argument) {
		model_event(walk, OUT_BEGIN, model_names[name], "id",
			    slice->argument);
	} else {
		walk->encoder.out = walk->to->bytes + walk->to->used;
		encode_begin(&walk->encoder, walk->ns, &begin);
		walk->to->used =
			(uint32_t)(walk->encoder.out - walk->to->bytes);
	}
	walk->open[walk->depth++] = model->count++;
}

static inline uint64_t model_took(const struct model_slice *slice)
{
	return slice->end - slice->begin - (slice->ended ? slice->waited : 0);
}

static inline void model_end(struct model_walk *walk)
{
	struct model_slice *slices = walk->model->slices;
	struct model_slice *slice = &slices[walk->open[--walk->depth]];
	const struct encode_event waited = { .type = OUT_END,
					     .waited_ns = slice->waited };

	slice->end = walk->ns;
	slice->ended = true;
	for (uint32_t i = 0; slice->name == MODEL_WAIT && i < walk->depth; i++)
		slices[walk->open[i]].waited += slice->end - slice->begin;
	walk->encoder.out = walk->to->bytes + walk->to->used;
	if (slice->waited)
		encode_event(&walk->encoder, walk->ns, &waited);
	else
		encode_end(&walk->encoder, walk->ns);
	walk->to->used = (uint32_t)(walk->encoder.out - walk->to->bytes);
}

static inline void model_missing(struct model_walk *walk)
{
	struct model *model = walk->model;
	bool lost = model_random(model, 2);
	uint64_t calls = 1 + model_random(model, 100);

	ck_assert_uint_lt(model->instant_count, MODEL_INSTANTS_MAX);
	model->instants[model->instant_count++] = (struct model_instant){
		.track = walk->track,
		.ns = walk->ns,
		.lost = lost ? calls : 0,
		.paused = lost ? 0 : calls,
	};
	model_event(walk, OUT_INSTANT, "spans missing",
		    lost ? "perfrec.lost_spans" : "perfrec.paused_spans",
		    (int64_t)calls);
}

static inline void model_go_on(struct model_walk *walk)
{
	static const uint64_t steps[] = { 0, 0, 1, 1, 7, 50, 400, 20000 };
	uint64_t step = steps[model_random(walk->model, ARRAY_SIZE(steps))];

	walk->ns += step ? 1 + model_random(walk->model, step) : 0;
}

static inline bool model_in_wait(const struct model_walk *walk)
{
	return walk->depth &&
	       walk->model->slices[walk->open[walk->depth - 1]].name ==
		       MODEL_WAIT;
}

static inline void model_step(struct model_walk *walk)
{
	uint64_t what = model_random(walk->model, 100);

	model_go_on(walk);
	if (what < 4)
		model_missing(walk);
	else if (model_in_wait(walk) || (what < 52 && walk->depth) ||
		 walk->depth == MODEL_DEPTH)
		model_end(walk);
	else
		model_begin(walk);
	walk->model->last_ns = MAX(walk->model->last_ns, walk->ns);
}

static inline void model_end_block(struct model_walk *walk)
{
	if (walk->to->block_count < MODEL_BLOCKS - 1)
		walk->to->blocks[walk->to->block_count++] = walk->to->used;
}

static inline void model_walk_track(struct model *model, uint32_t track)
{
	struct model_walk walk = {
		.model = model,
		.to = &model->tracks[track],
		.track = track,
		.ns = MODEL_START_NS + model_random(model, 3000),
	};
	uint64_t steps = model_random(model, 8) ? model_random(model, 900) : 0;

	model_write_head(model, track);
	model_end_block(&walk);
	encoder_init(&walk.encoder, model_sequence(track), MODEL_START_NS);
	for (uint64_t i = 0; i < steps; i++) {
		model_step(&walk);
		if (!model_random(model, 40))
			model_end_block(&walk);
	}
	while (walk.depth && model_random(model, 4)) {
		model_go_on(&walk);
		model_end(&walk);
		model->last_ns = MAX(model->last_ns, walk.ns);
	}
	model_end_block(&walk);
	walk.to->blocks[walk.to->block_count - 1] = walk.to->used;
}

/* --- the file --- */

static inline void model_put(int fd, const void *bytes, size_t count)
{
	ck_assert_int_eq(write(fd, bytes, count), (ssize_t)count);
}

static inline void model_put_bundle(int fd, const uint8_t *bytes, size_t count)
{
	uLongf packed = compressBound(count);
	uint8_t *bundle = malloc(packed), head[32], inner[16], *end;

	ck_assert_int_eq(compress2(bundle, &packed, bytes, count, 1), Z_OK);
	end = varint_put(inner, TAG_TRACE_PACKET_COMPRESSED_PACKETS);
	end = varint_put(end, packed);
	size_t inner_bytes = (size_t)(end - inner);

	end = varint_put(head, TAG_TRACE_PACKET);
	end = varint_put(end, inner_bytes + packed);
	model_put(fd, head, (size_t)(end - head));
	model_put(fd, inner, inner_bytes);
	model_put(fd, bundle, packed);
	free(bundle);
}

static inline void model_put_global(struct model *model)
{
	const struct out_clocks clocks = { .boottime = MODEL_START_NS };
	const uint8_t uuid[16] = { 1 };
	uint8_t bytes[4096];

	model_put(model->fd, bytes,
		  out_perfetto_preamble(bytes, sizeof(bytes), &clocks, uuid,
					NULL, 0));
	for (uint32_t i = 0; i < 2; i++) {
		const struct out_process process = { .uuid = 500 + i,
						     .pid = 7 + (pid_t)i,
						     .name = "app" };

		model_put(model->fd, bytes,
			  out_perfetto_process(bytes, sizeof(bytes), &process));
	}
}

/* Heads of threads precede heads of contexts; other blocks mix freely. */
static inline void model_put_blocks(struct model *model, bool compressed)
{
	uint32_t next[MODEL_TRACKS] = { 0 }, left = 0;

	for (uint32_t i = 0; i < MODEL_TRACKS; i++)
		left += model->tracks[i].block_count;
	for (uint32_t told = 0; left; told++) {
		uint32_t i =
			told < MODEL_TRACKS
				? told
				: (uint32_t)model_random(model, MODEL_TRACKS);
		struct model_track *track = &model->tracks[i];
		uint32_t from, to;

		if (next[i] == track->block_count)
			continue;
		from = next[i] ? track->blocks[next[i] - 1] : 0;
		to = track->blocks[next[i]++];
		left--;
		if (compressed && to > from)
			model_put_bundle(model->fd, track->bytes + from,
					 to - from);
		else
			model_put(model->fd, track->bytes + from, to - from);
	}
}

/* Makes a model and its trace, model->path. model_free() frees both. */
static inline struct model *model_new(uint64_t seed, bool compressed)
{
	struct model *model = calloc(1, sizeof(*model));

	ck_assert_ptr_nonnull(model);
	model->random = seed;
	for (int i = 0; i < 16; i++)
		(void)next_random(&model->random);
	for (uint32_t i = 0; i < MODEL_TRACKS; i++)
		model_walk_track(model, i);
	for (uint32_t i = 0; i < model->count; i++) {
		struct model_slice *slice = &model->slices[i];

		if (!slice->ended)
			slice->end = model->last_ns;
		if (!model->first_ns || slice->begin < model->first_ns)
			model->first_ns = slice->begin;
	}
	model->fd = memfd_create("trace", MFD_CLOEXEC);
	ck_assert_int_ge(model->fd, 0);
	snprintf(model->path, sizeof(model->path), "/proc/self/fd/%d",
		 model->fd);
	model_put_global(model);
	model_put_blocks(model, compressed);
	return model;
}

static inline void model_free(struct model *model)
{
	close(model->fd);
	free(model);
}

/* --- ranges --- */

/* Returns a random time: often that of an event, or 1 ns beside it. */
static inline uint64_t model_time(struct model *model)
{
	const struct model_slice *slice;
	uint64_t ns;

	if (!model->count || !model_random(model, 4))
		return MODEL_START_NS +
		       model_random(model,
				    model->last_ns - MODEL_START_NS + 20);
	slice = &model->slices[model_random(model, model->count)];
	ns = model_random(model, 2) ? slice->begin : slice->end;
	return ns + model_random(model, 3) - 1;
}

/* Chooses a range that is not empty; its start or end may be open. */
static inline void model_range(struct model *model, uint64_t *from,
			       uint64_t *to)
{
	uint64_t a = model_time(model), b = model_time(model);

	*from = MIN(a, b);
	*to = MAX(a, b) + (a == b);
	if (!model_random(model, 10))
		*from = 0;
	if (!model_random(model, 10))
		*to = UINT64_MAX;
}

/* NULL matches all threads. */
static inline bool model_is_of(uint32_t track, const char *wanted)
{
	char tid[24];

	snprintf(tid, sizeof(tid), "%d", (int)model_tid(track));
	return !wanted || strcmp(wanted, tid) == 0 ||
	       strcmp(wanted, model_threads[model_thread(track)]) == 0;
}

static inline bool model_in_range(const struct model_slice *slice,
				  uint64_t from, uint64_t to)
{
	return slice->begin < to &&
	       (slice->begin >= from || slice->end >= from);
}

static inline uint64_t model_part(const struct model_slice *slice,
				  uint64_t from, uint64_t to)
{
	uint64_t begin = MAX(slice->begin, from), end = MIN(slice->end, to);

	return end > begin ? end - begin : 0;
}

static inline const char *model_choice(struct model *model)
{
	static const char *const choices[] = { NULL,	 NULL,	NULL, "main",
					       "worker", "100", "103" };

	return choices[model_random(model, ARRAY_SIZE(choices))];
}

#endif
