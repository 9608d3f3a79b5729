/* SPDX-License-Identifier: Apache-2.0
 *
 * Unpacks the cold packets: they contain all required fields, strings are
 * repaired, and a short buffer is never overrun.
 */

#include "collector/trace/out_perfetto.h"
#include "proto/perfetto_trace.pb-c.h"
#include "tests/suite.h"

typedef Perfetto__Protos__Trace pb_trace;
typedef Perfetto__Protos__TracePacket pb_packet;
typedef Perfetto__Protos__ClockSnapshot__Clock pb_clock;
typedef Perfetto__Protos__TrackEvent pb_event;

static uint8_t g_buffer[1 << 20];
static pb_trace *g_trace;

/* The fixture frees the messages. */
static void unpack(size_t bytes, size_t packets)
{
	ck_assert_uint_gt(bytes, 0);
	g_trace = perfetto__protos__trace__unpack(NULL, bytes, g_buffer);
	ck_assert_ptr_nonnull(g_trace);
	ck_assert_uint_eq(g_trace->n_packet, packets);
	ck_assert_uint_eq(perfetto__protos__trace__get_packed_size(g_trace),
			  bytes);
}

static void free_trace(void)
{
	if (g_trace)
		perfetto__protos__trace__free_unpacked(g_trace, NULL);
	g_trace = NULL;
}

static const struct out_clocks g_clocks = { 600, 300, 100, 400, 500 };
static const uint8_t g_uuid[16] = { 0xf1, 2,  3,  4,  5,  6,  7,  8,
				    9,	  10, 11, 12, 13, 14, 15, 16 };

static uint64_t clock_ns(const Perfetto__Protos__ClockSnapshot *snapshot,
			 uint32_t id)
{
	for (size_t i = 0; i < snapshot->n_clocks; i++)
		if (snapshot->clocks[i]->clock_id == id)
			return snapshot->clocks[i]->timestamp;
	ck_abort_msg("clock %u is not in the snapshot", id);
}

FIXTURE(NULL, free_trace);

TEST(out_perfetto_preamble_starts_with_the_clocks)
{
	const struct out_attribute attributes[] = {
		{ "tool", "perfrec", 0 },
		{ "ring_kb", NULL, 4096 },
	};
	Perfetto__Protos__ClockSnapshot *snapshot;
	Perfetto__Protos__TraceAttributes *message;

	unpack(out_perfetto_preamble(g_buffer, sizeof(g_buffer), &g_clocks,
				     g_uuid, attributes, 2),
	       4);
	snapshot = g_trace->packet[0]->clock_snapshot;
	ck_assert_ptr_nonnull(snapshot);
	ck_assert_uint_eq(snapshot->n_clocks, 5);
	ck_assert_uint_eq(snapshot->primary_trace_clock, 6);
	for (uint32_t i = 0; i < 5; i++) {
		const uint32_t ids[] = { 6, 3, 1, 4, 5 };

		ck_assert_uint_eq(clock_ns(snapshot, ids[i]), ids[i] * 100);
	}
	ck_assert_uint_eq((uint64_t)g_trace->packet[1]->trace_uuid->msb,
			  0xf102030405060708ULL);
	ck_assert_uint_eq((uint64_t)g_trace->packet[1]->trace_uuid->lsb,
			  0x090a0b0c0d0e0f10ULL);
	ck_assert_str_eq(g_trace->packet[2]->system_info->utsname->sysname,
			 "Linux");
	message = g_trace->packet[3]->trace_attributes;
	ck_assert_uint_eq(message->n_attribute, 2);
	ck_assert_str_eq(message->attribute[0]->key, "tool");
	ck_assert_str_eq(message->attribute[0]->string_value, "perfrec");
	ck_assert(!message->attribute[0]->has_long_value);
	ck_assert_int_eq(message->attribute[1]->long_value, 4096);
	ck_assert_ptr_null(message->attribute[1]->string_value);
	for (size_t i = 0; i < 4; i++)
		ck_assert_uint_eq(
			g_trace->packet[i]->trusted_packet_sequence_id,
			OUT_SEQUENCE_GLOBAL);
}

TEST(out_perfetto_process_has_its_command_line)
{
	char *const cmdline[] = { "./app", "-x", "", NULL };
	char *const labels[] = { "service.name=app", "\xff", NULL };
	const struct out_process process = { UINT64_MAX, 4711, "app",
					     cmdline,	 123,  labels };
	Perfetto__Protos__ProcessDescriptor *message;

	unpack(out_perfetto_process(g_buffer, sizeof(g_buffer), &process), 1);
	ck_assert_uint_eq(g_trace->packet[0]->track_descriptor->uuid,
			  UINT64_MAX);
	message = g_trace->packet[0]->track_descriptor->process;
	ck_assert_int_eq(message->pid, 4711);
	ck_assert_str_eq(message->process_name, "app");
	ck_assert_int_eq(message->start_timestamp_ns, 123);
	ck_assert_uint_eq(message->n_cmdline, 3);
	ck_assert_str_eq(message->cmdline[1], "-x");
	ck_assert_str_eq(message->cmdline[2], "");
	ck_assert_uint_eq(message->n_process_labels, 2);
	ck_assert_str_eq(message->process_labels[0], "service.name=app");
	ck_assert_str_eq(message->process_labels[1], "?");
}

TEST(out_perfetto_process_with_many_arguments_is_cut)
{
	enum { ARGUMENTS = 5000, SIZE = 4096 };
	static char *cmdline[ARGUMENTS + 1];
	const struct out_process process = { 1, 2, "cc", cmdline, 0, NULL };
	Perfetto__Protos__ProcessDescriptor *message;

	for (size_t i = 0; i < ARGUMENTS; i++)
		cmdline[i] = "-Wsome-warning-or-other";
	unpack(out_perfetto_process(g_buffer, SIZE, &process), 1);
	message = g_trace->packet[0]->track_descriptor->process;
	ck_assert_uint_gt(message->n_cmdline, 10);
	ck_assert_str_eq(message->cmdline[0], cmdline[0]);
	ck_assert_str_eq(message->cmdline[message->n_cmdline - 1], "...");
	free_trace();

	unpack(out_perfetto_process(g_buffer, sizeof(g_buffer), &process), 1);
	message = g_trace->packet[0]->track_descriptor->process;
	ck_assert_uint_eq(message->n_cmdline, 256);
	ck_assert_str_eq(message->cmdline[255], "...");
}

TEST(out_perfetto_thread_starts_a_sequence)
{
	const struct out_thread thread = { 77, 5, 10, 11, "worker", 9000 };
	pb_packet *descriptor, *start;
	pb_clock *clock;

	unpack(out_perfetto_thread(g_buffer, sizeof(g_buffer), &thread), 2);
	descriptor = g_trace->packet[0];
	ck_assert_uint_eq(descriptor->trusted_packet_sequence_id, 5);
	ck_assert_uint_eq(descriptor->track_descriptor->uuid, 77);
	ck_assert_int_eq(descriptor->track_descriptor->thread->pid, 10);
	ck_assert_int_eq(descriptor->track_descriptor->thread->tid, 11);
	ck_assert_str_eq(descriptor->track_descriptor->thread->thread_name,
			 "worker");
	start = g_trace->packet[1];
	ck_assert_uint_eq(start->trusted_packet_sequence_id, 5);
	ck_assert_uint_eq(start->sequence_flags, 3);
	ck_assert(start->first_packet_on_sequence);
	ck_assert_uint_eq(start->trace_packet_defaults->timestamp_clock_id, 64);
	ck_assert_uint_eq(
		start->trace_packet_defaults->track_event_defaults->track_uuid,
		77);
	ck_assert_uint_eq(start->clock_snapshot->n_clocks, 2);
	ck_assert(!start->clock_snapshot->has_primary_trace_clock);
	clock = start->clock_snapshot->clocks[0];
	ck_assert_uint_eq(clock->clock_id, 64);
	ck_assert_uint_eq(clock->timestamp, 9000);
	ck_assert(clock->is_incremental);
	clock = start->clock_snapshot->clocks[1];
	ck_assert_uint_eq(clock->clock_id, 6);
	ck_assert_uint_eq(clock->timestamp, 9000);
	ck_assert(!clock->is_incremental);
}

TEST(out_perfetto_thread_renamed_sends_the_descriptor_alone)
{
	struct out_thread thread = { 77, 5, 10, 11, "new", 9000 };

	unpack(out_perfetto_thread_name(g_buffer, sizeof(g_buffer), &thread),
	       1);
	ck_assert_str_eq(
		g_trace->packet[0]->track_descriptor->thread->thread_name,
		"new");
	ck_assert_ptr_null(g_trace->packet[0]->clock_snapshot);
	free_trace();

	thread.name = "";
	unpack(out_perfetto_thread_name(g_buffer, sizeof(g_buffer), &thread),
	       1);
	ck_assert_ptr_null(
		g_trace->packet[0]->track_descriptor->thread->thread_name);
}

TEST(out_perfetto_names_of_any_number_all_arrive)
{
	static struct out_name names[1000];
	static char text[1000][16];
	size_t seen = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(text[i], sizeof(text[i]), "function %u", i);
		names[i] = (struct out_name){ i + 1, text[i] };
	}
	unpack(out_perfetto_names(g_buffer, sizeof(g_buffer), 9, names, 1000),
	       16);
	for (size_t p = 0; p < g_trace->n_packet; p++) {
		pb_packet *packet = g_trace->packet[p];

		ck_assert_uint_eq(packet->trusted_packet_sequence_id, 9);
		ck_assert(!packet->has_timestamp);
		for (size_t i = 0; i < packet->interned_data->n_event_names;
		     i++, seen++) {
			Perfetto__Protos__EventName *name =
				packet->interned_data->event_names[i];

			ck_assert_uint_eq(name->iid, seen + 1);
			ck_assert_str_eq(name->name, text[seen]);
		}
	}
	ck_assert_uint_eq(seen, 1000);
}

TEST(out_perfetto_event_carries_arguments_and_flow)
{
	const struct out_attribute arguments[] = {
		{ "count", NULL, -3 },
		{ "why", "because", 0 },
	};
	struct out_event event = { OUT_INSTANT, 6, 128, "lost",
				   arguments,	2, 42,	false };
	pb_event *message;

	unpack(out_perfetto_event(g_buffer, sizeof(g_buffer), &event), 1);
	ck_assert(g_trace->packet[0]->has_timestamp);
	ck_assert_uint_eq(g_trace->packet[0]->timestamp, 128);
	ck_assert_uint_eq(g_trace->packet[0]->trusted_packet_sequence_id, 6);
	message = g_trace->packet[0]->track_event;
	ck_assert_int_eq(message->type, 3);
	ck_assert_str_eq(message->name, "lost");
	ck_assert_uint_eq(message->n_flow_ids, 1);
	ck_assert_uint_eq(message->flow_ids[0], 42);
	ck_assert_uint_eq(message->n_terminating_flow_ids, 0);
	ck_assert_uint_eq(message->n_debug_annotations, 2);
	ck_assert_str_eq(message->debug_annotations[0]->name, "count");
	ck_assert_int_eq(message->debug_annotations[0]->int_value, -3);
	ck_assert_str_eq(message->debug_annotations[1]->string_value,
			 "because");
	free_trace();

	event = (struct out_event){
		.type = OUT_END, .sequence = 6, .flow = 42, .flow_ends = true
	};
	unpack(out_perfetto_event(g_buffer, sizeof(g_buffer), &event), 1);
	message = g_trace->packet[0]->track_event;
	ck_assert(g_trace->packet[0]->has_timestamp);
	ck_assert_int_eq(message->type, 2);
	ck_assert_ptr_null(message->name);
	ck_assert_uint_eq(message->n_flow_ids, 0);
	ck_assert_uint_eq(message->terminating_flow_ids[0], 42);
}

TEST(out_perfetto_losses_mark_each_sequence_then_name_it)
{
	const uint32_t sequences[] = { 2, 300, UINT32_MAX };
	Perfetto__Protos__TraceStats *stats;
	size_t bytes = out_perfetto_losses(g_buffer, OUT_LOSSES_BYTES(3),
					   sequences, 3, 999);

	unpack(bytes, 4);
	stats = g_trace->packet[3]->trace_stats;
	ck_assert_uint_eq(stats->n_buffer_stats, 1);
	ck_assert_uint_eq(stats->buffer_stats[0]->trace_writer_packet_loss,
			  999);
	ck_assert_uint_eq(stats->n_writer_stats, 3);
	for (size_t i = 0; i < 3; i++) {
		pb_packet *mark = g_trace->packet[i];

		ck_assert_uint_eq(mark->previous_packet_dropped, 1);
		ck_assert_uint_eq(mark->trusted_packet_sequence_id,
				  sequences[i]);
		ck_assert_uint_eq(stats->writer_stats[i]->sequence_id,
				  sequences[i]);
	}
	free_trace();

	bytes = out_perfetto_losses(g_buffer, OUT_LOSSES_BYTES(0), NULL, 0, 7);
	unpack(bytes, 1);
	ck_assert_uint_eq(g_trace->packet[0]->trace_stats->n_writer_stats, 0);
}

static void check_clean(const char *dirty, const char *clean)
{
	const struct out_name name = { 1, dirty };

	unpack(out_perfetto_names(g_buffer, sizeof(g_buffer), 2, &name, 1), 1);
	ck_assert_str_eq(
		g_trace->packet[0]->interned_data->event_names[0]->name, clean);
	free_trace();
}

TEST(out_perfetto_context_is_a_track_below_its_thread)
{
	const struct out_context context = { 78, 77, 6, "context 1 of worker",
					     9000 };
	const Perfetto__Protos__TrackDescriptor *track;
	size_t whole;

	whole = out_perfetto_context(g_buffer, sizeof(g_buffer), &context);
	unpack(whole, 2);
	ck_assert_uint_eq(g_trace->packet[0]->trusted_packet_sequence_id, 6);
	track = g_trace->packet[0]->track_descriptor;
	ck_assert_uint_eq(track->uuid, 78);
	ck_assert_uint_eq(track->parent_uuid, 77);
	ck_assert_str_eq(track->name, "context 1 of worker");
	ck_assert_int_eq(track->sibling_merge_behavior, 2);
	ck_assert_ptr_null(track->thread);
	ck_assert_uint_eq(g_trace->packet[1]
				  ->trace_packet_defaults->track_event_defaults
				  ->track_uuid,
			  78);
	ck_assert_uint_eq(
		g_trace->packet[1]->clock_snapshot->clocks[0]->timestamp, 9000);
	for (size_t size = 0; size < whole; size++)
		ck_assert_uint_eq(
			out_perfetto_context(g_buffer, size, &context), 0);
}

TEST(out_perfetto_text_that_is_no_utf8_is_repaired)
{
	check_clean("plain", "plain");
	check_clean("\u00e9\u20ac\U0001f600\U0010ffff",
		    "\u00e9\u20ac\U0001f600\U0010ffff");
	check_clean("a\xff"
		    "b\xfe",
		    "a?b?");
	check_clean("\x80", "?"); /* lone continuation byte */
	check_clean("\xc3", "?"); /* truncated */
	check_clean("\xe2\x82", "??");
	check_clean("\xe2(\xa1", "?(?");
	check_clean("\xc0\xaf", "??"); /* overlong */
	check_clean("\xe0\x80\xaf", "???");
	check_clean("\xf0\x80\x80\x80", "????");
	check_clean("\xed\xa0\x80", "???"); /* surrogate */
	check_clean("\xf4\x90\x80\x80", "????"); /* above U+10FFFF */
	check_clean("\xf5\x80\x80\x80", "????");
}

TEST(out_perfetto_text_too_long_is_cut_between_characters)
{
	static char text[OUT_TEXT_BYTES + 100];
	const struct out_name name = { 1, text };
	const char *out;

	memset(text, 'x', OUT_TEXT_BYTES + 50);
	memcpy(text + OUT_TEXT_BYTES - 1, "\u20ac", 3);
	unpack(out_perfetto_names(g_buffer, OUT_NAME_BYTES, 2, &name, 1), 1);
	out = g_trace->packet[0]->interned_data->event_names[0]->name;
	ck_assert_uint_eq(strlen(out), OUT_TEXT_BYTES - 1);
	free_trace();

	memset(text, 'x', OUT_TEXT_BYTES + 50);
	unpack(out_perfetto_names(g_buffer, OUT_NAME_BYTES, 2, &name, 1), 1);
	out = g_trace->packet[0]->interned_data->event_names[0]->name;
	ck_assert_uint_eq(strlen(out), OUT_TEXT_BYTES);
}

TEST(out_perfetto_buffer_too_small_gets_nothing)
{
	const struct out_thread thread = { 77, 5, 10, 11, "worker", 9000 };
	size_t whole = out_perfetto_thread(g_buffer, 1000, &thread);

	for (size_t size = 0; size < whole; size++) {
		memset(g_buffer, 0xa5, 1000);
		ck_assert_uint_eq(out_perfetto_thread(g_buffer, size, &thread),
				  0);
		for (size_t i = size; i < 1000; i++)
			ck_assert_uint_eq(g_buffer[i], 0xa5);
	}
	ck_assert_uint_eq(out_perfetto_thread(g_buffer, whole, &thread), whole);
}
