/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of triggers: events of many threads arrive complete. When the queue
 * is full, it keeps the time span of the rest.
 */
#include <pthread.h>

#include "collector/record/flight_queue.h"
#include "shared/atomic.h"
#include "tests/suite.h"

#define ROOM 256 /* same as in flight_queue.c */

static struct flight_event event_of(uint64_t begin_ns, uint64_t end_ns)
{
	struct flight_event event = { .cause = FLIGHT_CALL,
				      .begin_ns = begin_ns,
				      .end_ns = end_ns,
				      .value = (int64_t)(end_ns - begin_ns) };

	snprintf(event.what, sizeof(event.what), "f%llu",
		 (unsigned long long)begin_ns);
	return event;
}

TEST(flight_queue_gives_events_in_order)
{
	struct flight_queue *queue = flight_queue_new();
	struct flight_event out;
	struct flight_rest rest;

	ck_assert_ptr_nonnull(queue);
	ck_assert(!flight_queue_take(queue, &out));
	ck_assert(flight_queue_is_empty(queue));
	/* Wraps around the queue. */
	for (uint64_t i = 0; i < 3 * ROOM; i++) {
		struct flight_event event = event_of(i, i + 5);

		flight_queue_put(queue, &event);
		if (i % 2)
			continue;
		ck_assert(flight_queue_take(queue, &out));
		ck_assert_uint_eq(out.begin_ns, i / 2);
		ck_assert_uint_eq(out.end_ns, i / 2 + 5);
		event = event_of(i / 2, i / 2 + 5);
		ck_assert_str_eq(out.what, event.what);
		if (i / 2 == ROOM - 2)
			break;
	}
	ck_assert(!flight_queue_rest(queue, &rest));
	flight_queue_free(&queue);
	ck_assert_ptr_null(queue);
}

TEST(flight_queue_tells_when_what_found_no_room_was)
{
	struct flight_queue *queue = flight_queue_new();
	struct flight_event out, event;
	struct flight_rest rest;

	for (uint64_t i = 0; i < ROOM; i++) {
		event = event_of(1000 + i, 1001 + i);
		flight_queue_put(queue, &event);
	}
	ck_assert(!flight_queue_rest(queue, &rest));
	event = event_of(5000, 6000);
	flight_queue_put(queue, &event);
	event = event_of(4000, 5500);
	flight_queue_put(queue, &event);
	ck_assert(flight_queue_rest(queue, &rest));
	ck_assert_uint_eq(rest.begin_ns, 4000);
	ck_assert_uint_eq(rest.end_ns, 6000);
	ck_assert_uint_eq(rest.count, 2);
	ck_assert(!flight_queue_rest(queue, &rest));
	for (uint64_t i = 0; i < ROOM; i++) {
		ck_assert(flight_queue_take(queue, &out));
		ck_assert_uint_eq(out.begin_ns, 1000 + i);
	}
	ck_assert(!flight_queue_take(queue, &out));
	flight_queue_free(&queue);
}

TEST(flight_queue_takes_an_end_before_the_begin_for_a_moment)
{
	struct flight_queue *queue = flight_queue_new();
	struct flight_event out, event = event_of(100, 100);

	event.end_ns = 7;
	flight_queue_put(queue, &event);
	ck_assert(!flight_queue_is_empty(queue));
	ck_assert(flight_queue_take(queue, &out));
	ck_assert_uint_eq(out.begin_ns, 100);
	ck_assert_uint_eq(out.end_ns, 100);
	flight_queue_free(&queue);
}

#define THREADS 4
#define PUTS 5000u

struct putter {
	struct flight_queue *queue;
	uint32_t number;
};

/* An event holds its thread and count three times, to show torn ones. */
static void *put_many(void *of)
{
	const struct putter *putter = of;

	for (uint32_t i = 0; i < PUTS; i++) {
		uint64_t id = 1 + i + (uint64_t)putter->number * PUTS;
		struct flight_event event = event_of(id, 2 * id);

		event.bound = (int64_t)id;
		flight_queue_put(putter->queue, &event);
	}
	return NULL;
}

struct taken {
	uint64_t events, last[THREADS];
	uint64_t rest;
};

static void take_all(struct flight_queue *queue, struct taken *taken)
{
	struct flight_event event, want;
	struct flight_rest rest;

	while (flight_queue_take(queue, &event)) {
		uint64_t id = event.begin_ns;
		uint64_t *last = &taken->last[(id - 1) / PUTS];

		want = event_of(id, 2 * id);
		ck_assert_uint_eq(event.end_ns, want.end_ns);
		ck_assert_int_eq(event.bound, (int64_t)id);
		ck_assert_str_eq(event.what, want.what);
		ck_assert_uint_gt(id, *last);
		*last = id;
		taken->events++;
	}
	if (flight_queue_rest(queue, &rest)) {
		ck_assert_uint_le(rest.begin_ns, rest.end_ns);
		taken->rest += rest.count;
	}
}

TEST(flight_queue_loses_nothing_of_many_threads)
{
	struct flight_queue *queue = flight_queue_new();
	struct putter putters[THREADS];
	struct taken taken = { 0 };
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		putters[i] = (struct putter){ queue, i };
		pthread_create(&threads[i], NULL, put_many, &putters[i]);
	}
	for (int i = 0; i < 1000; i++)
		take_all(queue, &taken);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	take_all(queue, &taken);
	ck_assert_uint_eq(taken.events + taken.rest, THREADS * PUTS);
	ck_assert_uint_ge(taken.events, ROOM);
	flight_queue_free(&queue);
}

TEST(flight_queue_names_each_cause)
{
	for (int i = 0; i < FLIGHT_CAUSES; i++)
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(
				flight_cause_name((enum flight_cause)i),
				flight_cause_name((enum flight_cause)j));
}
