/* SPDX-License-Identifier: Apache-2.0
 *
 * The encoder of switches, read like an importer reads the format: each CPU has
 * a chain of switches, and a thread leaves after it came.
 */
#include <errno.h>

#include "collector/trace/fields.h"
#include "collector/trace/out_sched.h"
#include "proto/perfetto_trace.pb-c.h"
#include "tests/random.h"
#include "tests/suite.h"

typedef Perfetto__Protos__Trace pb_trace;
typedef Perfetto__Protos__FtraceEventBundle pb_bundle;
typedef Perfetto__Protos__FtraceEventBundle__CompactSched pb_sched;

#define SEQUENCE 300
#define CPUS 4

struct seen {
	uint32_t cpu;
	uint64_t ns;
	pid_t left, came;
	int64_t state;
	bool lost; /* first switch after a loss */
};

static uint8_t g_bytes[1 << 24];
static size_t g_count;
static uint32_t g_packets;
static struct seen g_seen[1 << 20];
static uint32_t g_seen_count;
static struct out_sched *g_sched;

static void keep(void *context, const void *packets, size_t bytes)
{
	ck_assert_ptr_eq(context, g_bytes);
	ck_assert_uint_le(bytes, OUT_SCHED_BYTES_MAX);
	ck_assert_uint_le(g_count + bytes, sizeof(g_bytes));
	memcpy(g_bytes + g_count, packets, bytes);
	g_count += bytes;
	g_packets++;
}

static void start(void)
{
	g_count = g_packets = g_seen_count = 0;
	ck_assert_int_eq(out_sched_new(CPUS, SEQUENCE, keep, g_bytes, &g_sched),
			 0);
}

static void stop(void)
{
	out_sched_free(&g_sched);
	ck_assert_ptr_null(g_sched);
}

/* -1: none */
static pid_t g_last[CPUS];

static void see_bundle(const pb_bundle *bundle)
{
	const pb_sched *sched = bundle->compact_sched;
	uint64_t ns = 0;

	ck_assert_ptr_nonnull(sched);
	ck_assert_uint_lt(bundle->cpu, CPUS);
	ck_assert_uint_gt(sched->n_switch_timestamp, 0);
	ck_assert_uint_eq(sched->n_switch_prev_state,
			  sched->n_switch_timestamp);
	ck_assert_uint_eq(sched->n_switch_next_pid, sched->n_switch_timestamp);
	ck_assert_uint_eq(sched->n_switch_next_prio, sched->n_switch_timestamp);
	ck_assert_uint_eq(sched->n_switch_next_comm_index,
			  sched->n_switch_timestamp);
	ck_assert_uint_eq(sched->n_intern_table, 1);
	ck_assert_str_eq(sched->intern_table[0], "");
	for (size_t i = 0; i < sched->n_switch_timestamp; i++) {
		pid_t *last = &g_last[bundle->cpu];

		ns += sched->switch_timestamp[i];
		ck_assert_int_eq(sched->switch_next_prio[i], 120);
		ck_assert_uint_eq(sched->switch_next_comm_index[i], 0);
		/* Perfetto ignores the first switch. */
		if (*last >= 0)
			g_seen[g_seen_count++] = (struct seen){
				bundle->cpu,
				ns,
				*last,
				sched->switch_next_pid[i],
				sched->switch_prev_state[i],
				bundle->lost_events && !i,
			};
		*last = sched->switch_next_pid[i];
	}
}

static void see(void)
{
	pb_trace *trace;

	out_sched_flush(g_sched);
	memset(g_last, -1, sizeof(g_last));
	trace = perfetto__protos__trace__unpack(NULL, g_count, g_bytes);
	ck_assert_ptr_nonnull(trace);
	ck_assert_uint_eq(trace->n_packet, g_packets);
	/* Packing again must give the same size: no unknown fields. */
	ck_assert_uint_eq(perfetto__protos__trace__get_packed_size(trace),
			  g_count);
	for (size_t i = 0; i < trace->n_packet; i++) {
		ck_assert_uint_eq(trace->packet[i]->trusted_packet_sequence_id,
				  SEQUENCE);
		ck_assert_ptr_nonnull(trace->packet[i]->ftrace_events);
		see_bundle(trace->packet[i]->ftrace_events);
	}
	perfetto__protos__trace__free_unpacked(trace, NULL);
}

static void check(uint32_t number, struct seen wanted)
{
	const struct seen *seen = &g_seen[number];

	ck_assert_uint_lt(number, g_seen_count);
	ck_assert_uint_eq(seen->cpu, wanted.cpu);
	ck_assert_uint_eq(seen->ns, wanted.ns);
	ck_assert_int_eq(seen->left, wanted.left);
	ck_assert_int_eq(seen->came, wanted.came);
	ck_assert_int_eq(seen->state, wanted.state);
	ck_assert_int_eq(seen->lost, wanted.lost);
}

FIXTURE(start, stop);

TEST(out_sched_shows_the_first_stretch_of_a_cpu)
{
	out_sched_in(g_sched, 1, 1000, 77);
	out_sched_out(g_sched, 1, 1500, 77, OUT_SCHED_BLOCKED);
	see();
	ck_assert_uint_eq(g_packets, 1);
	ck_assert_uint_eq(g_seen_count, 2);
	check(0, (struct seen){ 1, 1000, 0, 77, 0, false });
	check(1, (struct seen){ 1, 1500, 77, 0, 1, false });
}

TEST(out_sched_says_why_a_thread_left)
{
	static const struct {
		enum out_sched_left why;
		int64_t state;
	} left[] = {
		{ OUT_SCHED_PREEMPTED, 256 },
		{ OUT_SCHED_BLOCKED, 1 },
		{ OUT_SCHED_ENDED, 16 },
		{ OUT_SCHED_UNKNOWN, 128 },
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(left); i++) {
		out_sched_in(g_sched, 0, 100 * i, 9);
		out_sched_out(g_sched, 0, 100 * i + 50, 9, left[i].why);
	}
	see();
	ck_assert_uint_eq(g_seen_count, 2 * ARRAY_SIZE(left));
	for (uint32_t i = 0; i < ARRAY_SIZE(left); i++)
		check(2 * i + 1, (struct seen){ 0, 100 * i + 50, 9, 0,
						left[i].state, false });
}

TEST(out_sched_has_a_thread_that_was_there_before)
{
	/* Only the end of thread 5's stay is known. */
	out_sched_out(g_sched, 2, 1000, 5, OUT_SCHED_PREEMPTED);
	see();
	ck_assert_uint_eq(g_seen_count, 1);
	check(0, (struct seen){ 2, 1000, 5, 0, 256, false });
}

TEST(out_sched_closes_a_thread_that_nobody_saw_leave)
{
	out_sched_in(g_sched, 0, 1000, 5);
	out_sched_in(g_sched, 0, 2000, 6);
	out_sched_in(g_sched, 0, 2100, 6); /* already there */
	out_sched_out(g_sched, 0, 3000, 7, OUT_SCHED_BLOCKED);
	out_sched_out(g_sched, 0, 4000, 8, OUT_SCHED_BLOCKED);
	see();
	ck_assert_uint_eq(g_seen_count, 6);
	check(0, (struct seen){ 0, 1000, 0, 5, 0, false });
	check(1, (struct seen){ 0, 2000, 5, 6, 128, false });
	check(2, (struct seen){ 0, 3000, 6, 7, 128, false });
	check(3, (struct seen){ 0, 3000, 7, 0, 1, false });
	check(4, (struct seen){ 0, 4000, 0, 8, 0, false });
	check(5, (struct seen){ 0, 4000, 8, 0, 1, false });
}

TEST(out_sched_writes_one_switch_if_the_times_are_equal)
{
	out_sched_in(g_sched, 0, 1000, 5);
	out_sched_out(g_sched, 0, 2000, 5, OUT_SCHED_BLOCKED);
	out_sched_in(g_sched, 0, 2000, 600);
	out_sched_out(g_sched, 0, 3000, 600, OUT_SCHED_BLOCKED);
	out_sched_in(g_sched, 0, 3001, 5);
	see();
	ck_assert_uint_eq(g_seen_count, 4);
	check(1, (struct seen){ 0, 2000, 5, 600, 1, false });
	check(2, (struct seen){ 0, 3000, 600, 0, 1, false });
	check(3, (struct seen){ 0, 3001, 0, 5, 0, false });
}

TEST(out_sched_closes_the_thread_at_a_loss)
{
	out_sched_in(g_sched, 0, 1000, 5);
	out_sched_in(g_sched, 1, 1000, 6);
	out_sched_lost(g_sched, 0, 1200);
	out_sched_in(g_sched, 0, 9000, 6);
	out_sched_lost(g_sched, 3, 9500); /* first event of CPU 3 */
	see();
	ck_assert_uint_eq(g_seen_count, 5);
	/* A loss flushes the events before it. */
	check(0, (struct seen){ 0, 1000, 0, 5, 0, false });
	check(1, (struct seen){ 1, 1000, 0, 6, 0, false });
	check(2, (struct seen){ 0, 1200, 5, 0, 128, true });
	check(3, (struct seen){ 0, 9000, 0, 6, 0, false });
	check(4, (struct seen){ 3, 9500, 0, 0, 128, true });
}

TEST(out_sched_end_is_the_last_switch_of_each_cpu)
{
	out_sched_in(g_sched, 0, 1000, 5);
	out_sched_in(g_sched, 1, 4000, 6);
	out_sched_in(g_sched, 2, 1000, 7);
	out_sched_out(g_sched, 2, 1100, 7, OUT_SCHED_BLOCKED);
	out_sched_end(g_sched, 3000);
	ck_assert_uint_eq(g_packets, 3);
	see();
	ck_assert_uint_eq(g_packets, 3);
	ck_assert_uint_eq(g_seen_count, 7);
	check(1, (struct seen){ 0, 3000, 5, 0, 128, false });
	check(3, (struct seen){ 1, 4000, 6, 0, 128, false });
	check(5, (struct seen){ 2, 1100, 7, 0, 1, false });
	check(6, (struct seen){ 2, 3000, 0, 0, 0, false });
}

TEST(out_sched_thread_that_is_gone_has_no_stretch)
{
	out_sched_in(g_sched, 1, 1000, 77);
	out_sched_gone(g_sched, 0, 77);
	out_sched_gone(g_sched, 1, 78);
	out_sched_gone(g_sched, 1, 77);
	out_sched_gone(g_sched, 99, 77);
	out_sched_in(g_sched, 0, 1500, 77);
	see();
	ck_assert_uint_eq(g_seen_count, 3);
	check(2, (struct seen){ 1, 1000, 77, 0, 128, false });
	check(0, (struct seen){ 0, 1500, 0, 77, 0, false });
	ck_assert_uint_eq(out_sched_left_out(g_sched), 0);
}

TEST(out_sched_time_of_a_cpu_does_not_fall)
{
	out_sched_in(g_sched, 0, 1000, 5);
	out_sched_out(g_sched, 0, 900, 5, OUT_SCHED_BLOCKED);
	out_sched_flush(g_sched);
	out_sched_in(g_sched, 0, 800, 5);
	see();
	check(1, (struct seen){ 0, 1000, 5, 0, 1, false });
	check(2, (struct seen){ 0, 1000, 0, 5, 0, false });
}

TEST(out_sched_leaves_out_cpus_that_there_are_not)
{
	out_sched_in(g_sched, CPUS, 1000, 5);
	out_sched_out(g_sched, UINT32_MAX, 1000, 5, OUT_SCHED_BLOCKED);
	out_sched_lost(g_sched, CPUS, 1000);
	ck_assert_uint_eq(out_sched_left_out(g_sched), 3);
	see();
	ck_assert_uint_eq(g_packets, 0);
}

TEST(out_sched_must_have_cpus_and_a_sequence)
{
	struct out_sched *other = NULL;

	ck_assert_int_eq(out_sched_new(0, 1, keep, g_bytes, &other), -EINVAL);
	ck_assert_int_eq(out_sched_new(1, 0, keep, g_bytes, &other), -EINVAL);
	ck_assert_ptr_null(other);
	/* Perfetto limits the number of CPUs. */
	ck_assert_int_eq(out_sched_new(UINT32_MAX, 1, keep, g_bytes, &other),
			 0);
	out_sched_in(other, OUT_SCHED_CPUS_MAX, 1000, 5);
	ck_assert_uint_eq(out_sched_left_out(other), 1);
	out_sched_free(&other);
	out_sched_free(&other);
}

/* Only a switch ends the state of a thread without a CPU. */
TEST(out_sched_ends_the_state_of_a_thread_that_sleeps)
{
	out_sched_in(g_sched, 0, 1000, 77);
	out_sched_out(g_sched, 0, 1100, 77, OUT_SCHED_BLOCKED);
	out_sched_in(g_sched, 0, 1200, 78);
	/* Thread 78 belongs to another process, which continues. */
	out_sched_unknown(g_sched, 0, 1300, 77);
	out_sched_unknown(g_sched, 0, 1400, 78);
	out_sched_unknown(g_sched, 0, 1500, 77);
	see();
	ck_assert_uint_eq(g_seen_count, 8);
	check(3, (struct seen){ 0, 1300, 78, 77, 256, false });
	check(4, (struct seen){ 0, 1300, 77, 78, 128, false });
	check(5, (struct seen){ 0, 1400, 78, 0, 128, false });
	check(6, (struct seen){ 0, 1500, 0, 77, 0, false });
	check(7, (struct seen){ 0, 1500, 77, 0, 128, false });
}

static uint64_t g_random;

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(next_random(&g_random) >> 32) % limit;
}

static void tell_stretch(uint32_t cpu, uint64_t *ns, struct seen *in,
			 struct seen *out)
{
	pid_t tid = 1 + (pid_t)(next_random(&g_random) >> (42 + below(21)));
	bool preempted = below(2);

	*ns += 1 + (next_random(&g_random) >> (24 + below(39)));
	*in = (struct seen){ cpu, *ns, 0, tid, 0, false };
	out_sched_in(g_sched, cpu, *ns, tid);
	*ns += 1 + (next_random(&g_random) >> (24 + below(39)));
	*out = (struct seen){ cpu, *ns, tid, 0, preempted ? 256 : 1, false };
	out_sched_out(g_sched, cpu, *ns, tid,
		      preempted ? OUT_SCHED_PREEMPTED : OUT_SCHED_BLOCKED);
}

TEST(out_sched_keeps_all_switches_of_all_cpus)
{
	enum { STRETCHES = 20000 };
	static struct seen told[CPUS][2 * STRETCHES];
	uint32_t counts[CPUS] = { 0 };
	uint64_t ns[CPUS] = { 1, 2, 3, 4 };

	g_random = 1;
	for (uint32_t i = 0; i < STRETCHES; i++) {
		uint32_t cpu = below(CPUS);
		struct seen *at = &told[cpu][counts[cpu]];

		tell_stretch(cpu, &ns[cpu], at, at + 1);
		counts[cpu] += 2;
		if (!below(2000))
			out_sched_flush(g_sched);
	}
	see();
	ck_assert_uint_eq(g_seen_count, 2 * STRETCHES);
	ck_assert_uint_gt(g_packets, 2 * STRETCHES / 512);
	memset(counts, 0, sizeof(counts));
	for (uint32_t i = 0; i < g_seen_count; i++)
		check(i, told[g_seen[i].cpu][counts[g_seen[i].cpu]++]);
}

/* No packet may contain events older than an earlier packet of its CPU. */
TEST(out_sched_hands_over_what_all_cpus_had)
{
	enum { STRETCHES = 5000 };
	uint64_t last[CPUS] = { 0 }, before_ns = 0, ns = 1;
	uint32_t cpu = CPUS;

	out_sched_in(g_sched, 1, ns, 71);
	for (uint32_t i = 0; i < STRETCHES; i++) {
		out_sched_in(g_sched, 0, ++ns, 70);
		if (i % 1000 == 0)
			out_sched_lost(g_sched, 2, ++ns);
		out_sched_out(g_sched, 0, ++ns, 70, OUT_SCHED_BLOCKED);
		if (i % 300 == 0) {
			out_sched_out(g_sched, 1, ++ns, 71, OUT_SCHED_BLOCKED);
			out_sched_in(g_sched, 1, ++ns, 71);
		}
	}
	see();
	for (uint32_t i = 0; i < g_seen_count; i++) {
		const struct seen *seen = &g_seen[i];

		if (seen->cpu != cpu)
			before_ns = last[cpu = seen->cpu];
		ck_assert_uint_ge(seen->ns, before_ns);
		last[cpu] = seen->ns;
	}
}

TEST(out_sched_takes_less_than_eight_bytes_a_switch)
{
	enum { STRETCHES = 10000 };
	uint64_t ns = UINT64_C(1) << 50;

	for (uint32_t i = 0; i < STRETCHES; i++) {
		out_sched_in(g_sched, 0, ns += 1500, 40000 + i % 7);
		out_sched_out(g_sched, 0, ns += 100000, 40000 + i % 7,
			      OUT_SCHED_BLOCKED);
	}
	out_sched_flush(g_sched);
	ck_assert_uint_lt(g_count, 2 * STRETCHES * 8);
}
