/* SPDX-License-Identifier: Apache-2.0
 *
 * usual_packet - parses the most frequent packets of a trace, as encode.h
 * writes them: number of the sequence, track event with a type and at most a
 * name, timestamp. Pure, any thread.
 */
#ifndef PERFREC_COLLECTOR_READ_USUAL_PACKET_H
#define PERFREC_COLLECTOR_READ_USUAL_PACKET_H

#include "collector/base/protobuf.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* An end event: 50 S 5a 02 48 02 40 D. */
#define USUAL_PACKET_BYTES_MIN 8

struct usual_packet {
	struct wire event; /* the track event's fields */
	uint64_t name_iid; /* 0 for TYPE_SLICE_END */
	uint64_t step; /* the timestamp */
	uint8_t type; /* TYPE_SLICE_BEGIN or TYPE_SLICE_END */
};

/* Parses @fields of a packet. Returns false for other packets, and for
 * sequences other than @id. */
static inline bool usual_packet_take(struct wire fields, uint64_t id,
				     struct usual_packet *out)
{
	uint64_t sequence;

	if (fields.end - fields.at < USUAL_PACKET_BYTES_MIN ||
	    *fields.at++ != TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID ||
	    !wire_varint(&fields, &sequence) || sequence != id ||
	    fields.end - fields.at < USUAL_PACKET_BYTES_MIN - 2 ||
	    fields.at[0] != TAG_TRACE_PACKET_TRACK_EVENT ||
	    fields.at[2] != TAG_TRACK_EVENT_TYPE)
		return false;
	out->event =
		(struct wire){ fields.at + 2, fields.at + 2 + fields.at[1] };
	out->type = fields.at[3];
	out->name_iid = 0;
	fields.at += 4;
	if (out->type == TYPE_SLICE_BEGIN &&
	    (*fields.at++ != TAG_TRACK_EVENT_NAME_IID ||
	     !wire_varint(&fields, &out->name_iid)))
		return false;
	return (out->type == TYPE_SLICE_BEGIN || out->type == TYPE_SLICE_END) &&
	       fields.at == out->event.end && fields.at != fields.end &&
	       *fields.at++ == TAG_TRACE_PACKET_TIMESTAMP &&
	       wire_varint(&fields, &out->step) && fields.at == fields.end;
}

#endif
