/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_sched - a switch ends the stretch of the thread that leaves the CPU,
 * and begins that of the one that comes. The file has the switches of one CPU
 * in order, and those of two CPUs are not: so the stretches of each thread are
 * sorted in the end.
 *
 * Where switches of some CPU are missing, any thread that is on no CPU may have
 * been on that one. So nothing is known of it from there to its own next
 * stretch.
 */
#include "collector/read/trace_sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/read/trace_switches.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

#define BUDGET_BYTES (UINT64_C(512) << 20) /* 22 million stretches */
#define LOSSES_MAX 65536u

struct sched_thread {
	int64_t tid;
	struct trace_stretch *stretches;
	uint32_t count, room;
};

/* Switches of some CPU are missing. */
struct loss {
	uint64_t from, to;
};

struct trace_sched {
	struct budget budget;
	struct pool threads; /* of struct sched_thread */
	struct trace_switches switches;
	/* Of each CPU: since when its thread is there; and the loss whose end
	 * is not known, + 1. */
	struct {
		uint64_t since;
		uint32_t loss;
	} cpus[TRACE_CPUS_MAX];
	struct loss *losses; /* in the end: in order, apart from each other */
	uint32_t loss_count, loss_room;
	uint64_t known_until; /* what found no room is later */
	/* The file has the switches of all CPUs up to here: of a thread that is
	 * on no CPU nothing is known later. */
	uint64_t whole_until;
	uint64_t refused;
};

/* --- reading --- */

static void refuse(struct trace_sched *sched, uint64_t ns)
{
	sched->refused++;
	sched->known_until = MIN(sched->known_until, ns);
}

/* The thread that leaves its CPU was there since its stretch began. */
static void end_stretch(struct trace_sched *sched,
			const struct trace_switch *now)
{
	const struct sched_thread wanted = { .tid = now->left };
	uint64_t since = sched->cpus[now->cpu].since;
	struct sched_thread *thread;
	uint32_t number;

	if (pool_intern(&sched->threads, &wanted, &number) < 0) {
		refuse(sched, since);
		return;
	}
	thread = &((struct sched_thread *)sched->threads.items)[number];
	if (grow_array_from(&sched->budget, thread->stretches, thread->room,
			    thread->count + 1)) {
		refuse(sched, since);
		return;
	}
	thread->stretches[thread->count++] =
		(struct trace_stretch){ since, now->ns, now->cpu,
					(uint32_t)now->why };
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
	uint32_t loss = sched->cpus[now->cpu].loss;

	if (now->left)
		end_stretch(sched, now);
	sched->cpus[now->cpu].since = now->ns;
	if (loss)
		sched->losses[loss - 1].to = now->ns;
	sched->cpus[now->cpu].loss = 0;
	if (now->lost)
		begin_loss(sched, now);
}

static void take_packet(struct trace_sched *sched,
			struct trace_packets *packets,
			const struct trace_packet_bytes *bytes)
{
	struct wire fields = { bytes->at, bytes->at + bytes->count };
	struct trace_switch now;
	struct wire_field field;

	while (wire_next(&fields, &field)) {
		if (field.tag == TAG_TRACE_PACKET_COMPRESSED_PACKETS) {
			/* The reader of the calls says what is damaged. */
			if (field.bytes)
				(void)trace_packets_unpack(packets, field.bytes,
							   field.value);
			return;
		}
		if (field.tag != TAG_TRACE_PACKET_FTRACE_EVENTS)
			continue;
		trace_switches_begin(&sched->switches, wire_of(&field));
		while (trace_switches_next(&sched->switches, &now))
			take_switch(sched, &now);
	}
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
	/* No thread is on two CPUs; a file may say so. */
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

/* Losses that overlap become one. */
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

static void finish(struct trace_sched *sched)
{
	struct sched_thread *threads = sched->threads.items;

	for (uint32_t i = 0; i < sched->threads.count; i++)
		sort_thread(&threads[i]);
	join_losses(sched);
	/* A recording that ends has a switch then on each CPU that it had
	 * switches of. */
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
	return sched;
}

int trace_sched_read(const char *path, const struct read_progress *progress,
		     struct trace_sched **out)
{
	struct trace_packets *packets = NULL;
	struct trace_packet_bytes bytes;
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
	while (trace_packets_next(packets, &bytes) > 0)
		take_packet(sched, packets, &bytes);
	trace_packets_close(&packets);
	finish(sched);
	if (!sched->switches.count)
		trace_sched_free(&sched);
	*out = sched;
	return 0;
}

void trace_sched_free(struct trace_sched **sched)
{
	struct trace_sched *self = *sched;
	struct sched_thread *threads;

	if (!self)
		return;
	threads = self->threads.items;
	for (uint32_t i = 0; i < self->threads.count; i++)
		free(threads[i].stretches);
	pool_release(&self->threads);
	free(self->losses);
	free(self);
	*sched = NULL;
}

/* --- what a caller asks --- */

uint32_t trace_sched_stretches(const struct trace_sched *sched, int64_t tid,
			       const struct trace_stretch **out)
{
	const struct sched_thread *threads = sched->threads.items;
	const struct sched_thread wanted = { .tid = tid };
	uint32_t number;

	*out = NULL;
	if (!pool_find(&sched->threads, &wanted, &number))
		return 0;
	*out = threads[number].stretches;
	return threads[number].count;
}

/* From when on nothing is known of a thread that is on no CPU between @from and
 * @to; at most @to. */
static uint64_t first_unknown(const struct trace_sched *sched, uint64_t from,
			      uint64_t to)
{
	uint32_t low = 0, high = sched->loss_count;

	/* The first loss that ends after @from. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sched->losses[middle].to <= from)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == sched->loss_count)
		return to;
	return MIN(to, MAX(from, sched->losses[low].from));
}

/* Adds the time from @from to @to, in which a thread was on no CPU; it left one
 * with @before. */
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

/* The first of @count stretches that ends after @ns; @count: none does. */
static uint32_t find_stretch(const struct trace_stretch *at, uint32_t count,
			     uint64_t ns)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (at[middle].to <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
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

uint64_t trace_sched_switches(const struct trace_sched *sched)
{
	return sched->switches.count;
}

uint64_t trace_sched_refused(const struct trace_sched *sched)
{
	return sched->refused;
}
