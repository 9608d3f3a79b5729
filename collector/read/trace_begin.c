/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/trace_begin.h"

#include <stdlib.h>

#include "collector/base/bytes.h"
#include "collector/read/trace_packets.h"
#include "collector/trace/fields.h"

struct glance {
	uint64_t id, type, track, stamp, clock;
};

static struct glance glance_at(struct wire fields)
{
	struct glance seen = { 0 };
	struct wire_field field;

	while (wire_next(&fields, &field)) {
		struct wire event = wire_of(&field);

		if (field.tag == TAG_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID)
			seen.id = field.value;
		else if (field.tag == TAG_TRACE_PACKET_TIMESTAMP)
			seen.stamp = field.value;
		else if (field.tag == TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID)
			seen.clock = field.value;
		if (field.tag != TAG_TRACE_PACKET_TRACK_EVENT)
			continue;
		while (wire_next(&event, &field))
			if (field.tag == TAG_TRACK_EVENT_TYPE)
				seen.type = field.value;
			else if (field.tag == TAG_TRACK_EVENT_TRACK_UUID)
				seen.track = field.value;
	}
	return seen;
}

struct search {
	uint64_t id;
	uint64_t ns; /* clock of the sequence */
	uint64_t begin_ns;
	uint32_t open, depth;
	bool over; /* later packets cannot match */
};

/* Follows an event. Returns true if it may be the wanted start; the last such
 * event is. */
static bool settles_begin(struct search *search, const struct glance *seen)
{
	bool absolute = seen->clock && seen->clock < CLOCK_SEQUENCE_FIRST;
	uint64_t ns = seen->stamp;

	if (seen->id != search->id || !seen->type)
		return false;
	/* A trace that gave up its start (--keep last) has absolute times for
	 * slices that were open there. */
	if (absolute && seen->type != TYPE_SLICE_BEGIN)
		return false;
	if (!absolute)
		ns = search->ns += seen->stamp;
	search->over = search->ns > search->begin_ns;
	if (search->over || seen->track)
		return false;
	if (seen->type == TYPE_SLICE_END)
		search->open -= search->open > 0;
	return seen->type == TYPE_SLICE_BEGIN &&
	       search->open++ == search->depth && ns == search->begin_ns;
}

static bool search_packets(const char *path, struct search *search,
			   struct packet_place place, struct bytes *found)
{
	const struct file_stretch all = { place.offset, UINT64_MAX };
	struct trace_packets *packets;
	struct trace_packet_bytes bytes;

	bytes_clear(found);
	if (trace_packets_open(path, &packets) < 0)
		return false;
	trace_packets_only(packets, &all, 1);
	while (!search->over && !found->failed &&
	       trace_packets_next(packets, &bytes) > 0) {
		struct wire fields = { bytes.at, bytes.at + bytes.count };
		struct glance seen;

		if (packet_place_before(trace_packets_place(packets), place))
			continue;
		seen = glance_at(fields);
		if (!settles_begin(search, &seen))
			continue;
		bytes_clear(found);
		bytes_put(found, bytes.at, bytes.count);
	}
	trace_packets_close(&packets);
	return found->count && !found->failed;
}

/* Goes back from checkpoint *@number to one without the slice: a slice with an
 * absolute time may be open before the clock of the sequence reaches it. Sets
 * search->open. Returns false if the index is damaged. */
static bool find_start(const struct index_sequence *sequence, uint32_t *number,
		       struct search *search)
{
	for (;; --*number) {
		struct index_stack stack;
		bool open;

		if (trace_index_stack(sequence, *number, &stack))
			return false;
		open = search->depth < stack.count &&
		       stack.slices[search->depth].begin_ns == search->begin_ns;
		search->open = stack.count;
		free(stack.slices);
		if (!open || !*number)
			return true;
	}
}

bool trace_begin_find(const char *path, const struct index_sequence *sequence,
		      uint64_t begin_ns, uint32_t depth, struct bytes *found)
{
	uint32_t number = index_checkpoints_before(sequence, begin_ns);
	const struct index_checkpoint *checkpoint;
	struct search search = { .id = sequence->id,
				 .begin_ns = begin_ns,
				 .depth = depth };

	number -= number > 0;
	if (!find_start(sequence, &number, &search))
		return false;
	checkpoint = &sequence->checkpoints[number];
	search.ns = checkpoint->ns;
	return search_packets(path, &search, checkpoint->place, found);
}
