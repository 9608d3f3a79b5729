/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tools/checker/schema.h"

enum kind { NONE, UINT, FIX64, BYTES, STRING, MESSAGE };
enum { MANY = 1 << 0, PAYLOAD = 1 << 1 };

#define FIELD_LIMIT 128

struct field {
	enum message in;
	uint32_t number;
	enum kind kind;
	enum message of; /* MESSAGE: which */
	unsigned int flags;
};

/* Numbers as in the format's reference, typed here a second time so that
 * a wrong one in proto/ is seen. */
static const struct field g_fields[] = {
	{ TRACE_PACKET, 1, MESSAGE, FTRACE_BUNDLE, PAYLOAD },
	{ TRACE_PACKET, 6, MESSAGE, CLOCK_SNAPSHOT, PAYLOAD },
	{ TRACE_PACKET, 8, UINT, 0, 0 }, /* timestamp */
	{ TRACE_PACKET, 10, UINT, 0, 0 }, /* trusted_packet_sequence_id */
	{ TRACE_PACKET, 11, MESSAGE, TRACK_EVENT, PAYLOAD },
	{ TRACE_PACKET, 12, MESSAGE, INTERNED_DATA, 0 },
	{ TRACE_PACKET, 13, UINT, 0, 0 }, /* sequence_flags */
	{ TRACE_PACKET, 35, MESSAGE, TRACE_STATS, PAYLOAD },
	{ TRACE_PACKET, 36, BYTES, 0, PAYLOAD }, /* synchronization_marker */
	{ TRACE_PACKET, 37, MESSAGE, PROFILE_PACKET, PAYLOAD },
	{ TRACE_PACKET, 42, UINT, 0, 0 }, /* previous_packet_dropped */
	{ TRACE_PACKET, 45, MESSAGE, SYSTEM_INFO, PAYLOAD },
	{ TRACE_PACKET, 50, BYTES, 0, PAYLOAD }, /* compressed_packets */
	{ TRACE_PACKET, 58, UINT, 0, 0 }, /* timestamp_clock_id */
	{ TRACE_PACKET, 59, MESSAGE, PACKET_DEFAULTS, 0 },
	{ TRACE_PACKET, 60, MESSAGE, TRACK_DESCRIPTOR, PAYLOAD },
	{ TRACE_PACKET, 66, MESSAGE, PERF_SAMPLE, PAYLOAD },
	{ TRACE_PACKET, 87, UINT, 0, 0 }, /* first_packet_on_sequence */
	{ TRACE_PACKET, 89, MESSAGE, TRACE_UUID, PAYLOAD },
	{ TRACE_PACKET, 126, MESSAGE, TRACE_ATTRIBUTES, PAYLOAD },
	{ CLOCK_SNAPSHOT, 1, MESSAGE, CLOCK, MANY },
	{ CLOCK_SNAPSHOT, 2, UINT, 0, 0 }, /* primary_trace_clock */
	{ CLOCK, 1, UINT, 0, 0 }, /* clock_id */
	{ CLOCK, 2, UINT, 0, 0 }, /* timestamp */
	{ CLOCK, 3, UINT, 0, 0 }, /* is_incremental */
	{ PACKET_DEFAULTS, 11, MESSAGE, EVENT_DEFAULTS, 0 },
	{ PACKET_DEFAULTS, 12, MESSAGE, SAMPLE_DEFAULTS, 0 },
	{ PACKET_DEFAULTS, 58, UINT, 0, 0 }, /* timestamp_clock_id */
	{ EVENT_DEFAULTS, 11, UINT, 0, 0 }, /* track_uuid */
	{ TRACK_DESCRIPTOR, 1, UINT, 0, 0 }, /* uuid */
	{ TRACK_DESCRIPTOR, 2, STRING, 0, 0 }, /* name */
	{ TRACK_DESCRIPTOR, 3, MESSAGE, PROCESS_DESCRIPTOR, 0 },
	{ TRACK_DESCRIPTOR, 4, MESSAGE, THREAD_DESCRIPTOR, 0 },
	{ TRACK_DESCRIPTOR, 5, UINT, 0, 0 }, /* parent_uuid */
	{ TRACK_DESCRIPTOR, 8, MESSAGE, COUNTER_DESCRIPTOR, 0 },
	{ TRACK_DESCRIPTOR, 11, UINT, 0, 0 }, /* child_ordering */
	{ TRACK_DESCRIPTOR, 12, UINT, 0, 0 }, /* sibling_order_rank */
	{ TRACK_DESCRIPTOR, 14, STRING, 0, 0 }, /* description */
	{ TRACK_DESCRIPTOR, 15, UINT, 0, 0 }, /* sibling_merge_behavior */
	{ TRACK_DESCRIPTOR, 17, UINT, 0, 0 }, /* sibling_merge_key_int */
	{ TRACK_DESCRIPTOR, 18, MESSAGE, STATE_DESCRIPTOR, 0 },
	{ COUNTER_DESCRIPTOR, 3, UINT, 0, 0 }, /* unit */
	{ COUNTER_DESCRIPTOR, 4, UINT, 0, 0 }, /* unit_multiplier */
	{ COUNTER_DESCRIPTOR, 6, STRING, 0, 0 }, /* unit_name */
	{ PROCESS_DESCRIPTOR, 1, UINT, 0, 0 }, /* pid */
	{ PROCESS_DESCRIPTOR, 2, STRING, 0, MANY }, /* cmdline */
	{ PROCESS_DESCRIPTOR, 6, STRING, 0, 0 }, /* process_name */
	{ PROCESS_DESCRIPTOR, 7, UINT, 0, 0 }, /* start_timestamp_ns */
	{ PROCESS_DESCRIPTOR, 8, STRING, 0, MANY }, /* process_labels */
	{ THREAD_DESCRIPTOR, 1, UINT, 0, 0 }, /* pid */
	{ THREAD_DESCRIPTOR, 2, UINT, 0, 0 }, /* tid */
	{ THREAD_DESCRIPTOR, 5, STRING, 0, 0 }, /* thread_name */
	{ TRACK_EVENT, 3, UINT, 0, MANY }, /* category_iids */
	{ TRACK_EVENT, 4, MESSAGE, DEBUG_ANNOTATION, MANY },
	{ TRACK_EVENT, 9, UINT, 0, 0 }, /* type */
	{ TRACK_EVENT, 10, UINT, 0, 0 }, /* name_iid */
	{ TRACK_EVENT, 11, UINT, 0, 0 }, /* track_uuid */
	{ TRACK_EVENT, 23, STRING, 0, 0 }, /* name */
	{ TRACK_EVENT, 30, UINT, 0, 0 }, /* counter_value */
	{ TRACK_EVENT, 34, UINT, 0, 0 }, /* source_location_iid */
	{ TRACK_EVENT, 44, FIX64, 0, 0 }, /* double_counter_value */
	{ TRACK_EVENT, 52, UINT, 0, 0 }, /* correlation_id */
	{ TRACK_EVENT, 47, FIX64, 0, MANY }, /* flow_ids */
	{ TRACK_EVENT, 48, FIX64, 0, MANY }, /* terminating_flow_ids */
	{ DEBUG_ANNOTATION, 1, UINT, 0, 0 }, /* name_iid */
	{ DEBUG_ANNOTATION, 2, UINT, 0, 0 }, /* bool_value */
	{ DEBUG_ANNOTATION, 3, UINT, 0, 0 }, /* uint_value */
	{ DEBUG_ANNOTATION, 5, FIX64, 0, 0 }, /* double_value */
	{ DEBUG_ANNOTATION, 7, UINT, 0, 0 }, /* pointer_value */
	{ DEBUG_ANNOTATION, 4, UINT, 0, 0 }, /* int_value */
	{ DEBUG_ANNOTATION, 6, STRING, 0, 0 }, /* string_value */
	{ DEBUG_ANNOTATION, 10, STRING, 0, 0 }, /* name */
	{ INTERNED_DATA, 1, MESSAGE, EVENT_CATEGORY, MANY },
	{ INTERNED_DATA, 2, MESSAGE, EVENT_NAME, MANY },
	{ INTERNED_DATA, 3, MESSAGE, ANNOTATION_NAME, MANY },
	{ INTERNED_DATA, 4, MESSAGE, SOURCE_LOCATION, MANY },
	{ INTERNED_DATA, 5, MESSAGE, INTERNED_STRING, MANY }, /* functions */
	{ INTERNED_DATA, 6, MESSAGE, FRAME, MANY },
	{ INTERNED_DATA, 7, MESSAGE, CALLSTACK, MANY },
	{ INTERNED_DATA, 16, MESSAGE, INTERNED_STRING, MANY }, /* build-ids */
	{ INTERNED_DATA, 17, MESSAGE, INTERNED_STRING, MANY }, /* paths */
	{ INTERNED_DATA, 18, MESSAGE, INTERNED_STRING, MANY }, /* sources */
	{ INTERNED_DATA, 19, MESSAGE, MAPPING, MANY },
	{ INTERNED_STRING, 1, UINT, 0, 0 }, /* iid */
	{ INTERNED_STRING, 2, BYTES, 0, 0 }, /* str */
	{ MAPPING, 1, UINT, 0, 0 }, /* iid */
	{ MAPPING, 2, UINT, 0, 0 }, /* build_id */
	{ MAPPING, 3, UINT, 0, 0 }, /* start_offset */
	{ MAPPING, 4, UINT, 0, 0 }, /* start */
	{ MAPPING, 5, UINT, 0, 0 }, /* end */
	{ MAPPING, 6, UINT, 0, 0 }, /* load_bias */
	{ MAPPING, 7, UINT, 0, MANY }, /* path_string_ids */
	{ MAPPING, 8, UINT, 0, 0 }, /* exact_offset */
	{ FRAME, 1, UINT, 0, 0 }, /* iid */
	{ FRAME, 2, UINT, 0, 0 }, /* function_name_id */
	{ FRAME, 3, UINT, 0, 0 }, /* mapping_id */
	{ FRAME, 4, UINT, 0, 0 }, /* rel_pc */
	{ FRAME, 5, UINT, 0, 0 }, /* source_path_iid */
	{ FRAME, 6, UINT, 0, 0 }, /* line_number */
	{ CALLSTACK, 1, UINT, 0, 0 }, /* iid */
	{ CALLSTACK, 2, UINT, 0, MANY }, /* frame_ids */
	{ SAMPLE_DEFAULTS, 1, MESSAGE, TIMEBASE, 0 },
	{ TIMEBASE, 2, UINT, 0, 0 }, /* frequency */
	{ TIMEBASE, 4, UINT, 0, 0 }, /* counter */
	{ TIMEBASE, 10, STRING, 0, 0 }, /* name */
	{ PERF_SAMPLE, 1, UINT, 0, 0 }, /* cpu */
	{ PERF_SAMPLE, 2, UINT, 0, 0 }, /* pid */
	{ PERF_SAMPLE, 3, UINT, 0, 0 }, /* tid */
	{ PERF_SAMPLE, 4, UINT, 0, 0 }, /* callstack_iid */
	{ PERF_SAMPLE, 5, UINT, 0, 0 }, /* cpu_mode */
	{ PERF_SAMPLE, 6, UINT, 0, 0 }, /* timebase_count */
	{ PROFILE_PACKET, 5, MESSAGE, HEAP_DUMP, MANY },
	{ PROFILE_PACKET, 6, UINT, 0, 0 }, /* continued */
	{ PROFILE_PACKET, 7, UINT, 0, 0 }, /* index */
	{ HEAP_DUMP, 1, UINT, 0, 0 }, /* pid */
	{ HEAP_DUMP, 2, MESSAGE, HEAP_SAMPLE, MANY },
	{ HEAP_DUMP, 3, UINT, 0, 0 }, /* from_startup */
	{ HEAP_DUMP, 9, UINT, 0, 0 }, /* timestamp */
	{ HEAP_DUMP, 11, STRING, 0, 0 }, /* heap_name */
	{ HEAP_DUMP, 12, UINT, 0, 0 }, /* sampling_interval_bytes */
	{ HEAP_DUMP, 15, UINT, 0, 0 }, /* start_timestamp */
	{ HEAP_SAMPLE, 1, UINT, 0, 0 }, /* callstack_id */
	{ HEAP_SAMPLE, 2, UINT, 0, 0 }, /* self_allocated */
	{ HEAP_SAMPLE, 3, UINT, 0, 0 }, /* self_freed */
	{ HEAP_SAMPLE, 5, UINT, 0, 0 }, /* alloc_count */
	{ HEAP_SAMPLE, 6, UINT, 0, 0 }, /* free_count */
	{ FTRACE_BUNDLE, 1, UINT, 0, 0 }, /* cpu */
	{ FTRACE_BUNDLE, 3, UINT, 0, 0 }, /* lost_events */
	{ FTRACE_BUNDLE, 4, MESSAGE, COMPACT_SCHED, 0 },
	{ COMPACT_SCHED, 1, BYTES, 0, 0 }, /* switch_timestamp, packed */
	{ COMPACT_SCHED, 2, BYTES, 0, 0 }, /* switch_prev_state, packed */
	{ COMPACT_SCHED, 3, BYTES, 0, 0 }, /* switch_next_pid, packed */
	{ COMPACT_SCHED, 4, BYTES, 0, 0 }, /* switch_next_prio, packed */
	{ COMPACT_SCHED, 5, STRING, 0, MANY }, /* intern_table */
	{ COMPACT_SCHED, 6, BYTES, 0, 0 }, /* switch_next_comm_index, packed */
	{ EVENT_CATEGORY, 1, UINT, 0, 0 }, /* iid */
	{ EVENT_CATEGORY, 2, STRING, 0, 0 }, /* name */
	{ ANNOTATION_NAME, 1, UINT, 0, 0 }, /* iid */
	{ ANNOTATION_NAME, 2, STRING, 0, 0 }, /* name */
	{ SOURCE_LOCATION, 1, UINT, 0, 0 }, /* iid */
	{ SOURCE_LOCATION, 2, STRING, 0, 0 }, /* file_name */
	{ SOURCE_LOCATION, 3, STRING, 0, 0 }, /* function_name */
	{ SOURCE_LOCATION, 4, UINT, 0, 0 }, /* line_number */
	{ EVENT_NAME, 1, UINT, 0, 0 }, /* iid */
	{ EVENT_NAME, 2, STRING, 0, 0 }, /* name */
	{ TRACE_STATS, 1, MESSAGE, BUFFER_STATS, MANY },
	{ TRACE_STATS, 18, MESSAGE, WRITER_STATS, MANY },
	{ BUFFER_STATS, 19, UINT, 0, 0 }, /* trace_writer_packet_loss */
	{ WRITER_STATS, 1, UINT, 0, 0 }, /* sequence_id */
	{ WRITER_STATS, 4, UINT, 0, 0 }, /* buffer */
	{ SYSTEM_INFO, 1, MESSAGE, UTSNAME, 0 },
	{ SYSTEM_INFO, 6, UINT, 0, 0 }, /* page_size */
	{ SYSTEM_INFO, 8, UINT, 0, 0 }, /* num_cpus */
	{ UTSNAME, 1, STRING, 0, 0 },
	{ UTSNAME, 2, STRING, 0, 0 },
	{ UTSNAME, 3, STRING, 0, 0 },
	{ UTSNAME, 4, STRING, 0, 0 },
	{ TRACE_UUID, 1, UINT, 0, 0 }, /* msb */
	{ TRACE_UUID, 2, UINT, 0, 0 }, /* lsb */
	{ TRACE_ATTRIBUTES, 1, MESSAGE, ATTRIBUTE, MANY },
	{ ATTRIBUTE, 1, STRING, 0, 0 }, /* key */
	{ ATTRIBUTE, 2, UINT, 0, 0 }, /* long_value */
	{ ATTRIBUTE, 3, STRING, 0, 0 }, /* string_value */
};

static const char *const g_names[MESSAGE_COUNT] = {
	[TRACE_PACKET] = "TracePacket",
	[CLOCK_SNAPSHOT] = "ClockSnapshot",
	[CLOCK] = "ClockSnapshot.Clock",
	[PACKET_DEFAULTS] = "TracePacketDefaults",
	[EVENT_DEFAULTS] = "TrackEventDefaults",
	[TRACK_DESCRIPTOR] = "TrackDescriptor",
	[PROCESS_DESCRIPTOR] = "ProcessDescriptor",
	[THREAD_DESCRIPTOR] = "ThreadDescriptor",
	[TRACK_EVENT] = "TrackEvent",
	[DEBUG_ANNOTATION] = "DebugAnnotation",
	[INTERNED_DATA] = "InternedData",
	[EVENT_NAME] = "EventName",
	[EVENT_CATEGORY] = "EventCategory",
	[ANNOTATION_NAME] = "DebugAnnotationName",
	[SOURCE_LOCATION] = "SourceLocation",
	[COUNTER_DESCRIPTOR] = "CounterDescriptor",
	[STATE_DESCRIPTOR] = "TrackDescriptor.state",
	[TRACE_STATS] = "TraceStats",
	[BUFFER_STATS] = "TraceStats.BufferStats",
	[WRITER_STATS] = "TraceStats.WriterStats",
	[SYSTEM_INFO] = "SystemInfo",
	[UTSNAME] = "Utsname",
	[TRACE_UUID] = "TraceUuid",
	[TRACE_ATTRIBUTES] = "TraceAttributes",
	[ATTRIBUTE] = "TraceAttributes.Attribute",
	[SAMPLE_DEFAULTS] = "PerfSampleDefaults",
	[TIMEBASE] = "PerfEvents.Timebase",
	[PERF_SAMPLE] = "PerfSample",
	[INTERNED_STRING] = "InternedString",
	[MAPPING] = "Mapping",
	[FRAME] = "Frame",
	[CALLSTACK] = "Callstack",
	[PROFILE_PACKET] = "ProfilePacket",
	[HEAP_DUMP] = "ProfilePacket.ProcessHeapSamples",
	[HEAP_SAMPLE] = "ProfilePacket.HeapSample",
	[FTRACE_BUNDLE] = "FtraceEventBundle",
	[COMPACT_SCHED] = "FtraceEventBundle.CompactSched",
};

/* g_fields by message and number: a lookup for every field of every event. */
static struct field g_index[MESSAGE_COUNT][FIELD_LIMIT];

void schema_init(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(g_fields); i++)
		g_index[g_fields[i].in][g_fields[i].number] = g_fields[i];
}

/* The length of the UTF-8 character at @at, 0 when it is none. */
static size_t utf8_length(const uint8_t *at, size_t left)
{
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = *at < 0x80	       ? 1
			: (*at & 0xe0) == 0xc0 ? 2
			: (*at & 0xf0) == 0xe0 ? 3
			: (*at & 0xf8) == 0xf0 ? 4
					       : 0;
	uint32_t point;

	if (length < 2)
		return length;
	if (length > left)
		return 0;
	point = *at & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	if (point < lowest[length] || point > 0x10ffff ||
	    (point >= 0xd800 && point < 0xe000))
		return 0;
	return length;
}

static bool is_utf8(struct pb text)
{
	while (text.at < text.end) {
		size_t length = utf8_length(text.at, pb_left(&text));

		if (!length)
			return false;
		text.at += length;
	}
	return true;
}

static enum pb_type wire_type(enum kind kind)
{
	return kind == UINT ? PB_VARINT : kind == FIX64 ? PB_FIXED64 : PB_BYTES;
}

/* The fields of one message so far. */
struct seen {
	uint64_t fields[FIELD_LIMIT / 64];
	bool payload;
};

static void check_once(struct verdict *verdict, const struct field *field,
		       struct seen *seen)
{
	uint64_t *word = &seen->fields[field->number / 64];
	uint64_t bit = 1ULL << (field->number % 64);

	if (field->flags & MANY)
		return;
	if (*word & bit || (field->flags & PAYLOAD && seen->payload))
		verdict_break(verdict, RULE_FIELD_TWICE,
			      "%s: field %u repeats itself or its payload",
			      g_names[field->in], field->number);
	*word |= bit;
	seen->payload |= (field->flags & PAYLOAD) != 0;
}

static bool check_field(struct verdict *verdict, enum message message,
			const struct pb_field *value, struct seen *seen)
{
	const struct field *field;

	if (value->number >= FIELD_LIMIT ||
	    g_index[message][value->number].kind == NONE) {
		verdict_break(verdict, RULE_UNKNOWN_FIELD, "%s: field %u",
			      g_names[message], value->number);
		return true;
	}
	field = &g_index[message][value->number];
	if (value->type != wire_type(field->kind)) {
		verdict_break(verdict, RULE_MALFORMED,
			      "%s: field %u has wire type %d", g_names[message],
			      value->number, value->type);
		return false;
	}
	check_once(verdict, field, seen);
	if (field->kind == STRING && !is_utf8(value->bytes))
		verdict_break(verdict, RULE_UTF8, "%s: field %u",
			      g_names[message], value->number);
	return field->kind != MESSAGE ||
	       schema_check(verdict, field->of, value->bytes);
}

bool schema_check(struct verdict *verdict, enum message message, struct pb pb)
{
	struct seen seen = { 0 };
	struct pb_field field;
	int got;

	while ((got = pb_next(&pb, &field)) > 0)
		if (!check_field(verdict, message, &field, &seen))
			return false;
	if (got < 0)
		verdict_break(verdict, RULE_MALFORMED, "%s: %s",
			      g_names[message],
			      got == -ENODATA ? "ends inside a field"
					      : "is no protobuf");
	return got == 0;
}
