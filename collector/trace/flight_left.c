/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/flight_left.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* Limits of tracks and slices, so that a program cannot make the collector keep
 * more. Others are lost. */
#define TRACKS_MAX 65536u
#define BEGINS_MAX 1024u
#define SLOTS_FIRST 16u

static void release_left_packet(struct left_packet *packet)
{
	free(packet->bytes);
	*packet = (struct left_packet){ 0 };
}

void flight_left_release(struct flight_left *left)
{
	for (uint32_t i = 0; i < left->count; i++) {
		struct left_track *track = &left->tracks[i];

		release_left_packet(&track->value);
		for (uint32_t j = 0; j < track->begin_count; j++)
			release_left_packet(&track->begins[j]);
		free(track->begins);
	}
	free(left->tracks);
	free(left->slots);
	*left = (struct flight_left){ 0 };
}

/* --- tracks -------------------------------------------------------------- */

static uint32_t *track_slot(const struct flight_left *left, uint64_t uuid)
{
	uint32_t at = (uint32_t)(uuid * 0x9e3779b97f4a7c15u >> 32);

	while (left->slots[at & left->mask] &&
	       left->tracks[left->slots[at & left->mask] - 1].uuid != uuid)
		at++;
	return &left->slots[at & left->mask];
}

static bool grow_track_slots(struct flight_left *left)
{
	uint32_t slots = left->slots ? 2 * (left->mask + 1) : SLOTS_FIRST;

	if (left->slots && 2 * left->count <= left->mask)
		return true;
	free(left->slots);
	left->slots = calloc(slots, sizeof(*left->slots));
	left->mask = slots - 1;
	for (uint32_t i = 0; left->slots && i < left->count; i++)
		*track_slot(left, left->tracks[i].uuid) = i + 1;
	return left->slots;
}

/* Returns NULL for a new track without memory or room. */
static struct left_track *left_track_of(struct flight_left *left, uint64_t uuid)
{
	uint32_t *slot;

	if (!grow_track_slots(left)) {
		/* Without slots the tracks cannot be found any more. */
		flight_left_release(left);
		left->lost = true;
		return NULL;
	}
	slot = track_slot(left, uuid);
	if (*slot)
		return &left->tracks[*slot - 1];
	if (left->count == TRACKS_MAX ||
	    grow_array(left->tracks, left->room, left->count + 1u))
		return NULL;
	left->tracks[left->count] = (struct left_track){ .uuid = uuid };
	*slot = ++left->count;
	left->memory += sizeof(struct left_track);
	return &left->tracks[left->count - 1];
}

/* --- packets ------------------------------------------------------------- */

static bool copy_packet(struct left_packet *out, uint64_t ns, uint64_t delta_ns,
			const uint8_t *bytes, size_t count)
{
	*out = (struct left_packet){ .ns = ns,
				     .delta_ns = delta_ns,
				     .bytes = malloc(count),
				     .count = (uint32_t)count };
	if (!out->bytes) {
		out->count = 0;
		return false;
	}
	memcpy(out->bytes, bytes, count);
	return true;
}

static bool keep_begin(struct left_track *track, const struct left_event *event)
{
	struct left_packet packet;

	if (track->begin_count == BEGINS_MAX ||
	    grow_array(track->begins, track->begin_room,
		       track->begin_count + 1u) ||
	    !copy_packet(&packet, event->ns, event->delta_ns, event->packet,
			 event->bytes))
		return false;
	track->begins[track->begin_count++] = packet;
	return true;
}

static bool keep_value(struct flight_left *left, struct left_track *track,
		       const struct left_event *event)
{
	left->memory -= track->value.count;
	release_left_packet(&track->value);
	return copy_packet(&track->value, event->ns, event->delta_ns,
			   event->packet, event->bytes);
}

/* Ends on the sequence's own track never arrive here: flight_left_only(). */
static void forget_begin(struct flight_left *left, struct left_track *track)
{
	struct left_packet *packet;

	if (!track->uuid || !track->begin_count)
		return;
	packet = &track->begins[--track->begin_count];
	left->memory -= packet->count;
	release_left_packet(packet);
}

void flight_left_take(struct flight_left *left, const struct left_event *event)
{
	struct left_track *track;
	bool kept = true;

	if (event->type == TYPE_INSTANT)
		return;
	track = left_track_of(left, event->track);
	if (!track) {
		left->lost = true;
		return;
	}
	if (event->type == TYPE_SLICE_END) {
		forget_begin(left, track);
		return;
	}
	kept = event->type == TYPE_SLICE_BEGIN ? keep_begin(track, event)
					       : keep_value(left, track, event);
	left->lost |= !kept;
	left->memory += kept ? event->bytes : 0;
}

void flight_left_copy(const struct flight_left *left, struct flight_left *out)
{
	for (uint32_t i = 0; i < left->count; i++) {
		const struct left_track *from = &left->tracks[i];
		struct left_event event = { .track = from->uuid,
					    .type = TYPE_SLICE_BEGIN };

		for (uint32_t j = 0; j <= from->begin_count; j++) {
			const struct left_packet *packet =
				j < from->begin_count ? &from->begins[j]
						      : &from->value;

			if (j == from->begin_count)
				event.type = TYPE_COUNTER;
			if (!packet->bytes)
				continue;
			event.ns = packet->ns;
			event.delta_ns = packet->delta_ns;
			event.packet = packet->bytes;
			event.bytes = packet->count;
			flight_left_take(out, &event);
		}
	}
	out->lost |= left->lost;
}

/* --- the track of the sequence ------------------------------------------- */

static struct left_track *own_track(const struct flight_left *left)
{
	uint32_t *slot = left->slots ? track_slot(left, 0) : NULL;

	return slot && *slot ? &left->tracks[*slot - 1] : NULL;
}

void flight_left_only(struct flight_left *left, const uint64_t *begins,
		      uint32_t count)
{
	struct left_track *track = own_track(left);
	uint32_t keep, at;

	if (!track)
		return;
	/* Innermost first: of two begins at one time the later one is still
	 * open. */
	keep = at = track->begin_count;
	while (at--) {
		struct left_packet packet = track->begins[at];

		while (count && begins[count - 1] > packet.ns)
			count--;
		if (count && begins[count - 1] == packet.ns) {
			track->begins[at] = track->begins[--keep];
			track->begins[keep] = packet;
			count--;
		} else {
			left->memory -= packet.count;
			release_left_packet(&track->begins[at]);
		}
	}
	memmove(track->begins, track->begins + keep,
		(track->begin_count - keep) * sizeof(*track->begins));
	track->begin_count -= keep;
}

const struct left_packet *flight_left_begin(const struct flight_left *left,
					    uint64_t ns)
{
	const struct left_track *track = own_track(left);

	for (uint32_t i = track ? track->begin_count : 0; i--;)
		if (track->begins[i].ns == ns)
			return &track->begins[i];
	return NULL;
}
