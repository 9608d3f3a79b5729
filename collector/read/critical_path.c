/* SPDX-License-Identifier: Apache-2.0
 *
 * critical_path - the chain is made of pieces of threads, from their waits. A
 * second reading of the trace divides the pieces among the innermost calls, so
 * calls need no memory. Chains of several calls may share pieces of a thread,
 * which then have a weight.
 *
 * Each step goes back in time: to the start of a wait, or from a wait to a release
 * inside of it by a thread that does not wait then. So a chain visits no wait
 * twice, and has at most two steps for each wait.
 */
#include "collector/read/critical_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/read/all_waits.h"
#include "collector/read/open_calls.h"
#include "collector/read/thread_choice.h"
#include "collector/read/trace_sched.h"
#include "collector/read/trace_waits.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

#define MEMORY_MAX (UINT64_C(1) << 30)
#define PASSED_SHARE 100 /* of a chain: 1 % */
#define OTHER_STACK "[another stack]"

/* A piece adds 1 where it starts, and -1 where it ends. */
struct path_edge {
	uint64_t ns;
	uint32_t thread; /* number of the track */
	uint16_t kind;
	int16_t step;
};

/* Pieces of a thread and kind are disjoint. */
struct path_piece {
	uint64_t from_ns, to_ns, weight;
};

/* A thread while calls are read. */
struct path_thread {
	struct {
		size_t at, end; /* remaining pieces */
	} left[PATH_KINDS];
	struct open_calls calls; /* names: texts of the reader */
};

struct path_walk {
	struct critical_path *path;
	struct trace_waits *waits;
	struct trace_sched *sched; /* NULL: no switches */
	struct path_edge *edges;
	size_t edge_count, edge_room;
	struct path_piece *pieces;
	struct path_thread *threads; /* by number of the track */
	uint32_t thread_room;
	struct trace_reader *calls; /* of the second reading */
	uint32_t *texts; /* by number of a text of that reader */
	uint32_t text_room;
	bool keeps_slices;
};

/* A place on the chain. */
struct path_at {
	const struct trace_track *thread;
	uint64_t ns;
};

static uint32_t path_text(struct path_walk *walk, const char *text)
{
	return trace_texts_number(&walk->path->texts, (const uint8_t *)text,
				  strlen(text));
}

static uint32_t path_thread_name(struct path_walk *walk,
				 const struct trace_track *thread)
{
	return path_text(walk,
			 trace_reader_text(walk->waits->reader, thread->name));
}

/* --- the chain ------------------------------------------------------------ */

static int add_path_piece(struct path_walk *walk,
			  const struct trace_track *thread, enum path_kind kind,
			  uint64_t from_ns, uint64_t to_ns)
{
	struct path_edge edge = { .ns = from_ns,
				  .thread = thread->number,
				  .kind = (uint16_t)kind,
				  .step = 1 };

	if (from_ns >= to_ns)
		return 0;
	if (grow_array_from(&walk->path->budget, walk->edges, walk->edge_room,
			    walk->edge_count + 2))
		return -ENOMEM;
	walk->edges[walk->edge_count++] = edge;
	edge.ns = to_ns;
	edge.step = -1;
	walk->edges[walk->edge_count++] = edge;
	return 0;
}

/* A lock is called as in lock_sums. */
static uint32_t path_object(struct path_walk *walk,
			    const struct trace_wait *wait)
{
	return path_text(walk, trace_texts_get(&walk->waits->texts,
					       wait->lock ?: wait->object));
}

static int stop_path(struct path_walk *walk, enum path_stop_why why,
		     const struct trace_track *thread,
		     const struct trace_wait *wait, uint64_t ns)
{
	const struct path_stop key = {
		.why = why,
		.object = wait ? path_object(walk, wait) : 0,
		.thread = path_thread_name(walk, thread),
		.tid = (uint32_t)thread->tid,
	};
	struct path_stop *stop;
	uint32_t number;

	if (!ns)
		return 0;
	if (pool_intern(&walk->path->stops, &key, &number) < 0)
		return -ENOMEM;
	stop = &((struct path_stop *)walk->path->stops.items)[number];
	stop->times++;
	stop->ns += ns;
	return 0;
}

/* Returns the last wait of the thread that began before @at, or NULL. */
static const struct trace_wait *last_wait(const struct path_walk *walk,
					  const struct path_at *at)
{
	const struct trace_wait *first;
	size_t count = trace_waits_of(walk->waits, at->thread, &first);
	size_t after = search_first(i, count, first[i].from_ns >= at->ns);

	return after ? &first[after - 1] : NULL;
}

/* Goes from the end of @wait, at @end_ns, to its waker. Returns 1 to go on at *@at,
 * 0 at the end of the chain, or -ENOMEM. */
static int follow_waker(struct path_walk *walk, struct path_at *at,
			const struct trace_wait *wait, uint64_t begin_ns,
			uint64_t end_ns)
{
	const struct trace_texts *texts = &walk->waits->texts;
	const struct path_hand_over key = {
		.object = path_object(walk, wait),
		.function =
			path_text(walk, trace_texts_get(texts, wait->woken_in)),
		.from = path_thread_name(walk, wait->waker),
		.from_tid = (uint32_t)wait->waker->tid,
		.to = path_thread_name(walk, wait->thread),
		.to_tid = (uint32_t)wait->thread->tid,
	};
	uint64_t release_ns = MIN(wait->release_ns ?: end_ns, end_ns - 1);
	struct path_hand_over *hand_over;
	const struct trace_wait *own;
	uint32_t number;

	release_ns = MAX(release_ns, MAX(wait->from_ns, begin_ns));
	if (pool_intern(&walk->path->hand_overs, &key, &number) < 0 ||
	    add_path_piece(walk, at->thread, PATH_HAND_OVER, release_ns,
			   end_ns))
		return -ENOMEM;
	hand_over = walk->path->hand_overs.items;
	hand_over[number].times++;
	hand_over[number].ns += end_ns - release_ns;
	*at = (struct path_at){ wait->waker, release_ns };
	own = last_wait(walk, at);
	if (!own || own->to_ns <= release_ns || release_ns <= begin_ns)
		return release_ns > begin_ns;
	/* It released the lock just before its own wait; clocks and the kernel
	 * are not that exact. */
	if (release_ns - own->from_ns > OUT_RELEASE_EARLY_NS)
		return stop_path(walk, PATH_STOP_WAITED, at->thread, own,
				 release_ns - begin_ns);
	at->ns = MAX(own->from_ns, begin_ns);
	if (add_path_piece(walk, at->thread, PATH_HAND_OVER, at->ns,
			   release_ns))
		return -ENOMEM;
	return at->ns > begin_ns;
}

/* Goes back by the time since a wait, and by the wait. *@passed_ns is what may still
 * be passed. Returns as follow_waker(). */
static int step_back(struct path_walk *walk, struct path_at *at,
		     uint64_t begin_ns, uint64_t *passed_ns)
{
	const struct trace_wait *wait = last_wait(walk, at);
	uint64_t start_ns = MAX(at->thread->first_ns, begin_ns);
	uint64_t end_ns = wait ? MIN(wait->to_ns, at->ns) : start_ns;
	uint64_t from_ns = wait ? MAX(wait->from_ns, begin_ns) : 0;
	enum path_kind kind = PATH_OUTSIDE;

	if (!wait || end_ns <= begin_ns) {
		start_ns = MIN(start_ns, at->ns);
		if (add_path_piece(walk, at->thread, PATH_RAN,
				   wait ? begin_ns : start_ns, at->ns))
			return -ENOMEM;
		return wait ? 0
			    : stop_path(walk, PATH_STOP_START, at->thread, NULL,
					start_ns - begin_ns);
	}
	if (add_path_piece(walk, at->thread, PATH_RAN, end_ns, at->ns))
		return -ENOMEM;
	if (wait->end == WAIT_END_THREAD && wait->waker)
		return follow_waker(walk, at, wait, begin_ns, end_ns);
	if (wait->end != WAIT_END_OUTSIDE && wait->end != WAIT_END_TIMEOUT) {
		if (end_ns - from_ns > *passed_ns)
			return stop_path(walk,
					 wait->end == WAIT_END_THREAD
						 ? PATH_STOP_SILENT
						 : PATH_STOP_WAKER,
					 at->thread, wait, end_ns - begin_ns);
		*passed_ns -= end_ns - from_ns;
		kind = PATH_UNKNOWN;
	}
	if (add_path_piece(walk, at->thread, kind, from_ns, end_ns))
		return -ENOMEM;
	at->ns = from_ns;
	return from_ns > begin_ns;
}

static int walk_back(struct path_walk *walk, struct path_at at,
		     uint64_t begin_ns)
{
	uint64_t passed_ns = (at.ns - begin_ns) / PASSED_SHARE;
	int got;

	walk->path->chains++;
	walk->path->length_ns += at.ns - begin_ns;
	walk->path->end_ns = at.ns;
	do
		got = step_back(walk, &at, begin_ns, &passed_ns);
	while (got > 0);
	return got;
}

/* --- where chains end ----------------------------------------------------- */

/* The thread of the run's last call, and the time of its first one. */
static int walk_run(struct path_walk *walk, const struct path_wish *wish)
{
	const struct trace_reader *reader = walk->waits->reader;
	const struct trace_track *track, *last = NULL;
	uint64_t first_ns = UINT64_MAX;

	for (uint32_t i = 0; (track = trace_reader_track(reader, i)); i++) {
		struct thread_choice choice = { 0 };

		if (!track_has_calls(track) || !track->first_ns)
			continue;
		first_ns = MIN(first_ns, track->first_ns);
		if (track->kind == TRACE_TRACK_THREAD &&
		    (!last || track->last_ns > last->last_ns) &&
		    (!wish->thread ||
		     thread_choice_has(&choice, reader, wish->thread, track,
				       false)))
			last = track;
	}
	walk->path->met_thread =
		!wish->thread || thread_choice_exists(reader, wish->thread);
	first_ns = MAX(first_ns, wish->range.from_ns);
	if (!last || MIN(last->last_ns, wish->range.to_ns) <= first_ns)
		return 0;
	return walk_back(
		walk,
		(struct path_at){ last, MIN(last->last_ns, wish->range.to_ns) },
		first_ns);
}

static int walk_call(struct path_walk *walk, const struct path_call *call)
{
	const struct trace_reader *reader = walk->waits->reader;
	const struct trace_track *track =
		trace_reader_find_track(reader, call->uuid);

	if (!track || call->from_ns >= call->to_ns)
		return 0;
	return walk_back(walk,
			 (struct path_at){ call_track_thread(reader, track),
					   call->to_ns },
			 call->from_ns);
}

/* --- pieces --------------------------------------------------------------- */

static int compare_path_edges(const void *left, const void *right)
{
	const struct path_edge *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->ns > b->ns) - (a->ns < b->ns);
}

/* Makes disjoint pieces of the edges. */
static int make_pieces(struct path_walk *walk)
{
	uint64_t weight = 0;
	size_t count = 0;

	walk->pieces = calloc(walk->edge_count + 1, sizeof(*walk->pieces));
	if (!walk->pieces)
		return -ENOMEM;
	if (walk->edge_count)
		qsort(walk->edges, walk->edge_count, sizeof(*walk->edges),
		      compare_path_edges);
	for (size_t i = 0; i < walk->edge_count; i++) {
		const struct path_edge *edge = &walk->edges[i];
		struct path_thread *thread = grow_array_at(
			walk->threads, walk->thread_room, edge->thread);

		if (!thread)
			return -ENOMEM;
		if (!thread->left[edge->kind].end)
			thread->left[edge->kind].at = count;
		if (weight && edge->ns > edge[-1].ns)
			walk->pieces[count++] =
				(struct path_piece){ edge[-1].ns, edge->ns,
						     weight };
		weight += (uint64_t)(int64_t)edge->step;
		/* 0 is "no pieces", so ends count from 1 on. */
		thread->left[edge->kind].end = count + 1;
	}
	for (uint32_t i = 0; i < walk->thread_room; i++)
		for (int j = 0; j < PATH_KINDS; j++)
			if (walk->threads[i].left[j].end)
				walk->threads[i].left[j].end--;
	return 0;
}

static struct path_row *path_row_of(struct path_walk *walk, uint32_t function,
				    const struct trace_track *track)
{
	const struct path_row key = {
		.function = function,
		.thread = path_text(
			walk, trace_reader_text(walk->calls, track->name)),
		.tid = (uint32_t)track->tid,
	};
	uint32_t number;

	return pool_intern(&walk->path->rows, &key, &number) < 0
		       ? NULL
		       : &((struct path_row *)walk->path->rows.items)[number];
}

/* Returns the text of critical_path of a text of the second reader. */
static uint32_t function_text(struct path_walk *walk, uint32_t number)
{
	if (!number ||
	    grow_array_zeroed(walk->texts, walk->text_room, (size_t)number + 1))
		return 0;
	if (!walk->texts[number])
		walk->texts[number] =
			path_text(walk, trace_reader_text(walk->calls, number));
	return walk->texts[number];
}

/* The thread ran the call from @from_ns to @to_ns, or another stack. */
static int count_run(struct path_walk *walk, const struct trace_track *track,
		     uint32_t function, const struct path_piece *piece)
{
	struct trace_sched_sums all = { 0 }, own = { 0 };
	struct path_row *row = path_row_of(walk, function, track);
	uint64_t took = piece->to_ns - piece->from_ns;

	if (!row)
		return -ENOMEM;
	if (walk->sched) {
		all = trace_sched_between(walk->sched, track->tid,
					  piece->from_ns, piece->to_ns);
		own = trace_sched_of_stack(walk->sched, track->uuid, track->tid,
					   piece->from_ns, piece->to_ns);
	}
	row->ran_ns += (took - own.suspended) * piece->weight;
	row->on_cpu_ns += own.on_cpu * piece->weight;
	row->runnable_ns += own.preempted * piece->weight;
	if (!own.suspended)
		return 0;
	row = path_row_of(walk, path_text(walk, OTHER_STACK), track);
	if (!row)
		return -ENOMEM;
	row->ran_ns += own.suspended * piece->weight;
	row->on_cpu_ns +=
		(all.on_cpu - MIN(all.on_cpu, own.on_cpu)) * piece->weight;
	row->runnable_ns +=
		(all.preempted - MIN(all.preempted, own.preempted)) *
		piece->weight;
	return 0;
}

static int keep_slice(struct path_walk *walk, const struct trace_track *track,
		      uint32_t function, enum path_kind kind,
		      const struct path_piece *piece)
{
	struct critical_path *path = walk->path;

	if (grow_array_from(&path->budget, path->slices, path->slice_room,
			    path->slice_count + 1))
		return -ENOMEM;
	path->slices[path->slice_count++] = (struct path_slice){
		.from_ns = piece->from_ns,
		.to_ns = piece->to_ns,
		.function = function,
		.thread = path_text(
			walk, trace_reader_text(walk->calls, track->name)),
		.tid = (uint32_t)track->tid,
		.kind = kind,
	};
	return 0;
}

static int compare_path_slices(const void *left, const void *right)
{
	const struct path_slice *a = left, *b = right;

	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int count_piece(struct path_walk *walk, const struct trace_track *track,
		       uint32_t function, enum path_kind kind,
		       const struct path_piece *piece)
{
	uint64_t ns = (piece->to_ns - piece->from_ns) * piece->weight;
	struct path_row *row;

	if (walk->keeps_slices &&
	    keep_slice(walk, track, function, kind, piece))
		return -ENOMEM;
	if (kind == PATH_RAN)
		return count_run(walk, track, function, piece);
	row = path_row_of(walk, function, track);
	if (!row)
		return -ENOMEM;
	switch (kind) {
	case PATH_HAND_OVER:
		row->hand_over_ns += ns;
		break;
	case PATH_OUTSIDE:
		row->outside_ns += ns;
		break;
	default:
		row->unknown_ns += ns;
	}
	return 0;
}

/* Counts the pieces of @track up to @ns, where its innermost call changes. */
static int count_pieces_until(struct path_walk *walk,
			      const struct trace_track *track,
			      struct path_thread *thread, uint64_t ns)
{
	for (int kind = 0; kind < PATH_KINDS; kind++)
		while (thread->left[kind].at < thread->left[kind].end) {
			size_t *at = &thread->left[kind].at;
			struct path_piece *piece = &walk->pieces[*at];
			struct path_piece part = *piece;

			if (piece->from_ns >= ns)
				break;
			part.to_ns = MIN(piece->to_ns, ns);
			if (count_piece(walk, track,
					function_text(walk,
						      open_calls_innermost(
							      &thread->calls)),
					(enum path_kind)kind, &part))
				return -ENOMEM;
			piece->from_ns = part.to_ns;
			if (piece->to_ns > ns)
				break;
			++*at;
		}
	return 0;
}

/* Divides the pieces among calls. */
static int read_path_calls(struct path_walk *walk, const char *path,
			   const struct read_progress *progress)
{
	struct path_thread *thread;
	struct trace_event event;
	int err = trace_reader_open(path, &walk->calls);

	if (!err && progress)
		trace_reader_set_progress(walk->calls, progress);
	while (!err && trace_reader_next(walk->calls, &event) > 0) {
		if (!open_calls_change(&event))
			continue;
		thread = grow_array_at(walk->threads, walk->thread_room,
				       event.track->number);
		if (!thread)
			return -ENOMEM;
		err = count_pieces_until(walk, event.track, thread, event.ns)
			      ?: open_calls_take(&thread->calls, &event,
						 event.site ?: event.name);
	}
	for (uint32_t i = 0; !err && i < walk->thread_room; i++) {
		const struct trace_track *track =
			trace_reader_track(walk->calls, i);

		walk->threads[i].calls.depth = 0;
		if (track)
			err = count_pieces_until(walk, track, &walk->threads[i],
						 UINT64_MAX);
	}
	return err;
}

/* --- all of it ------------------------------------------------------------ */

static int walk_path(struct path_walk *walk, const char *path,
		     const struct path_wish *wish,
		     const struct read_progress *progress)
{
	int err = all_waits_read(path, progress, &walk->sched, &walk->waits);

	if (err)
		return err;
	walk->path->met_thread = true;
	for (size_t i = 0; i < wish->call_count && !err; i++)
		err = walk_call(walk, &wish->calls[i]);
	if (!err && !wish->call_count)
		err = walk_run(walk, wish);
	if (!err)
		err = make_pieces(walk);
	if (!err)
		err = read_path_calls(walk, path, progress);
	if (walk->path->slice_count)
		qsort(walk->path->slices, walk->path->slice_count,
		      sizeof(*walk->path->slices), compare_path_slices);
	walk->path->has_switches = walk->sched;
	walk->path->err = walk->waits->err;
	walk->path->totals = walk->waits->totals;
	return err;
}

int critical_path_read(const char *file, const struct path_wish *wish,
		       const struct read_progress *progress,
		       struct critical_path **out)
{
	struct critical_path *path = calloc(1, sizeof(*path));
	struct path_walk walk = { .path = path,
				  .keeps_slices = wish->keeps_slices };
	int err;

	if (!path)
		return -ENOMEM;
	path->budget.left = MEMORY_MAX;
	pool_init(&path->rows, &path->budget, sizeof(struct path_row),
		  offsetof(struct path_row, ran_ns));
	pool_init(&path->hand_overs, &path->budget,
		  sizeof(struct path_hand_over),
		  offsetof(struct path_hand_over, times));
	pool_init(&path->stops, &path->budget, sizeof(struct path_stop),
		  offsetof(struct path_stop, times));
	err = trace_texts_init(&path->texts, &path->budget);
	if (!err)
		err = walk_path(&walk, file, wish, progress);
	/* Rows without their names would be one. */
	if (!err && path->texts.refused)
		err = -ENOMEM;
	for (uint32_t i = 0; walk.threads && i < walk.thread_room; i++)
		free(walk.threads[i].calls.values);
	free(walk.threads);
	free(walk.pieces);
	free(walk.edges);
	free(walk.texts);
	trace_reader_close(&walk.calls);
	trace_sched_free(&walk.sched);
	trace_waits_free(&walk.waits);
	if (err)
		critical_path_free(&path);
	else
		*out = path;
	return err;
}

void critical_path_free(struct critical_path **path_ptr)
{
	struct critical_path *path = *path_ptr;

	*path_ptr = NULL;
	if (!path)
		return;
	pool_release(&path->rows);
	pool_release(&path->hand_overs);
	pool_release(&path->stops);
	trace_texts_release(&path->texts);
	free(path->slices);
	free(path);
}
