/* SPDX-License-Identifier: Apache-2.0
 *
 * fields - the field numbers of Perfetto's trace format that code of ours
 * writes by hand. All other messages are packed by the code that protoc-c
 * generates from proto/perfetto_trace.proto. Names are those of the format:
 * the message, then its field. scripts/check-proto-numbers.sh compares this
 * list with the .proto, which it compares with a table typed in separately.
 */
#ifndef PERFREC_COLLECTOR_TRACE_FIELDS_H
#define PERFREC_COLLECTOR_TRACE_FIELDS_H

/* X(message and field, number, wire type) */
#define TRACE_FIELDS(X)                                        \
	X(TRACE_PACKET, 1, BYTES)                              \
                                                               \
	X(TRACE_PACKET_TIMESTAMP, 8, VARINT)                   \
	X(TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 10, VARINT) \
	X(TRACE_PACKET_TRACK_EVENT, 11, BYTES)                 \
	X(TRACE_PACKET_INTERNED_DATA, 12, BYTES)               \
	X(TRACE_PACKET_COMPRESSED_PACKETS, 50, BYTES)          \
	X(TRACE_PACKET_TIMESTAMP_CLOCK_ID, 58, VARINT)         \
                                                               \
	X(TRACK_EVENT_CATEGORY_IIDS, 3, VARINT)                \
	X(TRACK_EVENT_DEBUG_ANNOTATIONS, 4, BYTES)             \
	X(TRACK_EVENT_TYPE, 9, VARINT)                         \
	X(TRACK_EVENT_NAME_IID, 10, VARINT)                    \
	X(TRACK_EVENT_TRACK_UUID, 11, VARINT)                  \
	X(TRACK_EVENT_NAME, 23, BYTES)                         \
	X(TRACK_EVENT_COUNTER_VALUE, 30, VARINT)               \
	X(TRACK_EVENT_SOURCE_LOCATION_IID, 34, VARINT)         \
	X(TRACK_EVENT_DOUBLE_COUNTER_VALUE, 44, FIXED64)       \
	X(TRACK_EVENT_FLOW_IDS, 47, FIXED64)                   \
	X(TRACK_EVENT_TERMINATING_FLOW_IDS, 48, FIXED64)       \
	X(TRACK_EVENT_CORRELATION_ID, 52, VARINT)              \
                                                               \
	X(DEBUG_ANNOTATION_NAME_IID, 1, VARINT)                \
	X(DEBUG_ANNOTATION_BOOL_VALUE, 2, VARINT)              \
	X(DEBUG_ANNOTATION_UINT_VALUE, 3, VARINT)              \
	X(DEBUG_ANNOTATION_INT_VALUE, 4, VARINT)               \
	X(DEBUG_ANNOTATION_DOUBLE_VALUE, 5, FIXED64)           \
	X(DEBUG_ANNOTATION_STRING_VALUE, 6, BYTES)             \
	X(DEBUG_ANNOTATION_POINTER_VALUE, 7, VARINT)           \
	X(DEBUG_ANNOTATION_NAME, 10, BYTES)                    \
                                                               \
	X(INTERNED_DATA_EVENT_CATEGORIES, 1, BYTES)            \
	X(INTERNED_DATA_EVENT_NAMES, 2, BYTES)                 \
	X(INTERNED_DATA_DEBUG_ANNOTATION_NAMES, 3, BYTES)      \
	X(INTERNED_DATA_SOURCE_LOCATIONS, 4, BYTES)            \
                                                               \
	X(EVENT_CATEGORY_IID, 1, VARINT)                       \
	X(EVENT_CATEGORY_NAME, 2, BYTES)                       \
	X(EVENT_NAME_IID, 1, VARINT)                           \
	X(EVENT_NAME_NAME, 2, BYTES)                           \
	X(DEBUG_ANNOTATION_NAME_NAME, 2, BYTES)                \
	X(SOURCE_LOCATION_IID, 1, VARINT)                      \
	X(SOURCE_LOCATION_FILE_NAME, 2, BYTES)                 \
	X(SOURCE_LOCATION_FUNCTION_NAME, 3, BYTES)             \
	X(SOURCE_LOCATION_LINE_NUMBER, 4, VARINT)

/* What encodes a field: the lowest three bits of its tag. */
enum trace_wire {
	TRACE_WIRE_VARINT = 0,
	TRACE_WIRE_FIXED64 = 1, /* eight bytes, little-endian */
	TRACE_WIRE_BYTES = 2, /* a varint that says how many, and as many */
};

/* FIELD_TRACE_PACKET_TIMESTAMP and so on: for whoever reads. */
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

/* TrackEvent.Type */
enum trace_event_type {
	TYPE_SLICE_BEGIN = 1,
	TYPE_SLICE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
	TYPE_STATE = 5,
};

#endif
