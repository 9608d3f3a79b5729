/* SPDX-License-Identifier: Apache-2.0
 *
 * fields - field numbers of Perfetto's trace format for code that writes or
 * reads fields itself. All other messages are packed by code that protoc-c
 * generates from proto/perfetto_trace.proto. Names are those of the format: the
 * message, then its field. scripts/check-proto-numbers.sh compares this list
 * with the .proto, and that with a table typed in separately.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FIELDS_H
#define PERFREC_COLLECTOR_TRACE_FIELDS_H

/* X(message and field, number, wire type) */
#define TRACE_FIELDS(X)                                                       \
	X(TRACE_PACKET, 1, BYTES)                                             \
                                                                              \
	X(TRACE_PACKET_FTRACE_EVENTS, 1, BYTES)                               \
	X(TRACE_PACKET_CLOCK_SNAPSHOT, 6, BYTES)                              \
	X(TRACE_PACKET_TIMESTAMP, 8, VARINT)                                  \
	X(TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 10, VARINT)                \
	X(TRACE_PACKET_TRACK_EVENT, 11, BYTES)                                \
	X(TRACE_PACKET_INTERNED_DATA, 12, BYTES)                              \
	X(TRACE_PACKET_SEQUENCE_FLAGS, 13, VARINT)                            \
	X(TRACE_PACKET_TRACE_STATS, 35, BYTES)                                \
	X(TRACE_PACKET_SYNCHRONIZATION_MARKER, 36, BYTES)                     \
	X(TRACE_PACKET_PROFILE_PACKET, 37, BYTES)                             \
	X(TRACE_PACKET_PREVIOUS_PACKET_DROPPED, 42, VARINT)                   \
	X(TRACE_PACKET_COMPRESSED_PACKETS, 50, BYTES)                         \
	X(TRACE_PACKET_TIMESTAMP_CLOCK_ID, 58, VARINT)                        \
	X(TRACE_PACKET_TRACE_PACKET_DEFAULTS, 59, BYTES)                      \
	X(TRACE_PACKET_TRACK_DESCRIPTOR, 60, BYTES)                           \
	X(TRACE_PACKET_PERF_SAMPLE, 66, BYTES)                                \
	X(TRACE_PACKET_TRACE_UUID, 89, BYTES)                                 \
	X(TRACE_PACKET_TRACE_ATTRIBUTES, 126, BYTES)                          \
                                                                              \
	X(CLOCK_SNAPSHOT_CLOCKS, 1, BYTES)                                    \
	X(CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, 1, VARINT)                           \
	X(CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, 2, VARINT)                          \
	X(CLOCK_SNAPSHOT_CLOCK_IS_INCREMENTAL, 3, VARINT)                     \
                                                                              \
	X(TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS, 11, BYTES)              \
	X(TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID, 58, VARINT)               \
	X(TRACK_EVENT_DEFAULTS_TRACK_UUID, 11, VARINT)                        \
                                                                              \
	X(TRACK_DESCRIPTOR_UUID, 1, VARINT)                                   \
	X(TRACK_DESCRIPTOR_NAME, 2, BYTES)                                    \
	X(TRACK_DESCRIPTOR_PROCESS, 3, BYTES)                                 \
	X(TRACK_DESCRIPTOR_THREAD, 4, BYTES)                                  \
	X(TRACK_DESCRIPTOR_PARENT_UUID, 5, VARINT)                            \
	X(TRACK_DESCRIPTOR_COUNTER, 8, BYTES)                                 \
	X(TRACK_DESCRIPTOR_STATE, 18, BYTES)                                  \
	X(PROCESS_DESCRIPTOR_PID, 1, VARINT)                                  \
	X(PROCESS_DESCRIPTOR_CMDLINE, 2, BYTES)                               \
	X(PROCESS_DESCRIPTOR_PROCESS_NAME, 6, BYTES)                          \
	X(THREAD_DESCRIPTOR_PID, 1, VARINT)                                   \
	X(THREAD_DESCRIPTOR_TID, 2, VARINT)                                   \
	X(THREAD_DESCRIPTOR_THREAD_NAME, 5, BYTES)                            \
	X(COUNTER_DESCRIPTOR_UNIT, 3, VARINT)                                 \
	X(COUNTER_DESCRIPTOR_UNIT_MULTIPLIER, 4, VARINT)                      \
	X(COUNTER_DESCRIPTOR_UNIT_NAME, 6, BYTES)                             \
                                                                              \
	X(PERF_SAMPLE_PID, 2, VARINT)                                         \
	X(PERF_SAMPLE_TID, 3, VARINT)                                         \
	X(PERF_SAMPLE_CALLSTACK_IID, 4, VARINT)                               \
	X(PERF_SAMPLE_CPU_MODE, 5, VARINT)                                    \
                                                                              \
	X(PROFILE_PACKET_PROCESS_DUMPS, 5, BYTES)                             \
	X(PROFILE_PACKET_PROCESS_HEAP_SAMPLES_SAMPLES, 2, BYTES)              \
	X(PROFILE_PACKET_HEAP_SAMPLE_CALLSTACK_ID, 1, VARINT)                 \
                                                                              \
	X(FTRACE_EVENT_BUNDLE_CPU, 1, VARINT)                                 \
	X(FTRACE_EVENT_BUNDLE_LOST_EVENTS, 3, VARINT)                         \
	X(FTRACE_EVENT_BUNDLE_COMPACT_SCHED, 4, BYTES)                        \
	/* Packed: varints, one behind the other. */                          \
	X(FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP, 1, BYTES)       \
	X(FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_PREV_STATE, 2, BYTES)      \
	X(FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PID, 3, BYTES)        \
	X(FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_PRIO, 4, BYTES)       \
	X(FTRACE_EVENT_BUNDLE_COMPACT_SCHED_INTERN_TABLE, 5, BYTES)           \
	X(FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_NEXT_COMM_INDEX, 6, BYTES) \
                                                                              \
	X(TRACE_STATS_BUFFER_STATS, 1, BYTES)                                 \
	X(TRACE_STATS_BUFFER_STATS_TRACE_WRITER_PACKET_LOSS, 19, VARINT)      \
	X(TRACE_ATTRIBUTES_ATTRIBUTE, 1, BYTES)                               \
	X(TRACE_ATTRIBUTES_ATTRIBUTE_KEY, 1, BYTES)                           \
	X(TRACE_ATTRIBUTES_ATTRIBUTE_LONG_VALUE, 2, VARINT)                   \
	X(TRACE_ATTRIBUTES_ATTRIBUTE_STRING_VALUE, 3, BYTES)                  \
                                                                              \
	X(TRACK_EVENT_CATEGORY_IIDS, 3, VARINT)                               \
	X(TRACK_EVENT_DEBUG_ANNOTATIONS, 4, BYTES)                            \
	X(TRACK_EVENT_TYPE, 9, VARINT)                                        \
	X(TRACK_EVENT_NAME_IID, 10, VARINT)                                   \
	X(TRACK_EVENT_TRACK_UUID, 11, VARINT)                                 \
	X(TRACK_EVENT_NAME, 23, BYTES)                                        \
	X(TRACK_EVENT_COUNTER_VALUE, 30, VARINT)                              \
	X(TRACK_EVENT_SOURCE_LOCATION_IID, 34, VARINT)                        \
	X(TRACK_EVENT_DOUBLE_COUNTER_VALUE, 44, FIXED64)                      \
	X(TRACK_EVENT_FLOW_IDS, 47, FIXED64)                                  \
	X(TRACK_EVENT_TERMINATING_FLOW_IDS, 48, FIXED64)                      \
	X(TRACK_EVENT_CORRELATION_ID, 52, VARINT)                             \
                                                                              \
	X(DEBUG_ANNOTATION_NAME_IID, 1, VARINT)                               \
	X(DEBUG_ANNOTATION_BOOL_VALUE, 2, VARINT)                             \
	X(DEBUG_ANNOTATION_UINT_VALUE, 3, VARINT)                             \
	X(DEBUG_ANNOTATION_INT_VALUE, 4, VARINT)                              \
	X(DEBUG_ANNOTATION_DOUBLE_VALUE, 5, FIXED64)                          \
	X(DEBUG_ANNOTATION_STRING_VALUE, 6, BYTES)                            \
	X(DEBUG_ANNOTATION_POINTER_VALUE, 7, VARINT)                          \
	X(DEBUG_ANNOTATION_NAME, 10, BYTES)                                   \
                                                                              \
	X(INTERNED_DATA_EVENT_CATEGORIES, 1, BYTES)                           \
	X(INTERNED_DATA_EVENT_NAMES, 2, BYTES)                                \
	X(INTERNED_DATA_DEBUG_ANNOTATION_NAMES, 3, BYTES)                     \
	X(INTERNED_DATA_SOURCE_LOCATIONS, 4, BYTES)                           \
                                                                              \
	X(INTERNED_DATA_FUNCTION_NAMES, 5, BYTES)                             \
	X(INTERNED_DATA_FRAMES, 6, BYTES)                                     \
	X(INTERNED_DATA_CALLSTACKS, 7, BYTES)                                 \
	X(INTERNED_DATA_BUILD_IDS, 16, BYTES)                                 \
	X(INTERNED_DATA_MAPPING_PATHS, 17, BYTES)                             \
	X(INTERNED_DATA_MAPPINGS, 19, BYTES)                                  \
	X(MAPPING_IID, 1, VARINT)                                             \
	X(MAPPING_BUILD_ID, 2, VARINT)                                        \
	X(MAPPING_PATH_STRING_IDS, 7, VARINT)                                 \
	X(FRAME_IID, 1, VARINT)                                               \
	X(FRAME_FUNCTION_NAME_ID, 2, VARINT)                                  \
	X(FRAME_MAPPING_ID, 3, VARINT)                                        \
	X(FRAME_REL_PC, 4, VARINT)                                            \
	X(CALLSTACK_IID, 1, VARINT)                                           \
	X(CALLSTACK_FRAME_IDS, 2, VARINT)                                     \
	X(EVENT_CATEGORY_IID, 1, VARINT)                                      \
	X(EVENT_CATEGORY_NAME, 2, BYTES)                                      \
	X(EVENT_NAME_IID, 1, VARINT)                                          \
	X(EVENT_NAME_NAME, 2, BYTES)                                          \
	X(DEBUG_ANNOTATION_NAME_NAME, 2, BYTES)                               \
	X(SOURCE_LOCATION_IID, 1, VARINT)                                     \
	X(SOURCE_LOCATION_FILE_NAME, 2, BYTES)                                \
	X(SOURCE_LOCATION_FUNCTION_NAME, 3, BYTES)                            \
	X(SOURCE_LOCATION_LINE_NUMBER, 4, VARINT)

/* Wire types: the lowest three bits of a tag. */
enum trace_wire {
	TRACE_WIRE_VARINT = 0,
	TRACE_WIRE_FIXED64 = 1, /* eight bytes, little-endian */
	TRACE_WIRE_BYTES = 2, /* a varint with the length, then the bytes */
};

/* FIELD_TRACE_PACKET_TIMESTAMP and so on, for readers. */
enum trace_field {
#define TRACE_FIELD(name, number, wire) FIELD_##name = (number),
	TRACE_FIELDS(TRACE_FIELD)
#undef TRACE_FIELD
};

/* TAG_TRACE_PACKET_TIMESTAMP and so on: the varint in front of a value. */
enum trace_tag {
#define TRACE_TAG(name, number, wire) \
	TAG_##name = (number) << 3 | TRACE_WIRE_##wire,
	TRACE_FIELDS(TRACE_TAG)
#undef TRACE_TAG
};

/* BuiltinClock, and the clocks that a sequence may define. */
enum trace_clock {
	CLOCK_REALTIME_ID = 1,
	CLOCK_BOOTTIME_ID = 6,
	CLOCK_SEQUENCE_FIRST = 64,
	CLOCK_SEQUENCE_LAST = 127,
};

/* TrackEvent.Type */
enum trace_event_type {
	TYPE_SLICE_BEGIN = 1,
	TYPE_SLICE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
	TYPE_STATE = 5,
};

/* CompactSched.switch_prev_state: the new state of the thread that leaves, with
 * the values of the kernel's sched_switch since Linux 4.14. Perfetto uses these
 * values if SystemInfo.utsname names such a kernel. */
enum trace_sched_state {
	SCHED_STATE_RUNS = 0,
	SCHED_STATE_SLEEPS = 1,
	SCHED_STATE_DEAD = 16,
	SCHED_STATE_IDLE = 128, /* perfrec: unknown */
	SCHED_STATE_PREEMPTED = 256,
};

#endif
