/* SPDX-License-Identifier: Apache-2.0
 *
 * usual_packet - the packets that a trace mostly has, as encode.h writes them:
 * number of the sequence, track event with a type and at most a name,
 * timestamp. Pure, any thread.
 */
#ifndef PERFREC_COLLECTOR_READ_USUAL_PACKET_H
#define PERFREC_COLLECTOR_READ_USUAL_PACKET_H

#include "collector/read/trace_wire.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* An end: 50 S 5a 02 48 02 40 D. */
#define USUAL_PACKET_BYTES_MIN 8

struct usual_packet {
	uint64_t name_iid; /* of a begin; of an end 0 */
	uint64_t step; /* its timestamp */
	uint8_t type; /* TYPE_SLICE_BEGIN or TYPE_SLICE_END */
};

/* Takes @fields, those of a packet, apart. False: it is another packet, or one
 * of another sequence than @id. */
static inline bool usual_packet_take(struct wire fields, uint64_t id,
				     struct usual_packet *out)
{
	uint64_t sequence;
	const uint8_t *event;

	if (fields.end - fields.at < USUAL_PACKET_BYTES_MIN ||
	    *fields.at++ != TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID ||
	    !wire_varint(&fields, &sequence) || sequence != id ||
	    fields.end - fields.at < USUAL_PACKET_BYTES_MIN - 2 ||
	    fields.at[0] != TAG_TRACE_PACKET_TRACK_EVENT ||
	    fields.at[2] != TAG_TRACK_EVENT_TYPE)
		return false;
	event = fields.at + 2;
	out->type = fields.at[3];
	out->name_iid = 0;
	fields.at += 4;
	if (out->type == TYPE_SLICE_BEGIN &&
	    (*fields.at++ != TAG_TRACK_EVENT_NAME_IID ||
	     !wire_varint(&fields, &out->name_iid)))
		return false;
	return (out->type == TYPE_SLICE_BEGIN || out->type == TYPE_SLICE_END) &&
	       fields.at == event + event[-1] && fields.at != fields.end &&
	       *fields.at++ == TAG_TRACE_PACKET_TIMESTAMP &&
	       wire_varint(&fields, &out->step) && fields.at == fields.end;
}

#endif
