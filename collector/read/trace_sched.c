/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_sched - a switch ends the stretch of the thread that leaves the CPU,
 * and begins a stretch of the next thread. The file has the switches of each
 * CPU in order, but CPUs are not in order, so the stretches of each thread are
 * sorted at the end.
 *
 * If switches of a CPU are missing, any thread without a CPU may have run on
 * it. So the state of such a thread is unknown from there to its next stretch.
 */
#include "collector/read/trace_sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/base/search.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_read.h"
#include "collector/read/trace_switches.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

#define BUDGET_BYTES (UINT64_C(512) << 20) /* 22 million stretches */
#define LOSSES_MAX 65536u

/* The stretches of a thread on CPUs, or the suspensions of a stack; "why" is 1
 * if the stack also ran then. */
struct sched_thread {
	int64_t tid; /* or the uuid of the stack's track */
	struct trace_stretch *stretches;
	uint32_t count, room;
};

/* Switches of some CPU are missing. */
struct loss {
	uint64_t from, to;
};

struct trace_sched {
	struct budget budget;
	struct pool threads;
	struct pool stacks; /* struct sched_thread: suspensions by stack */
	bool has_stacks; /* the trace describes tracks of suspensions */
	struct trace_switches switches;
	/* For each CPU, the start of the current stretch, and the number of the
	 * current loss + 1, or 0. */
	struct {
		uint64_t since;
		uint32_t loss;
	} cpus[TRACE_CPUS_MAX];
	struct loss *losses; /* sorted and disjoint at the end */
	uint32_t loss_count, loss_room;
	uint64_t known_until; /* all stretches without room are later */
	/* End of the complete switches of all CPUs: the state of a thread
	 * without a CPU is unknown later. */
	uint64_t whole_until;
	uint64_t refused;
};

/* --- reading --- */

static void refuse(struct trace_sched *sched, uint64_t ns)
{
	sched->refused++;
	sched->known_until = MIN(sched->known_until, ns);
}

static void add_stretch(struct trace_sched *sched, struct pool *pool,
			int64_t id, const struct trace_stretch *stretch)
{
	const struct sched_thread wanted = { .tid = id };
	struct sched_thread *thread;
	uint32_t number;

	if (pool_intern(pool, &wanted, &number) < 0) {
		refuse(sched, stretch->from);
		return;
	}
	thread = &((struct sched_thread *)pool->items)[number];
	if (grow_array_from(&sched->budget, thread->stretches, thread->room,
			    thread->count + 1)) {
		refuse(sched, stretch->from);
		return;
	}
	thread->stretches[thread->count++] = *stretch;
}

static void begin_loss(struct trace_sched *sched,
		       const struct trace_switch *now)
{
	if (sched->loss_count == LOSSES_MAX ||
	    grow_array_from(&sched->budget, sched->losses, sched->loss_room,
			    sched->loss_count + 1)) {
		refuse(sched, now->ns);
		return;
	}
	sched->losses[sched->loss_count++] =
		(struct loss){ now->ns, UINT64_MAX };
	sched->cpus[now->cpu].loss = sched->loss_count;
}

static void take_switch(struct trace_sched *sched,
			const struct trace_switch *now)
{
	const struct trace_stretch stretch = { sched->cpus[now->cpu].since,
					       now->ns, now->cpu,
					       (uint32_t)now->why };
	uint32_t loss = sched->cpus[now->cpu].loss;

	if (now->left)
		add_stretch(sched, &sched->threads, now->left, &stretch);
	sched->cpus[now->cpu].since = now->ns;
	if (loss)
		sched->losses[loss - 1].to = now->ns;
	sched->cpus[now->cpu].loss = 0;
	if (now->lost)
		begin_loss(sched, now);
}

static bool is_of_stack(struct wire fields)
{
	static const char name[] = OUT_TRACK_SUSPENDED;
	struct wire_field field;

	while (wire_next(&fields, &field))
		if (field.tag == TAG_TRACK_DESCRIPTOR_NAME)
			return field.value == sizeof(name) - 1 &&
			       memcmp(field.bytes, name, field.value) == 0;
	return false;
}

static void take_packet(struct trace_sched *sched,
			const struct trace_packet_bytes *bytes)
{
	struct wire fields = { bytes->at, bytes->at + bytes->count };
	struct trace_switch now;
	struct wire_field field;

	while (wire_next(&fields, &field)) {
		if (field.tag == TAG_TRACE_PACKET_TRACK_DESCRIPTOR)
			sched->has_stacks |= is_of_stack(wire_of(&field));
		if (field.tag != TAG_TRACE_PACKET_FTRACE_EVENTS)
			continue;
		trace_switches_begin(&sched->switches, wire_of(&field));
		while (trace_switches_next(&sched->switches, &now))
			take_switch(sched, &now);
	}
}

/* Reads the suspensions of stacks. They are normal slices, and rare, so the
 * trace is read a second time only if it has any. */
static int read_stacks(struct trace_sched *sched, const char *path)
{
	struct trace_reader *trace;
	struct trace_event event;
	int err = trace_reader_open(path, &trace);

	if (err)
		return err;
	while ((err = trace_reader_next(trace, &event)) > 0) {
		struct trace_stretch stretch = { .to = event.ns };
		const char *name = trace_reader_text(trace, event.name);

		if (event.kind != TRACE_END || !event.track ||
		    !event.track->suspends)
			continue;
		stretch.from = event.slice->begin_ns;
		stretch.why = strcmp(name, OUT_SUSPENDED) != 0;
		add_stretch(sched, &sched->stacks, (int64_t)event.track->parent,
			    &stretch);
	}
	trace_reader_close(&trace);
	return err == -EBADMSG ? 0 : err;
}

/* --- the end of reading --- */

static int compare_stretches(const void *left, const void *right)
{
	const struct trace_stretch *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static bool is_sorted(const struct sched_thread *thread)
{
	for (uint32_t i = 1; i < thread->count; i++)
		if (compare_stretches(&thread->stretches[i - 1],
				      &thread->stretches[i]) > 0)
			return false;
	return true;
}

static void sort_thread(struct sched_thread *thread)
{
	struct trace_stretch *at = thread->stretches;

	if (!is_sorted(thread))
		qsort(at, thread->count, sizeof(*at), compare_stretches);
	/* A hostile file may have a thread on two CPUs. */
	for (uint32_t i = 1; i < thread->count; i++) {
		at[i].from = MAX(at[i].from, at[i - 1].to);
		at[i].to = MAX(at[i].to, at[i].from);
	}
}

static int compare_losses(const void *left, const void *right)
{
	const struct loss *a = left, *b = right;

	return a->from < b->from ? -1 : a->from > b->from;
}

static void join_losses(struct trace_sched *sched)
{
	struct loss *at = sched->losses;
	uint32_t kept = 0;

	if (!sched->loss_count)
		return;
	qsort(at, sched->loss_count, sizeof(*at), compare_losses);
	for (uint32_t i = 1; i < sched->loss_count; i++) {
		if (at[i].from <= at[kept].to)
			at[kept].to = MAX(at[kept].to, at[i].to);
		else
			at[++kept] = at[i];
	}
	sched->loss_count = kept + 1;
}

static void sort_threads(const struct pool *pool)
{
	struct sched_thread *threads = pool->items;

	for (uint32_t i = 0; i < pool->count; i++)
		sort_thread(&threads[i]);
}

static void finish(struct trace_sched *sched)
{
	sort_threads(&sched->threads);
	sort_threads(&sched->stacks);
	join_losses(sched);
	/* At its end a recording writes a switch on each CPU that had
	 * switches. */
	for (uint32_t i = 0; i < TRACE_CPUS_MAX; i++)
		if (sched->switches.cpus[i].last_ns)
			sched->whole_until =
				MIN(sched->whole_until,
				    sched->switches.cpus[i].last_ns);
}

static struct trace_sched *make_sched(void)
{
	struct trace_sched *sched = calloc(1, sizeof(*sched));

	if (!sched)
		return NULL;
	sched->budget.left = BUDGET_BYTES;
	sched->known_until = sched->whole_until = UINT64_MAX;
	pool_init(&sched->threads, &sched->budget, sizeof(struct sched_thread),
		  sizeof(int64_t));
	pool_init(&sched->stacks, &sched->budget, sizeof(struct sched_thread),
		  sizeof(int64_t));
	return sched;
}

/* Sets *@out to the parts of the trace that may have switches, for the caller to
 * free, and returns their number; 0: no memory. */
static size_t find_switches(const struct trace_index *index,
			    struct file_stretch **out)
{
	struct file_stretch *list =
		calloc((size_t)index->extent_count + 1, sizeof(*list));
	uint64_t end = 0;
	size_t count = 0;

	for (uint32_t i = 0; list && i < index->extent_count &&
			     index->extents[i].end <= index->trace_bytes;
	     i++) {
		const struct index_extent *extent = &index->extents[i];

		end = extent->end;
		if (extent->sched_last_ns)
			list[count++] = (struct file_stretch){ extent->offset,
							       extent->end };
	}
	if (list)
		list[count++] = (struct file_stretch){ end, UINT64_MAX };
	*out = list;
	return count;
}

static int read_switches(struct trace_sched *sched,
			 struct trace_packets *packets,
			 const struct trace_index *index)
{
	struct file_stretch *stretches = NULL;
	struct trace_packet_bytes bytes;
	int err;

	for (uint32_t i = 0; index && i < index->packet_count; i++)
		if (index->packets[i].kind == INDEX_PACKET)
			take_packet(sched, &(struct trace_packet_bytes){
						   index->packets[i].at,
						   index->packets[i].count });
	if (index) {
		size_t count = find_switches(index, &stretches);

		if (!count)
			return -ENOMEM;
		trace_packets_only(packets, stretches, count);
	}
	while ((err = trace_packets_next(packets, &bytes)) > 0)
		take_packet(sched, &bytes);
	free(stretches);
	return err == -EBADMSG ? 0 : err;
}

int trace_sched_read(const char *path, const struct trace_index *index,
		     const struct read_progress *progress,
		     struct trace_sched **out)
{
	struct trace_packets *packets = NULL;
	struct trace_sched *sched;
	int err = trace_packets_open(path, &packets);

	if (err)
		return err;
	sched = make_sched();
	if (!sched) {
		trace_packets_close(&packets);
		return -ENOMEM;
	}
	if (progress)
		trace_packets_set_progress(packets, progress);
	err = read_switches(sched, packets,
			    index && index->has_rest ? index : NULL);
	trace_packets_close(&packets);
	if (!err && sched->switches.count && sched->has_stacks)
		err = read_stacks(sched, path);
	finish(sched);
	if (err || !sched->switches.count)
		trace_sched_free(&sched);
	if (!err)
		*out = sched;
	return err;
}

static void free_threads(struct pool *pool)
{
	struct sched_thread *threads = pool->items;

	for (uint32_t i = 0; i < pool->count; i++)
		free(threads[i].stretches);
	pool_release(pool);
}

void trace_sched_free(struct trace_sched **sched)
{
	struct trace_sched *self = *sched;

	if (!self)
		return;
	free_threads(&self->threads);
	free_threads(&self->stacks);
	free(self->losses);
	free(self);
	*sched = NULL;
}

/* --- queries --- */

static uint32_t find_stretches(const struct pool *pool, int64_t id,
			       const struct trace_stretch **out)
{
	const struct sched_thread *threads = pool->items;
	const struct sched_thread wanted = { .tid = id };
	uint32_t number;

	*out = NULL;
	if (!pool_find(pool, &wanted, &number))
		return 0;
	*out = threads[number].stretches;
	return threads[number].count;
}

uint32_t trace_sched_stretches(const struct trace_sched *sched, int64_t tid,
			       const struct trace_stretch **out)
{
	return find_stretches(&sched->threads, tid, out);
}

/* Returns when the state of a thread without a CPU between @from and @to
 * becomes unknown; at most @to. */
static uint64_t first_unknown(const struct trace_sched *sched, uint64_t from,
			      uint64_t to)
{
	uint32_t low =
		search_first(i, sched->loss_count, sched->losses[i].to > from);

	if (low == sched->loss_count)
		return to;
	return MIN(to, MAX(from, sched->losses[low].from));
}

/* Adds the time from @from to @to of a thread without a CPU, which left its
 * last CPU with @before. */
static void add_gap(const struct trace_sched *sched,
		    const struct trace_stretch *before, uint64_t from,
		    uint64_t to, struct trace_sched_sums *sums)
{
	uint64_t known = first_unknown(sched, before->to, to);

	known = MAX(MIN(known, sched->whole_until), from);
	if (before->why == TRACE_LEFT_PREEMPTED)
		sums->preempted += known - from;
	else if (before->why == TRACE_LEFT_WAITS)
		sums->waited += known - from;
	else
		known = from;
	sums->unknown += to - known;
}

/* Returns the first of @count stretches that ends after @ns; @count: none. */
static uint32_t find_stretch(const struct trace_stretch *at, uint32_t count,
			     uint64_t ns)
{
	return search_first(i, count, at[i].to > ns);
}

struct trace_sched_sums trace_sched_between(const struct trace_sched *sched,
					    int64_t tid, uint64_t from,
					    uint64_t to)
{
	uint64_t end = MIN(to, sched->known_until);
	struct trace_sched_sums sums = { .unknown =
						 to - MIN(to, MAX(from, end)) };
	const struct trace_stretch *at;
	uint32_t count = trace_sched_stretches(sched, tid, &at);
	uint32_t i = find_stretch(at, count, from);

	if (!count) {
		sums.unknown = to - MIN(to, from);
		return sums;
	}
	while (from < end) {
		uint64_t next =
			i < count ? MIN(end, MAX(from, at[i].from)) : end;

		if (!i)
			sums.unknown += next - from;
		else if (next > from)
			add_gap(sched, &at[i - 1], from, next, &sums);
		if (i == count || next == end)
			break;
		from = MIN(end, at[i].to);
		sums.on_cpu += from - next;
		i++;
	}
	return sums;
}

struct trace_sched_sums trace_sched_of_stack(const struct trace_sched *sched,
					     uint64_t uuid, int64_t tid,
					     uint64_t from, uint64_t to)
{
	struct trace_sched_sums sums =
		trace_sched_between(sched, tid, from, to);
	const struct trace_stretch *at;
	uint32_t count = find_stretches(&sched->stacks, (int64_t)uuid, &at);

	for (uint32_t i = find_stretch(at, count, from);
	     from < to && i < count && at[i].from < to; i++) {
		uint64_t begin = MAX(from, at[i].from), end = MIN(to, at[i].to);
		struct trace_sched_sums away =
			trace_sched_between(sched, tid, begin, end);

		sums.on_cpu -= away.on_cpu;
		sums.preempted -= away.preempted;
		sums.waited -= away.waited;
		sums.unknown -= away.unknown;
		if (at[i].why)
			sums.unknown += end - begin;
		else
			sums.suspended += end - begin;
	}
	return sums;
}

uint64_t trace_sched_switches(const struct trace_sched *sched)
{
	return sched->switches.count;
}

uint64_t trace_sched_refused(const struct trace_sched *sched)
{
	return sched->refused;
}
