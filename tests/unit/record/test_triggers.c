/* SPDX-License-Identifier: Apache-2.0
 *
 * triggers: their causes and events. A trigger that always fires yields few
 * events that cover everything.
 */
#include "collector/record/triggers.h"
#include "tests/suite.h"

#include <pthread.h>
#include <signal.h>

#include "collector/options/trigger.h"
#include "collector/record/flight_queue.h"

#define MS UINT64_C(1000000)

static struct flight_queue *g_queue;
static struct triggers *g_triggers;
static struct trigger g_list[TRIGGERS_MAX];

static void begin(const char *const *texts, size_t count)
{
	struct expression_error error;

	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(trigger_parse(texts[i], &g_list[i], &error),
				 0);
	g_queue = flight_queue_new();
	ck_assert_ptr_nonnull(g_queue);
	ck_assert_int_eq(triggers_new(g_list, count, g_queue, &g_triggers), 0);
}

#define BEGIN(...)                                                  \
	do {                                                        \
		static const char *const texts[] = { __VA_ARGS__ }; \
		begin(texts, ARRAY_SIZE(texts));                    \
	} while (0)

static void end(void)
{
	triggers_free(&g_triggers);
	flight_queue_free(&g_queue);
}

static struct flight_event take(const char *trigger, const char *what)
{
	struct flight_event event;

	ck_assert(flight_queue_take(g_queue, &event));
	ck_assert_str_eq(event.trigger, trigger);
	ck_assert_str_eq(event.what, what);
	return event;
}

static void expect_none(void)
{
	struct flight_event event;

	ck_assert(!flight_queue_take(g_queue, &event));
}

static void call_that_waited(uint32_t set, uint64_t p99_ns, uint64_t begin_ns,
			     uint64_t ns, uint64_t waited_ns)
{
	const struct trigger_call call = { .set = set,
					   .function = "f",
					   .p99_ns = p99_ns,
					   .begin_ns = begin_ns,
					   .end_ns = begin_ns + ns,
					   .took_ns = ns - waited_ns,
					   .pid = 7,
					   .tid = 8 };

	triggers_call(g_triggers, &call);
}

static void call(uint32_t set, uint64_t p99_ns, uint64_t begin_ns, uint64_t ns)
{
	call_that_waited(set, p99_ns, begin_ns, ns, 0);
}

FIXTURE(NULL, end);

TEST(a_call_that_is_too_long_fires_the_first_trigger_of_its_function)
{
	struct flight_event event;
	uint32_t set;

	BEGIN("g > 1ms", "f > 10ms", "f* > 5ms", "@lib* > 1s");
	ck_assert(triggers_of_calls(g_triggers));
	ck_assert_uint_eq(triggers_of_function(g_triggers, "h", "/m"), 0);
	ck_assert_uint_eq(triggers_of_function(g_triggers, "h", "/libm.so"), 8);
	set = triggers_of_function(g_triggers, "f", "/m");
	ck_assert_uint_eq(set, 6);
	ck_assert_uint_eq(triggers_slow_ns(g_triggers, set, 0), 5 * MS + 1);
	call(set, 0, 100, 5 * MS);
	expect_none();
	call(set, 0, 100, 5 * MS + 1);
	event = take("f* > 5ms", "f");
	ck_assert_int_eq(event.cause, FLIGHT_CALL);
	ck_assert_uint_eq(event.begin_ns, 100);
	ck_assert_uint_eq(event.end_ns, 5 * MS + 101);
	ck_assert_int_eq(event.value, 5 * MS + 1);
	ck_assert_int_eq(event.bound, 5 * MS + 1);
	ck_assert_int_eq(event.pid, 7);
	ck_assert_int_eq(event.tid, 8);
	call(set, 0, 100, 11 * MS);
	(void)take("f > 10ms", "f");
	expect_none();
	ck_assert_uint_eq(triggers_fired(g_triggers), 2);
}

static bool call_with(uint32_t set, uint8_t held)
{
	const struct trigger_call call = { .set = set,
					   .held = held,
					   .function = "f",
					   .begin_ns = 100,
					   .end_ns = 100 + 2 * MS,
					   .took_ns = 2 * MS };

	return triggers_call(g_triggers, &call);
}

TEST(a_call_fires_only_if_all_conditions_of_the_trigger_hold)
{
	const struct argument_condition *const *list;
	const char *argument;
	size_t at = 0;
	uint32_t set;

	BEGIN("f(a > 1, b = 2) > 1ms", "f(c = x) > 1ms", "g(d = 1) > 1ms");
	ck_assert_uint_eq(triggers_conditions(g_triggers, &list), 4);
	ck_assert_str_eq(list[0]->name, "a");
	ck_assert_str_eq(list[2]->text, "x");
	set = triggers_of_function(g_triggers, "f", "/m");
	ck_assert_uint_eq(set, 3);
	ck_assert_uint_eq(triggers_slow_ns(g_triggers, set, 0), MS + 1);
	ck_assert(!call_with(set, 0));
	ck_assert(!call_with(set, 1));
	ck_assert(!call_with(set, 2 + 8));
	expect_none();
	ck_assert(call_with(set, 4));
	(void)take("f(c = x) > 1ms", "f");
	ck_assert(call_with(set, 1 + 2 + 4));
	(void)take("f(a > 1, b = 2) > 1ms", "f");
	expect_none();
	triggers_name_conditions(g_triggers, 1 + 4);
	ck_assert_str_eq(
		triggers_missing_argument(g_triggers, &at, &argument)->text,
		"f(a > 1, b = 2) > 1ms");
	ck_assert_str_eq(argument, "b");
	/* No program had g. */
	ck_assert_ptr_null(
		triggers_missing_argument(g_triggers, &at, &argument));
}

TEST(a_call_that_waited_for_the_collector_was_not_too_long)
{
	uint32_t set;

	BEGIN("f > 5ms");
	set = triggers_of_function(g_triggers, "f", "/m");
	call_that_waited(set, 0, 100, 500 * MS, 496 * MS);
	expect_none();
	call_that_waited(set, 0, 100, 500 * MS, 494 * MS);
	ck_assert_int_eq(take("f > 5ms", "f").value, 6 * MS);
}

TEST(a_relative_bound_follows_the_p99)
{
	uint32_t set;

	BEGIN("f > 5 x p99", "f >= 2*p99");
	set = triggers_of_function(g_triggers, "f", "/m");
	ck_assert_uint_eq(triggers_relative(g_triggers, set), 3);
	ck_assert_uint_eq(triggers_slow_ns(g_triggers, set, 0), UINT64_MAX);
	ck_assert_uint_eq(triggers_slow_ns(g_triggers, 1, 1000), 5001);
	ck_assert_uint_eq(triggers_slow_ns(g_triggers, 2, 1000), 2000);
	ck_assert_uint_eq(triggers_slow_ns(g_triggers, 3, UINT64_MAX),
			  UINT64_MAX);
	call(set, 0, 0, 1000 * MS);
	call(set, 1000, 0, 1999);
	expect_none();
	call(set, 1000, 0, 2000);
	(void)take("f >= 2*p99", "f");
	call(set, 1000, 0, 5001);
	(void)take("f > 5 x p99", "f");
	expect_none();
}

TEST(a_counter_fires_when_it_crosses_its_bound)
{
	static const struct {
		double value;
		int fires;
	} steps[] = { { 50, 0 },  { 101, 1 }, { 150, 0 }, { 100, 0 },
		      { 101, 1 }, { 2, 2 },   { 3, 0 },	  { 200, 1 } };
	const struct trigger_place place = { 5, 7, 8 };
	struct flight_event event;
	uint32_t set;

	BEGIN("counter q* > 100", "counter queue < 5", "counter other < 1000");
	set = triggers_of_counter(g_triggers, "queue");
	ck_assert_uint_eq(set, 3);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		triggers_counter(g_triggers, set, 7, &place, "queue",
				 steps[i].value);
		if (!steps[i].fires) {
			expect_none();
			continue;
		}
		event = take(steps[i].fires == 1 ? "counter q* > 100"
						 : "counter queue < 5",
			     "queue");
		ck_assert_int_eq(event.cause, FLIGHT_COUNTER);
		ck_assert_int_eq(event.value, (int64_t)steps[i].value);
		ck_assert_int_eq(event.bound, steps[i].fires == 1 ? 100 : 5);
		ck_assert_uint_eq(event.begin_ns, 5);
		ck_assert_uint_eq(event.end_ns, 5);
	}
	expect_none();
	/* A colliding entry of another thread. */
	triggers_counter(g_triggers, set, 7 + 1024, &place, "queue", 300);
	(void)take("counter q* > 100", "queue");
	triggers_counter(g_triggers, set, 7, &place, "queue", 300);
	expect_none();
	for (uint64_t i = 0; i < 5000; i++)
		triggers_counter(g_triggers, set, i + 1, &place, "queue", 50);
	expect_none();
}

TEST(annotations_and_crashes_fire_unasked)
{
	const struct trigger_place place = { 5, 7, 8 };
	struct flight_event event;

	BEGIN("annotation late*");
	ck_assert(!triggers_of_calls(g_triggers));
	triggers_annotation(g_triggers, &place, "too late", false);
	expect_none();
	triggers_annotation(g_triggers, &place, "too late", true);
	(void)take("", "too late");
	triggers_annotation(g_triggers, &place, "later", false);
	(void)take("annotation late*", "later");
	triggers_annotation(g_triggers, &place, "later", true);
	(void)take("annotation late*", "later");
	triggers_crash(g_triggers, &place, "prog", SIGSEGV);
	event = take("", "prog");
	ck_assert_int_eq(event.cause, FLIGHT_CRASH);
	ck_assert_int_eq(event.value, SIGSEGV);
	triggers_crash(g_triggers, &place, "", SIGSEGV);
	expect_none();
}

TEST(a_signal_fires_if_it_was_asked_for)
{
	struct flight_event event;

	BEGIN("signal USR2");
	triggers_signal(g_triggers, 5, SIGUSR1);
	expect_none();
	triggers_signal(g_triggers, 5, SIGUSR2);
	event = take("signal USR2", "");
	ck_assert_int_eq(event.cause, FLIGHT_SIGNAL);
	ck_assert_int_eq(event.value, SIGUSR2);
}

TEST(without_triggers_nothing_happens)
{
	const struct trigger_place place = { 5, 7, 8 };
	size_t at = 0;

	ck_assert(!triggers_of_calls(NULL));
	ck_assert_uint_eq(triggers_of_function(NULL, "f", "/m"), 0);
	ck_assert_uint_eq(triggers_of_counter(NULL, "c"), 0);
	triggers_annotation(NULL, &place, "a", true);
	triggers_signal(NULL, 5, SIGUSR1);
	triggers_crash(NULL, &place, "p", 0);
	triggers_flush(NULL, UINT64_MAX);
	ck_assert_uint_eq(triggers_fired(NULL), 0);
	ck_assert_ptr_null(triggers_missing(NULL, &at));
}

TEST(a_name_that_nothing_has_is_told)
{
	size_t at = 0;

	BEGIN("f > 1ms", "gone > 1ms", "counter c > 1", "annotation a",
	      "crash");
	(void)triggers_of_function(g_triggers, "f", "/m");
	(void)triggers_of_counter(g_triggers, "c");
	ck_assert_str_eq(triggers_missing(g_triggers, &at)->text, "gone > 1ms");
	ck_assert_str_eq(triggers_missing(g_triggers, &at)->name, "a");
	ck_assert_ptr_null(triggers_missing(g_triggers, &at));
}

TEST(a_trigger_that_always_fires_is_told_by_few_events)
{
	uint64_t until_ns = 0, events = 0, begin_ns = 1000 * MS;
	struct flight_event event;
	uint32_t set;

	BEGIN("f > 0ns");
	set = triggers_of_function(g_triggers, "f", "/m");
	for (uint64_t i = 0; i < 1000000; i++) {
		call(set, 0, begin_ns + i * 1000, 1000);
		while (flight_queue_take(g_queue, &event)) {
			events++;
			ck_assert_uint_le(event.begin_ns,
					  MAX(until_ns, begin_ns));
			until_ns = MAX(until_ns, event.end_ns);
		}
	}
	triggers_flush(g_triggers, 0);
	expect_none();
	triggers_flush(g_triggers, UINT64_MAX);
	ck_assert(flight_queue_take(g_queue, &event));
	ck_assert_uint_le(event.begin_ns, until_ns);
	ck_assert_uint_eq(event.end_ns, begin_ns + 1000000 * 1000);
	expect_none();
	ck_assert_uint_le(events, 11 * 17);
	ck_assert_uint_eq(triggers_fired(g_triggers), 1000000);
}

#define THREADS 4
#define CALLS 20000

static void *call_often(void *context)
{
	uint32_t set = *(uint32_t *)context;

	for (uint64_t i = 0; i < CALLS; i++) {
		call(set, 0, i * 1000, 1000);
		if (i % 64 == 0)
			triggers_flush(g_triggers, i * 1000);
	}
	return NULL;
}

TEST(threads_fire_one_trigger_together)
{
	struct flight_event event;
	struct flight_rest rest;
	pthread_t thread[THREADS];
	uint64_t until_ns = 0;
	uint32_t set;

	BEGIN("f > 0ns");
	set = triggers_of_function(g_triggers, "f", "/m");
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&thread[i], NULL, call_often, &set), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	triggers_flush(g_triggers, UINT64_MAX);
	ck_assert_uint_eq(triggers_fired(g_triggers), THREADS * CALLS);
	while (flight_queue_take(g_queue, &event))
		until_ns = MAX(until_ns, event.end_ns);
	if (flight_queue_rest(g_queue, &rest))
		until_ns = MAX(until_ns, rest.end_ns);
	ck_assert_uint_eq(until_ns, CALLS * 1000);
}

TEST(a_long_name_is_cut_between_characters)
{
	static char name[400];
	const struct trigger_place place = { 5, 7, 8 };
	struct flight_event event;

	BEGIN("crash");
	memset(name, 'x', 126);
	strcpy(name + 126, "\xc3\xa4\xc3\xa4");
	triggers_annotation(g_triggers, &place, name, true);
	ck_assert(flight_queue_take(g_queue, &event));
	ck_assert_uint_eq(strlen(event.what), 126);
	triggers_annotation(g_triggers, &place,
			    "a\xff"
			    "b",
			    true);
	(void)take("", "a?b");
}
