/* SPDX-License-Identifier: Apache-2.0
 *
 * async_slices - the open slices of a process, by track and handle.
 *
 *   BEGIN   uses the first free lane of its track; if a slice with the same
 *           handle is open, the new slice lies inside that slice
 *   END     ends the innermost slice with its handle; an END without a BEGIN is
 *           withheld
 *   ENTER, LEAVE  see async_stays.c
 *
 * The end of a process ends its open slices.
 *
 * The budget of the recording pays for all memory: slices, their lanes, and
 * both hash tables, which grow to keep the buckets short. Events without budget
 * are withheld and counted. Only the END of an open slice is always kept.
 */
#include "collector/drain/async_slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/pool.h"
#include "collector/drain/async_lanes.h"
#include "collector/drain/async_stays.h"
#include "collector/names/sites.h"
#include "collector/record/recording.h"
#include "collector/replay/order.h"
#include "shared/atomic.h"

#define ORDER_BYTES (64ULL << 20)
#define BUCKETS_MIN 256u
/* Overhead of malloc() per block. */
#define MALLOC_BYTES 16

#define CHUNK_SLICES 200

/* Slices come and go, so chunks are freed together, at the end. */
struct slice_chunk {
	struct slice_chunk *next;
	struct open_slice slice[CHUNK_SLICES];
};

struct site_sums {
	const struct site *site; /* the key */
	struct async_sums sums;
};

#define SITE_UNLISTED UINT32_MAX

struct async_slices {
	struct recording *recording; /* outlives it */
	struct budget *budget; /* of the recording */
	struct order *order;
	uint64_t withheld; /* by feeders; relaxed */

	/* Owned by the consumer. */
	struct async_lanes lanes;
	uint64_t last_ns;
	/* A hash table; the number of buckets is a power of two. */
	struct open_slice **open;
	uint32_t open_count, open_buckets;
	struct open_slice *unused;
	struct slice_chunk *chunks;
	struct pool sites; /* struct site_sums */
	struct stays_counts stays;
	struct async_counts counts;
};

/* The events of one thread. The consumer frees it after the last event. */
struct async_feed {
	struct async_thread thread; /* the consumer's; first member:
				     * consume_event() */
	struct async_slices *slices;
	struct order_stream *stream;
	struct async_event gone; /* the last event */
};

static size_t event_bytes(const struct async_event *event)
{
	return sizeof(*event) + MALLOC_BYTES + note_bytes(event->note);
}

/* --- slices -------------------------------------------------------------- */

/* Returns false if there is no table. */
static bool grow_open(struct async_slices *slices)
{
	uint32_t before = slices->open_buckets;
	uint32_t buckets = before ? 2 * before : BUCKETS_MIN;
	struct open_slice **table;

	if (slices->open_count < before)
		return true;
	table = lanes_take_memory(&slices->lanes,
				  buckets * sizeof(struct open_slice *));
	if (!table)
		return before;
	for (uint32_t i = 0; i < before; i++) {
		/* Splits a bucket in two. Both keep the latest slice first. */
		struct open_slice **tail[2] = { &table[i], &table[i + before] };
		struct open_slice *slice = slices->open[i];

		for (; slice; slice = slice->next) {
			uint32_t to = lanes_bucket(&slices->lanes, slice->key,
						   slice->handle, buckets) != i;

			*tail[to] = slice;
			tail[to] = &slice->next;
		}
		*tail[0] = *tail[1] = NULL;
	}
	lanes_give_memory(&slices->lanes, slices->open,
			  before * sizeof(struct open_slice *));
	slices->open = table;
	slices->open_buckets = buckets;
	return true;
}

static struct open_slice *take_free_slice(struct async_slices *slices)
{
	struct open_slice *slice = slices->unused;
	struct slice_chunk *chunk;

	if (slice) {
		slices->unused = slice->next;
		return slice;
	}
	chunk = lanes_take_memory(&slices->lanes, sizeof(*chunk));
	if (!chunk)
		return NULL;
	chunk->next = slices->chunks;
	slices->chunks = chunk;
	for (int i = 1; i < CHUNK_SLICES; i++) {
		chunk->slice[i].next = slices->unused;
		slices->unused = &chunk->slice[i];
	}
	return &chunk->slice[0];
}

static void give_free_slice(struct async_slices *slices,
			    struct open_slice *slice)
{
	if (!slice)
		return;
	slice->next = slices->unused;
	slices->unused = slice;
}

/* slices->open must exist. */
static struct open_slice **find_open_slice(struct async_slices *slices,
					   uint64_t key, uint64_t handle)
{
	struct open_slice **link = &slices->open[lanes_bucket(
		&slices->lanes, key, handle, slices->open_buckets)];

	while (*link && ((*link)->key != key || (*link)->handle != handle))
		link = &(*link)->next;
	return link;
}

static uint32_t list_site(struct async_slices *slices, const struct site *site)
{
	const struct site_sums sums = { .site = site };
	uint32_t number;

	return pool_intern(&slices->sites, &sums, &number) < 0 ? SITE_UNLISTED
							       : number;
}

static void begin_async_slice(struct async_slices *slices,
			      const struct async_event *event)
{
	const struct lane_edge edge = { .site = event->site,
					.note = event->note };
	struct open_slice *outer = NULL, *slice = NULL, **head;
	struct shared_track *track = NULL;
	struct lane *lane = NULL;

	if (grow_open(slices)) {
		outer = *find_open_slice(slices, event->key, event->handle);
		slice = take_free_slice(slices);
		track = outer ? outer->track
			      : lanes_track(&slices->lanes, event->track);
	}
	if (slice && track)
		lane = outer ? outer->lane : lanes_free(&slices->lanes, track);
	if (!lane || !lanes_put_begin(&slices->lanes, lane, &edge, event->ns)) {
		give_free_slice(slices, slice);
		slices->counts.withheld++;
		return;
	}
	head = &slices->open[lanes_bucket(&slices->lanes, event->key,
					  event->handle, slices->open_buckets)];
	*slice = (struct open_slice){ .next = *head,
				      .key = event->key,
				      .handle = event->handle,
				      .track = track,
				      .lane = lane,
				      .begin_ns = event->ns,
				      .site = list_site(slices, event->site) };
	*head = slice;
	slices->open_count++;
}

static void close_slice(struct async_slices *slices, struct open_slice **link,
			const struct async_event *event)
{
	struct open_slice *slice = *link;
	const struct lane_edge edge = { .site = event->site,
					.note = event->note,
					.sums = &slice->sums };
	struct site_sums *sites;

	*link = slice->next;
	stays_end(&slices->lanes, slice, event, &slices->stays);
	sites = slices->sites.items;
	slice->sums.count = 1;
	slice->sums.total_ns = event->ns - slice->begin_ns;
	if (slice->site == SITE_UNLISTED)
		slices->counts.unlisted++;
	else
		async_sums_add(&sites[slice->site].sums, &slice->sums);
	lanes_put_end(&slices->lanes, slice->track, slice->lane, &edge,
		      event->ns);
	give_free_slice(slices, slice);
	slices->open_count--;
}

/* --- the order ----------------------------------------------------------- */

static void consume_event(struct async_slices *slices,
			  struct async_event *event)
{
	event->ns = slices->last_ns = MAX(slices->last_ns, event->ns);
	switch (event->type) {
	case ASYNC_BEGIN:
		begin_async_slice(slices, event);
		break;
	case ASYNC_END: {
		struct open_slice **link =
			slices->open ? find_open_slice(slices, event->key,
						       event->handle)
				     : NULL;

		if (link && *link)
			close_slice(slices, link, event);
		else
			slices->counts.orphan_ends++;
		break;
	}
	case ASYNC_STEP:
		if (!lanes_step(&slices->lanes, event->track, event->site,
				event->step,
				event->at_ns ? event->at_ns : event->ns))
			slices->counts.withheld++;
		break;
	case ASYNC_ENTER: {
		struct open_slice *slice = NULL;

		if (slices->open)
			slice = *find_open_slice(slices, event->key,
						 event->handle);
		stays_enter(&slices->lanes, slice, event, &slices->stays);
		break;
	}
	case ASYNC_LEAVE:
		stays_leave(&slices->lanes, event, &slices->stays);
		break;
	case ASYNC_GONE: {
		/* The thread is the first member. */
		struct async_feed *feed = (struct async_feed *)event->thread;

		stays_gone(&slices->lanes, event, &slices->stays);
		free(feed); /* with the event */
		return;
	}
	}
	budget_give(slices->budget, event_bytes(event));
	note_free(event->note);
	free(event);
}

static void consume_events(void *context, const struct order_item *items,
			   size_t count)
{
	struct async_slices *slices = context;

	for (size_t i = 0; i < count; i++)
		consume_event(slices,
			      (struct async_event *)(uintptr_t)items[i].a);
	lanes_flush(&slices->lanes);
}

struct async_feed *async_slices_open(struct async_slices *slices)
{
	struct async_feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return NULL;
	feed->slices = slices;
	if (order_open(slices->order, &feed->stream) == 0)
		return feed;
	free(feed);
	return NULL;
}

void async_slices_feed(struct async_feed *feed, uint64_t clock,
		       const struct async_event *event)
{
	struct budget *budget = feed->slices->budget;
	size_t bytes = event_bytes(event);
	struct async_event *copy = NULL;

	if (budget_take(budget, bytes)) {
		copy = malloc(sizeof(*copy));
		if (!copy)
			budget_give(budget, bytes);
	}
	if (copy) {
		*copy = *event;
		copy->thread = &feed->thread;
		order_feed(feed->stream,
			   (struct order_item){ .clock = clock,
						.a = (uintptr_t)copy,
						.c = event->type });
		return;
	}
	/* relaxed: a counter */
	atom_add_rlx(&feed->slices->withheld, 1);
	note_free(event->note);
}

void async_slices_flush(struct async_feed *feed)
{
	order_flush(feed->stream);
}

void async_slices_close(struct async_feed **feed, uint64_t clock, uint64_t ns,
			const struct async_cpu *cpu)
{
	struct async_feed *old = *feed;
	struct order_stream *stream;

	*feed = NULL;
	if (!old)
		return;
	/* After the close, the consumer may free @old. */
	stream = old->stream;
	old->gone = (struct async_event){ .type = ASYNC_GONE,
					  .ns = ns,
					  .cpu = *cpu,
					  .thread = &old->thread };
	order_feed(stream, (struct order_item){ .clock = clock,
						.a = (uintptr_t)&old->gone,
						.c = ASYNC_GONE });
	order_close(&stream);
}

/* --- life ---------------------------------------------------------------- */

int async_slices_new(struct recording *recording, struct tracks *tracks,
		     pid_t pid, struct async_slices **out)
{
	struct budget *budget = recording_setup(recording)->budget;
	struct async_slices *slices = calloc(1, sizeof(*slices));

	if (!slices)
		return -ENOMEM;
	slices->recording = recording;
	slices->budget = budget;
	lanes_init(&slices->lanes, recording, tracks, pid);
	pool_init(&slices->sites, budget, sizeof(struct site_sums),
		  offsetof(struct site_sums, sums));
	if (order_new(budget, ORDER_BYTES, consume_events, slices,
		      &slices->order) < 0) {
		free(slices);
		return -ENOMEM;
	}
	*out = slices;
	return 0;
}

struct order *async_slices_order(struct async_slices *slices)
{
	return slices->order;
}

void async_slices_finish(struct async_slices *slices, uint64_t end_ns)
{
	const struct site_sums *sites;
	struct async_event event;

	order_release_all(slices->order);
	slices->last_ns = MAX(slices->last_ns, end_ns);
	/* A bucket has the slices of a lane innermost first. */
	event = (struct async_event){ .type = ASYNC_END,
				      .ns = slices->last_ns,
				      .cpu.on_ns = ASYNC_CPU_UNKNOWN };
	slices->counts.unended += slices->open_count;
	for (uint32_t i = 0; i < slices->open_buckets; i++)
		while (slices->open[i])
			close_slice(slices, &slices->open[i], &event);
	lanes_flush(&slices->lanes);
	sites = slices->sites.items;
	for (uint32_t i = 0; i < slices->sites.count; i++) {
		const struct async_total total = {
			.name = sites[i].site->name,
			.category = sites[i].site->category,
			.sums = sites[i].sums,
		};

		if (total.sums.count)
			recording_add_async(slices->recording, &total);
	}
	/* relaxed: feeders are done */
	slices->counts.withheld += atom_load_rlx(&slices->withheld);
}

struct async_counts async_slices_counts(struct async_slices *slices)
{
	struct async_counts counts = slices->counts;

	counts.odd_stays = slices->stays.odd;
	counts.withheld += slices->stays.withheld;
	counts.notes = slices->lanes.notes;
	return counts;
}

void async_slices_free(struct async_slices **slices)
{
	struct async_slices *old = *slices;
	struct slice_chunk *chunk;

	*slices = NULL;
	if (!old)
		return;
	order_release_all(old->order);
	order_put(&old->order);
	while ((chunk = old->chunks)) {
		old->chunks = chunk->next;
		lanes_give_memory(&old->lanes, chunk, sizeof(*chunk));
	}
	lanes_give_memory(&old->lanes, old->open,
			  old->open_buckets * sizeof(struct open_slice *));
	pool_release(&old->sites);
	lanes_release(&old->lanes);
	free(old);
}
