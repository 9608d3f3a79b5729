/* SPDX-License-Identifier: Apache-2.0
 *
 * test_flight_recorder - when snapshots of a recording become due. Events still
 * in the rings may belong to a due snapshot.
 */
#include "collector/files/flight_recorder.h"

#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/collector.h"
#include "collector/record/flight_queue.h"
#include "collector/record/recording.h"
#include "collector/trace/flight_share.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define MARGIN_NS 100
#define KEEP_NS 100000

static struct {
	struct collect_options options;
	struct collector collector;
	struct jobs_group endings;
	struct recording *recording;
} g;

static void set_up(void)
{
	scratch_enter();
	g.options = (struct collect_options){ .output = ".",
					      .max_bytes = 64 << 20 };
	g.options.flight = (struct flight_options){ .on = true,
						    .keep_ns = KEEP_NS,
						    .bytes = 64 << 20,
						    .margin_ns = MARGIN_NS,
						    .snapshots = 9,
						    .disk_bytes = 1 << 20 };
	g.collector = (struct collector){ .options = &g.options,
					  .endings = &g.endings };
	jobs_group_init(&g.endings);
	lock_init(&g.collector.lock, LOCK_COLLECTOR);
	ck_assert_int_eq(symbol_cache_new(&g.collector.symbols), 0);
	ck_assert_int_eq(flight_share_new(64 << 20, &g.collector.flight), 0);
	ck_assert_int_eq(recording_new(&g.collector, "out", true, &g.recording),
			 0);
}

static void tear_down(void)
{
	flight_recorder_forget(g.recording);
	recording_put(&g.recording);
	jobs_group_wait(&g.endings);
	flight_share_free(&g.collector.flight);
	symbol_cache_put(&g.collector.symbols);
	scratch_leave();
}

static void trigger(uint64_t ns)
{
	flight_queue_put(recording_setup(g.recording)->flight,
			 &(struct flight_event){ .cause = FLIGHT_CALL,
						 .begin_ns = ns - 10,
						 .end_ns = ns });
}

static void check_next(uint64_t now_ns, uint64_t from_ns, uint64_t to_ns,
		       uint64_t events)
{
	struct flight_written now;

	ck_assert(flight_recorder_next(g.recording, now_ns, &now));
	ck_assert_uint_eq(now.window.from_ns, from_ns);
	ck_assert_uint_eq(now.window.to_ns, to_ns);
	ck_assert_uint_eq(now.window.events, events);
}

FIXTURE(set_up, tear_down);

TEST(what_is_read_while_a_snapshot_is_due_belongs_to_it)
{
	struct flight_written now;

	ck_assert(!flight_recorder_is_due(g.recording, 5000));
	trigger(2000);
	ck_assert(!flight_recorder_is_due(g.recording, 2050));
	ck_assert(flight_recorder_is_due(g.recording, 2100));
	/* A ring delivers another one meanwhile. */
	trigger(1950);
	check_next(2100, 1840, 2100, 2);
	ck_assert(!flight_recorder_next(g.recording, 9000, &now));
	ck_assert_uint_eq(flight_recorder_sums(g.recording).triggers, 2);
}

/* The window was extended, and its new end has not been read yet. */
TEST(what_makes_a_snapshot_longer_is_waited_for)
{
	struct flight_written now;

	trigger(2000);
	ck_assert(flight_recorder_is_due(g.recording, 2100));
	trigger(2090);
	ck_assert(!flight_recorder_next(g.recording, 2100, &now));
	ck_assert(!flight_recorder_is_due(g.recording, 2189));
	ck_assert(flight_recorder_is_due(g.recording, 2190));
	check_next(2190, 1890, 2190, 2);
}

TEST(what_was_read_is_remembered)
{
	ck_assert_uint_eq(flight_recorder_read_ns(g.recording), 0);
	trigger(2000);
	trigger(2300);
	ck_assert(!flight_recorder_is_due(g.recording, 0));
	ck_assert(flight_recorder_is_due(g.recording, 2500));
	flight_recorder_was_read(g.recording, 2500);
	check_next(2500, 1890, 2100, 1);
	ck_assert_uint_eq(flight_recorder_read_ns(g.recording), 2500);
	ck_assert(flight_recorder_is_due(g.recording, 2500));
	check_next(2500, 2190, 2400, 1);
}

TEST(what_is_far_from_it_is_a_snapshot_of_its_own)
{
	trigger(2000);
	ck_assert(flight_recorder_is_due(g.recording, 2500));
	trigger(2490);
	check_next(2500, 1890, 2100, 1);
	ck_assert(flight_recorder_is_due(g.recording, 2590));
	check_next(2590, 2380, 2590, 1);
}
