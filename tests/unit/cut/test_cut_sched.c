/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_sched_leave(): the rest of a trace may have switches of one CPU that are
 * older than discarded switches of another. test_packet_window.c tests cuts.
 */
#include "collector/cut/cut_sched.h"

#include "collector/base/budget.h"
#include "collector/read/trace_switches.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_sched.h"
#include "tests/suite.h"

#define SEQUENCE 3
#define CPUS 2
#define PACKETS_MAX 16
#define ENDED 40 /* thread ids */
#define LOST 41
#define OTHER 42

static struct {
	uint8_t bytes[OUT_SCHED_BYTES_MAX];
	size_t count;
} g_packets[PACKETS_MAX];
static uint32_t g_packet_count;

static void keep(void *context, const void *packets, size_t bytes)
{
	ck_assert_ptr_null(context);
	ck_assert_uint_lt(g_packet_count, PACKETS_MAX);
	memcpy(g_packets[g_packet_count].bytes, packets, bytes);
	g_packets[g_packet_count++].count = bytes;
}

static bool has_all(void *context, int32_t tid)
{
	(void)context;
	return tid > 0;
}

static struct wire bundle_of(const uint8_t *packets, size_t count)
{
	struct wire left = { packets, packets + count };
	struct wire_field field;
	struct wire packet;

	ck_assert(wire_next(&left, &field));
	packet = wire_of(&field);
	while (wire_next(&packet, &field))
		if (field.tag == TAG_TRACE_PACKET_FTRACE_EVENTS)
			return wire_of(&field);
	ck_abort_msg("no bundle");
}

/* A cut or a head. */
struct made {
	struct budget budget;
	struct cut_file file;
	struct cut_sched *sched;
	FILE *out;
	char *bytes;
	size_t count;
};

static void begin(struct made *made, const struct cut_ranges *ranges)
{
	*made = (struct made){ .budget.left = 1 << 20 };
	made->out = open_memstream(&made->bytes, &made->count);
	ck_assert_ptr_nonnull(made->out);
	ck_assert_int_eq(cut_file_begin(&made->file, made->out, false), 0);
	ck_assert_int_eq(cut_sched_new(ranges, &made->file, &made->budget,
				       has_all, NULL, &made->sched),
			 0);
}

static void take(struct made *made, uint32_t packet)
{
	ck_assert(cut_sched_take(
		made->sched, SEQUENCE,
		bundle_of(g_packets[packet].bytes, g_packets[packet].count)));
}

static void end(struct made *made)
{
	ck_assert_int_eq(cut_file_end(&made->file), 0);
	ck_assert_int_eq(fclose(made->out), 0);
	cut_sched_free(&made->sched);
}

static void take_head(struct made *made, const struct made *head)
{
	struct wire left = { (const uint8_t *)head->bytes,
			     (const uint8_t *)head->bytes + head->count };
	struct wire_field field;

	for (const uint8_t *at = left.at; wire_next(&left, &field);
	     at = left.at)
		ck_assert(
			cut_sched_take(made->sched, SEQUENCE,
				       bundle_of(at, (size_t)(left.at - at))));
}

static bool shows(const struct made *cut, int32_t tid)
{
	struct wire left = { (const uint8_t *)cut->bytes,
			     (const uint8_t *)cut->bytes + cut->count };
	struct trace_switches switches = { 0 };
	struct trace_switch next;
	struct wire_field field;
	bool found = false;

	for (const uint8_t *at = left.at; wire_next(&left, &field);
	     at = left.at) {
		trace_switches_begin(&switches,
				     bundle_of(at, (size_t)(left.at - at)));
		while (trace_switches_next(&switches, &next))
			found |= next.came == tid;
	}
	return found;
}

/* CPU 0 comes first in the file, with ends of threads from CPU 1. */
static void tell(void)
{
	struct out_sched *sched;

	g_packet_count = 0;
	ck_assert_int_eq(out_sched_new(CPUS, SEQUENCE, keep, NULL, &sched), 0);
	out_sched_in(sched, 1, 100, ENDED);
	out_sched_out(sched, 1, 110, ENDED, OUT_SCHED_PREEMPTED);
	out_sched_in(sched, 1, 120, LOST);
	out_sched_out(sched, 1, 130, LOST, OUT_SCHED_BLOCKED);
	out_sched_in(sched, 1, 140, OTHER);
	out_sched_out(sched, 1, 150, OTHER, OUT_SCHED_BLOCKED);
	out_sched_in(sched, 0, 200, ENDED);
	out_sched_out(sched, 0, 210, ENDED, OUT_SCHED_ENDED);
	out_sched_in(sched, 0, 220, LOST);
	out_sched_out(sched, 0, 230, LOST, OUT_SCHED_UNKNOWN);
	out_sched_flush(sched);
	out_sched_in(sched, 0, 400, OTHER);
	out_sched_end(sched, 500);
	out_sched_free(&sched);
	ck_assert_uint_eq(g_packet_count, 4);
}

TEST(cut_sched_leaves_the_end_of_who_comes_later, EACH(0, 3))
{
	struct cut_range never = { UINT64_MAX - 1, UINT64_MAX };
	struct cut_range late = { 300, 350 };
	const struct cut_ranges nothing = { .at = &never, .count = 1 };
	const struct cut_ranges range = { .at = &late, .count = 1 };
	/* Packets in each of two consecutive heads. */
	const uint32_t given_up[][2] = { { 1, 0 }, { 1, 1 }, { 2, 0 } };
	struct made first, second, cut;

	tell();
	begin(&first, &nothing);
	for (uint32_t i = 0; i < given_up[_i][0]; i++)
		take(&first, i);
	cut_sched_leave(first.sched, 0);
	end(&first);
	begin(&second, &nothing);
	take_head(&second, &first);
	for (uint32_t i = 0; i < given_up[_i][1]; i++)
		take(&second, given_up[_i][0] + i);
	cut_sched_leave(second.sched, 0);
	end(&second);
	begin(&cut, &range);
	take_head(&cut, &second);
	for (uint32_t i = given_up[_i][0] + given_up[_i][1]; i < g_packet_count;
	     i++)
		take(&cut, i);
	cut_sched_end(cut.sched, 500);
	end(&cut);
	ck_assert(!shows(&cut, ENDED));
	ck_assert(!shows(&cut, LOST));
	ck_assert(shows(&cut, OTHER));
	free(first.bytes);
	free(second.bytes);
	free(cut.bytes);
}

/* Importers ignore the first switch of each CPU, so the head has one of each
 * CPU that may get more. */
TEST(cut_sched_leaves_cpus_that_are_idle)
{
	struct cut_range never = { UINT64_MAX - 1, UINT64_MAX };
	const struct cut_ranges nothing = { .at = &never, .count = 1 };
	struct trace_switches switches = { 0 };
	struct trace_switch next;
	struct wire left;
	struct wire_field field;
	struct made head;
	uint32_t seen = 0;

	tell();
	begin(&head, &nothing);
	for (uint32_t i = 0; i < 4; i++)
		take(&head, i);
	cut_sched_leave(head.sched, 1000);
	end(&head);
	left.at = (const uint8_t *)head.bytes;
	left.end = left.at + head.count;
	for (const uint8_t *at = left.at; wire_next(&left, &field);
	     at = left.at) {
		trace_switches_begin(&switches,
				     bundle_of(at, (size_t)(left.at - at)));
		while (trace_switches_next(&switches, &next)) {
			seen |= 1u << next.cpu;
			ck_assert_uint_eq(next.ns, 1000);
		}
	}
	ck_assert_uint_eq(seen, 3);
	free(head.bytes);
}

/* An ended thread is forgotten once nothing older can follow. */
TEST(cut_sched_forgets_who_has_ended)
{
	struct cut_range never = { UINT64_MAX - 1, UINT64_MAX };
	const struct cut_ranges nothing = { .at = &never, .count = 1 };
	struct made head;

	tell();
	begin(&head, &nothing);
	for (uint32_t i = 0; i < 3; i++)
		take(&head, i);
	cut_sched_leave(head.sched, 0);
	end(&head);
	ck_assert(!shows(&head, ENDED));
	ck_assert(!shows(&head, LOST));
	ck_assert(shows(&head, OTHER));
	free(head.bytes);
}
