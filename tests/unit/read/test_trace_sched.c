/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads switches back from out_sched: a thread's state at any time is the
 * reported one, or unknown without reports.
 */
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/read/trace_sched.h"
#include "collector/read/trace_switches.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_sched.h"
#include "collector/trace/out_track.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "tests/unit/trace_rig.h"

#define CPUS 3
#define SEQUENCE 5

static struct out_sched *g_out;
static struct trace_sched *g_sched;

static void start(void)
{
	g_bytes = 0;
	ck_assert_int_eq(
		out_sched_new(CPUS, SEQUENCE, wrote_switches, NULL, &g_out), 0);
}

static void stop(void)
{
	out_sched_free(&g_out);
	trace_sched_free(&g_sched);
}

static void read_back(void)
{
	char path[] = "/tmp/test_trace_sched.XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, g_trace, g_bytes), (ssize_t)g_bytes);
	close(fd);
	trace_sched_free(&g_sched);
	ck_assert_int_eq(trace_sched_read(path, NULL, NULL, &g_sched), 0);
	unlink(path);
}

static void check(int64_t tid, uint64_t from, uint64_t to,
		  struct trace_sched_sums wanted)
{
	struct trace_sched_sums sums =
		trace_sched_between(g_sched, tid, from, to);

	ck_assert_uint_eq(sums.on_cpu, wanted.on_cpu);
	ck_assert_uint_eq(sums.preempted, wanted.preempted);
	ck_assert_uint_eq(sums.waited, wanted.waited);
	ck_assert_uint_eq(sums.unknown, wanted.unknown);
}

FIXTURE(start, stop);

TEST(trace_sched_splits_a_time)
{
	out_sched_in(g_out, 0, 1000, 7);
	out_sched_out(g_out, 0, 1100, 7, OUT_SCHED_PREEMPTED);
	out_sched_in(g_out, 1, 1130, 7);
	out_sched_out(g_out, 1, 1200, 7, OUT_SCHED_BLOCKED);
	out_sched_in(g_out, 0, 1500, 7);
	out_sched_out(g_out, 0, 1600, 7, OUT_SCHED_ENDED);
	out_sched_end(g_out, 2000);
	read_back();
	ck_assert_ptr_nonnull(g_sched);
	check(7, 1000, 1600, (struct trace_sched_sums){ 270, 30, 300, 0, 0 });
	check(7, 1050, 1550, (struct trace_sched_sums){ 170, 30, 300, 0, 0 });
	check(7, 1110, 1120, (struct trace_sched_sums){ 0, 10, 0, 0, 0 });
	check(7, 1300, 1300, (struct trace_sched_sums){ 0, 0, 0, 0, 0 });
	check(7, 1300, 1200, (struct trace_sched_sums){ 0, 0, 0, 0, 0 });
	/* Before the first switch, and after the end. */
	check(7, 900, 1010, (struct trace_sched_sums){ 10, 0, 0, 100, 0 });
	check(7, 1590, 1700, (struct trace_sched_sums){ 10, 0, 0, 100, 0 });
	check(8, 1000, 1600, (struct trace_sched_sums){ 0, 0, 0, 600, 0 });
	/* Number 0 is the idle task. */
	check(0, 1000, 1600, (struct trace_sched_sums){ 0, 0, 0, 600, 0 });
}

TEST(trace_sched_knows_nothing_where_switches_are_missing)
{
	/* Across the gap 7 runs on and 8 does not. On another CPU 9 sleeps and
	 * 5 runs. */
	out_sched_in(g_out, 0, 1000, 8);
	out_sched_in(g_out, 1, 1000, 9);
	out_sched_out(g_out, 1, 1010, 9, OUT_SCHED_BLOCKED);
	out_sched_in(g_out, 1, 1020, 5);
	out_sched_in(g_out, 2, 1000, 7);
	out_sched_lost(g_out, 2, 1100);
	out_sched_in(g_out, 2, 1300, 7);
	out_sched_out(g_out, 0, 1350, 8, OUT_SCHED_BLOCKED);
	out_sched_out(g_out, 1, 1400, 5, OUT_SCHED_BLOCKED);
	out_sched_in(g_out, 1, 1500, 9);
	out_sched_end(g_out, 1600);
	read_back();
	check(7, 1000, 1600, (struct trace_sched_sums){ 400, 0, 0, 200, 0 });
	check(8, 1000, 1600, (struct trace_sched_sums){ 350, 0, 250, 0, 0 });
	check(9, 1000, 1600, (struct trace_sched_sums){ 110, 0, 90, 400, 0 });
	check(5, 1020, 1600, (struct trace_sched_sums){ 380, 0, 200, 0, 0 });
	/* Inside a gap. */
	check(9, 1050, 1090, (struct trace_sched_sums){ 0, 0, 40, 0, 0 });
	check(9, 1350, 1450, (struct trace_sched_sums){ 0, 0, 0, 100, 0 });
}

TEST(trace_sched_that_went_off_during_a_loss_is_not_known)
{
	out_sched_in(g_out, 0, 1000, 5);
	out_sched_lost(g_out, 1, 1100);
	out_sched_out(g_out, 0, 1200, 5, OUT_SCHED_BLOCKED);
	out_sched_in(g_out, 1, 1300, 6);
	out_sched_in(g_out, 0, 1400, 5);
	out_sched_out(g_out, 0, 1500, 5, OUT_SCHED_BLOCKED);
	out_sched_end(g_out, 1600);
	read_back();
	check(5, 1000, 1600, (struct trace_sched_sums){ 300, 0, 100, 200, 0 });
}

TEST(trace_sched_of_a_cut_file_trusts_what_is_closed_only)
{
	out_sched_in(g_out, 0, 1000, 5);
	out_sched_out(g_out, 0, 1200, 5, OUT_SCHED_BLOCKED);
	out_sched_in(g_out, 1, 1000, 6);
	out_sched_out(g_out, 1, 1500, 6, OUT_SCHED_BLOCKED);
	out_sched_in(g_out, 1, 1600, 7);
	out_sched_flush(g_out); /* unfinished: CPU 0 may have had more */
	read_back();
	check(5, 1000, 2000, (struct trace_sched_sums){ 200, 0, 0, 800, 0 });
	check(6, 1000, 2000, (struct trace_sched_sums){ 500, 0, 0, 500, 0 });
	check(7, 1000, 2000, (struct trace_sched_sums){ 0, 0, 0, 1000, 0 });
}

TEST(trace_sched_of_a_trace_without_switches_is_none)
{
	static const struct out_clocks clocks = { START_NS, START_NS, START_NS,
						  START_NS, START_NS };
	static const uint8_t uuid[16];

	wrote(out_perfetto_preamble(ROOM, &clocks, uuid, NULL, 0));
	read_back();
	ck_assert_ptr_null(g_sched);
}

TEST(trace_sched_sums_agree_with_each_nanosecond)
{
	enum { SPAN = 4000 };
	static uint8_t kinds[SPAN];
	uint64_t seed = 7, ns = 100;

	memset(kinds, 3, sizeof(kinds));
	while (ns < SPAN - 400) {
		uint32_t cpu = (uint32_t)(next_random(&seed) >> 40) % CPUS;
		uint64_t ran = next_random(&seed) % 50;
		uint64_t off = 1 + next_random(&seed) % 50;
		unsigned int why = (unsigned int)(next_random(&seed) >> 33) % 2;

		out_sched_in(g_out, cpu, START_NS + ns, 42);
		memset(kinds + ns, 0, ran);
		ns += ran;
		out_sched_out(g_out, cpu, START_NS + ns, 42,
			      why ? OUT_SCHED_BLOCKED : OUT_SCHED_PREEMPTED);
		memset(kinds + ns, why ? 2 : 1, off);
		ns += off;
	}
	memset(kinds + ns, kinds[ns - 1], SPAN - ns);
	out_sched_end(g_out, START_NS + SPAN);
	read_back();
	for (int i = 0; i < 20000; i++) {
		uint64_t from = next_random(&seed) % SPAN;
		uint64_t to = from + next_random(&seed) % (SPAN - from);
		uint64_t sums[4] = { 0 };

		for (uint64_t at = from; at < to; at++)
			sums[kinds[at]]++;
		check(42, START_NS + from, START_NS + to,
		      (struct trace_sched_sums){ sums[0], sums[1], sums[2],
						 sums[3], 0 });
	}
}

TEST(trace_sched_gives_the_stretches_of_a_thread)
{
	const struct trace_stretch *at;

	out_sched_in(g_out, 2, 1000, 7);
	out_sched_out(g_out, 2, 1100, 7, OUT_SCHED_BLOCKED);
	out_sched_in(g_out, 0, 1200, 7);
	out_sched_out(g_out, 0, 1300, 7, OUT_SCHED_PREEMPTED);
	out_sched_end(g_out, 1400);
	read_back();
	ck_assert_uint_eq(trace_sched_stretches(g_sched, 7, &at), 2);
	ck_assert_uint_eq(at[0].from, 1000);
	ck_assert_uint_eq(at[0].to, 1100);
	ck_assert_uint_eq(at[0].cpu, 2);
	ck_assert_uint_eq(at[0].why, TRACE_LEFT_WAITS);
	ck_assert_uint_eq(at[1].cpu, 0);
	ck_assert_uint_eq(at[1].why, TRACE_LEFT_PREEMPTED);
	ck_assert_uint_eq(trace_sched_stretches(g_sched, 8, &at), 0);
	ck_assert_ptr_null(at);
	ck_assert_uint_eq(trace_sched_refused(g_sched), 0);
	/* Two per stretch, and the first and last of each CPU. */
	ck_assert_uint_eq(trace_sched_switches(g_sched), 4 + 2 + 2);
}

/* A slice of track @uuid, on a sequence of out_track_sequence(). */
static void write_suspension(uint64_t uuid, const char *name, uint64_t from,
			     uint64_t to)
{
	struct bytes fields = { 0 };
	struct encode_event event = { .type = TYPE_SLICE_BEGIN,
				      .absolute = true };

	bytes_field(&fields, TAG_TRACK_EVENT_TRACK_UUID, uuid);
	bytes_part(&fields, TAG_TRACK_EVENT_NAME, name, strlen(name));
	event.fields = fields.at;
	event.field_bytes = fields.count;
	g_encoder.out = g_trace + g_bytes;
	encode_event(&g_encoder, from, &event);
	bytes_clear(&fields);
	bytes_field(&fields, TAG_TRACK_EVENT_TRACK_UUID, uuid);
	event.type = TYPE_SLICE_END;
	event.fields = fields.at;
	event.field_bytes = fields.count;
	encode_event(&g_encoder, to, &event);
	g_bytes = (size_t)(g_encoder.out - g_trace);
	bytes_release(&fields);
}

static void check_stack(uint64_t from, uint64_t to,
			struct trace_sched_sums wanted)
{
	struct trace_sched_sums sums =
		trace_sched_of_stack(g_sched, THREAD, 7, from, to);

	ck_assert_mem_eq(&sums, &wanted, sizeof(sums));
}

TEST(trace_sched_of_a_stack_is_without_other_stacks)
{
	const struct out_thread thread = {
		.uuid = THREAD, .sequence = 2, .pid = 7, .tid = 7, .start_ns = 1
	};
	const struct out_track track = { .uuid = 33,
					 .parent = THREAD,
					 .name = OUT_TRACK_SUSPENDED };

	wrote(out_perfetto_thread(ROOM, &thread));
	wrote(out_track_sequence(ROOM, 3));
	wrote(out_track_track(ROOM, &track));
	encoder_init(&g_encoder, 3, 0);
	write_suspension(33, OUT_SUSPENDED, 1050, 1150);
	write_suspension(33, OUT_SUSPENDED_OFTEN, 1300, 1400);
	out_sched_in(g_out, 0, 1000, 7);
	out_sched_out(g_out, 0, 1100, 7, OUT_SCHED_BLOCKED);
	out_sched_in(g_out, 0, 1200, 7);
	out_sched_end(g_out, 1500);
	read_back();
	check_stack(1000, 1250,
		    (struct trace_sched_sums){ 100, 0, 50, 0, 100 });
	check_stack(1060, 1110, (struct trace_sched_sums){ 0, 0, 0, 0, 50 });
	check_stack(1290, 1500, (struct trace_sched_sums){ 110, 0, 0, 100, 0 });
	/* A range that is reversed has no time, also inside a suspension. */
	check_stack(1110, 1060, (struct trace_sched_sums){ 0 });
	check_stack(1390, 1310, (struct trace_sched_sums){ 0 });
}
