/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/flight_memory_inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/trace/compact.h"
#include "collector/trace/flight_share.h"
#include "collector/trace/packet_look.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* A segment of finished packets is sealed at this length. */
#define SEGMENT_BYTES 16384u
/* Smaller segments are not worth folding. */
#define FOLD_BYTES 2048u

/* --- sequences ----------------------------------------------------------- */

static uint32_t sequence_place(const struct flight_memory *memory, uint32_t id)
{
	return search_first(i, memory->sequence_count,
			    memory->sequences[i]->id >= id);
}

static struct flight_sequence *find_sequence(const struct flight_memory *memory,
					     uint32_t id)
{
	uint32_t at = sequence_place(memory, id);

	if (at == memory->sequence_count || memory->sequences[at]->id != id)
		return NULL;
	return memory->sequences[at];
}

/* Adds @id, which must be new. Returns NULL without memory. */
static struct flight_sequence *add_sequence(struct flight_memory *memory,
					    uint32_t id)
{
	uint32_t at = sequence_place(memory, id);
	struct flight_sequence *sequence;

	if (grow_array(memory->sequences, memory->sequence_room,
		       memory->sequence_count + 1u))
		return NULL;
	sequence = calloc(1, sizeof(*sequence));
	if (!sequence)
		return NULL;
	sequence->id = id;
	sequence->kept = flight_text_new();
	if (!sequence->kept) {
		free(sequence);
		return NULL;
	}
	memory->bytes += sizeof(*sequence) + sequence->kept->memory;
	/* A new thread has the largest id, so nothing moves. */
	memmove(memory->sequences + at + 1, memory->sequences + at,
		(memory->sequence_count - at) * sizeof(*memory->sequences));
	memory->sequences[at] = sequence;
	memory->sequence_count++;
	return sequence;
}

static struct flight_sequence *sequence_of(struct flight_memory *memory,
					   uint32_t id)
{
	struct flight_sequence *sequence = find_sequence(memory, id);

	return sequence ?: add_sequence(memory, id);
}

static void free_sequence(struct flight_sequence *sequence)
{
	flight_text_drop(sequence->kept);
	flight_left_release(&sequence->left);
	free(sequence);
}

/* @sequence has no segment. */
static void forget_sequence(struct flight_memory *memory,
			    struct flight_sequence *sequence)
{
	uint32_t at = sequence_place(memory, sequence->id);

	memory->bytes -= sizeof(*sequence) + sequence->kept->memory +
			 sequence->left.memory;
	memory->sequence_count--;
	memmove(memory->sequences + at, memory->sequences + at + 1,
		(memory->sequence_count - at) * sizeof(*memory->sequences));
	free_sequence(sequence);
}

static void put(struct flight_memory *memory, struct flight_text *text,
		const uint8_t *from, size_t bytes)
{
	uint64_t before = text->memory;

	if (!flight_text_put(text, from, bytes))
		memory->lost++;
	memory->bytes += text->memory - before;
}

/* --- segments ------------------------------------------------------------ */

static void seal(struct flight_memory *memory, struct flight_sequence *sequence)
{
	struct flight_segment *segment = sequence->last;

	if (!sequence->open)
		return;
	sequence->open = false;
	memory->bytes -= segment->text->memory;
	flight_text_trim(segment->text);
	memory->bytes += segment->text->memory;
	if (memory->newest)
		memory->newest->newer = segment;
	else
		memory->oldest = segment;
	memory->newest = segment;
}

static struct flight_segment *begin_segment(struct flight_memory *memory,
					    struct flight_sequence *sequence,
					    uint64_t ns)
{
	struct flight_segment *segment = calloc(1, sizeof(*segment));
	struct flight_text *text = flight_text_new();

	seal(memory, sequence);
	if (!segment || !text) {
		free(segment);
		flight_text_drop(text);
		return NULL;
	}
	segment->of = sequence;
	segment->text = text;
	segment->first_ns = segment->last_ns = ns;
	if (sequence->first)
		sequence->last->next = segment;
	else
		sequence->first = segment;
	sequence->last = segment;
	sequence->open = true;
	memory->bytes += sizeof(*segment) + text->memory;
	return segment;
}

/* Returns all of @text, without a new holder. */
static struct flight_cut cut_of(struct flight_text *text)
{
	return (struct flight_cut){ text, text->last,
				    text->last ? text->last->bytes : 0 };
}

/* Takes the lasting state of @segment, whose bytes are in @cut. @next: the
 * segment after it. */
static void leave(struct flight_memory *memory,
		  const struct flight_segment *segment,
		  const struct flight_cut *cut, const struct flight_cut *next)
{
	struct flight_sequence *sequence = segment->of;
	uint64_t before = sequence->kept->memory + sequence->left.memory;

	flight_segment_leave(segment, cut, next, &sequence->left,
			     sequence->kept);
	memory->bytes += sequence->kept->memory + sequence->left.memory;
	memory->bytes -= before;
	memory->first_ns = MAX(memory->first_ns, segment->last_ns + 1);
}

/* Drops the oldest segment of @sequence, which is sealed, and also @sequence if
 * it is now empty and has ended. */
static void forget_segment(struct flight_memory *memory,
			   struct flight_sequence *sequence)
{
	struct flight_segment *segment = sequence->first;
	struct flight_cut cut = cut_of(segment->text), next = { 0 };

	if (segment->next)
		next = cut_of(segment->next->text);
	leave(memory, segment, &cut, &next);
	memory->bytes -= sizeof(*segment) + segment->text->memory;
	sequence->first = segment->next;
	if (!sequence->first)
		sequence->last = NULL;
	flight_text_drop(segment->text);
	free(segment);
	if (!sequence->first && sequence->ended)
		forget_sequence(memory, sequence);
}

/* Drops the oldest sealed segment, which must exist. Segments of a sequence are
 * sealed in their order. */
static void forget_oldest(struct flight_memory *memory)
{
	struct flight_segment *oldest = memory->oldest;

	memory->oldest = oldest->newer;
	if (!memory->oldest)
		memory->newest = NULL;
	forget_segment(memory, oldest->of);
}

/* Drops segments beyond the time limit at @now_ns. */
static void forget_old(struct flight_memory *memory, uint64_t now_ns)
{
	uint64_t from_ns = now_ns - MIN(now_ns, memory->keep_ns);

	while (memory->oldest && memory->oldest->last_ns < from_ns)
		forget_oldest(memory);
}

/* --- idle threads --------------------------------------------------------- */

/* Replaces the open segment of @sequence by a restart point with its open
 * slices. */
static void fold(struct flight_memory *memory, struct flight_sequence *sequence)
{
	struct flight_segment *segment = sequence->last;
	struct flight_cut cut = cut_of(segment->text), next;
	struct flight_text *text = flight_text_new();
	struct bytes restart = { 0 };
	uint64_t ns;

	if (text && flight_segment_fold(&cut, &ns, &restart) &&
	    flight_text_put(text, restart.at, restart.count)) {
		next = cut_of(text);
		leave(memory, segment, &cut, &next);
		memory->bytes += text->memory;
		memory->bytes -= segment->text->memory;
		flight_text_drop(segment->text);
		segment->text = text;
		segment->first_ns = ns;
		segment->packets = false;
	} else {
		flight_text_drop(text);
	}
	bytes_release(&restart);
}

/* Sweeps rarely, so that the cost stays small with many threads. @full: also
 * folds segments that are idle only for a short time. */
static void sweep_sometimes(struct flight_memory *memory, uint64_t now_ns,
			    bool full)
{
	uint64_t keep_ns = memory->keep_ns;
	uint64_t idle_ns = full ? keep_ns / 64 : keep_ns / 4;

	if (now_ns < memory->sweep_ns + (full ? 0 : keep_ns / 16))
		return;
	for (uint32_t i = 0; i < memory->sequence_count; i++) {
		struct flight_sequence *sequence = memory->sequences[i];

		if (!sequence->open ||
		    sequence->last->last_ns >= now_ns - MIN(now_ns, idle_ns))
			continue;
		if (!sequence->compact)
			seal(memory, sequence);
		else if (sequence->last->text->memory > FOLD_BYTES)
			fold(memory, sequence);
	}
	memory->sweep_ns = now_ns + keep_ns / 64;
}

/* --- the share of the memory --------------------------------------------- */

static void tell_share(struct flight_memory *memory)
{
	/* relaxed: only the holder of the lock changes it */
	uint64_t told = atom_load_rlx(&memory->told_bytes);

	flight_share_count(memory->share, (int64_t)(memory->bytes - told));
	/* relaxed: to compare members */
	atom_store_rlx(&memory->told_bytes, memory->bytes);
}

bool flight_memory_give(struct flight_memory *memory, uint64_t bytes,
			uint64_t now_ns)
{
	uint64_t before;
	bool less;

	lock_acquire(&memory->lock);
	before = memory->bytes;
	if (!memory->oldest)
		sweep_sometimes(memory, now_ns, true);
	while (memory->oldest && memory->bytes + bytes > before)
		forget_oldest(memory);
	less = memory->bytes < before;
	tell_share(memory);
	lock_release(&memory->lock);
	return less;
}

void flight_memory_age(struct flight_memory *memory, uint64_t now_ns)
{
	lock_acquire(&memory->lock);
	forget_old(memory, now_ns);
	sweep_sometimes(memory, now_ns, false);
	tell_share(memory);
	lock_release(&memory->lock);
}

/* --- input ---------------------------------------------------------------- */

/* Returns true if the @bytes at @data start with a restart point. Sets *@ns to
 * its time. */
static bool is_restart(const uint8_t *data, size_t bytes, uint64_t *ns)
{
	struct compact from = { .at = data, .end = data + bytes };
	struct compact_event event = compact_next(&from);

	*ns = from.ns;
	return event.kind == COMPACT_IS_RESTART;
}

static void take_compact(struct flight_memory *memory,
			 const struct flight_block *block)
{
	struct flight_sequence *sequence = sequence_of(memory, block->sequence);
	struct flight_segment *segment = sequence ? sequence->last : NULL;
	uint64_t ns;

	if (sequence && is_restart(block->data, block->own_bytes, &ns)) {
		if (!sequence->compact)
			sequence->start_ns = ns;
		sequence->compact = true;
		segment = begin_segment(memory, sequence, ns);
	} else if (sequence && !sequence->open) {
		segment = NULL;
	}
	if (!segment) {
		memory->lost++;
		return;
	}
	put(memory, segment->text, block->data, block->own_bytes);
	segment->packets |= block->packets;
	segment->last_ns = MAX(segment->last_ns, block->last_ns);
	memory->last_ns = MAX(memory->last_ns, block->last_ns);
}

static void take_stamped(struct flight_memory *memory,
			 struct flight_sequence *sequence,
			 const struct packet_look *packet, const uint8_t *from,
			 size_t bytes)
{
	struct flight_segment *segment = sequence->last;

	if (!sequence->open || segment->text->memory >= SEGMENT_BYTES ||
	    packet->last_ns > segment->first_ns + memory->keep_ns / 8)
		segment = begin_segment(memory, sequence, packet->first_ns);
	if (!segment) {
		memory->lost++;
		return;
	}
	put(memory, segment->text, from, bytes);
	segment->packets = true;
	segment->first_ns = MIN(segment->first_ns, packet->first_ns);
	segment->last_ns = MAX(segment->last_ns, packet->last_ns);
	memory->last_ns = MAX(memory->last_ns, packet->last_ns);
}

static void take_packet(struct flight_memory *memory, struct wire fields,
			const uint8_t *from, size_t bytes)
{
	struct flight_sequence *sequence;
	struct packet_look packet;
	bool event;

	packet_look(fields, &packet);
	event = packet_is_event(&packet);
	sequence = sequence_of(memory, packet.sequence);
	/* Events of a clock with steps must have the compact form. */
	if (!sequence || (event && (sequence->compact || !packet.stamped)))
		memory->lost++;
	else if (event)
		take_stamped(memory, sequence, &packet, from, bytes);
	else
		put(memory, sequence->kept, from, bytes);
}

static void take_packets(struct flight_memory *memory, const uint8_t *packets,
			 size_t bytes)
{
	struct wire left = { .at = packets, .end = packets + bytes };
	const uint8_t *start = packets;
	struct wire_field field;

	for (; wire_next(&left, &field); start = left.at)
		if (field.bytes)
			take_packet(memory, wire_of(&field), start,
				    (size_t)(left.at - start));
}

void flight_memory_describe(struct flight_memory *memory,
			    const uint8_t *packets, size_t bytes)
{
	lock_acquire(&memory->lock);
	take_packets(memory, packets, bytes);
	tell_share(memory);
	lock_release(&memory->lock);
}

void flight_memory_take(struct flight_memory *memory,
			const struct flight_block *block)
{
	uint32_t own = block->compact ? block->own_bytes : 0;
	uint64_t now_ns;

	lock_acquire(&memory->lock);
	if (own)
		take_compact(memory, block);
	take_packets(memory, block->data + own, block->bytes - own);
	/* The last block of a sequence may be empty. */
	if (block->ended) {
		struct flight_sequence *sequence =
			find_sequence(memory, block->sequence);

		if (sequence) {
			sequence->ended = true;
			seal(memory, sequence);
			if (!sequence->first)
				forget_sequence(memory, sequence);
		}
	}
	now_ns = memory->last_ns;
	forget_old(memory, now_ns);
	sweep_sometimes(memory, now_ns, false);
	tell_share(memory);
	lock_release(&memory->lock);
	flight_share_settle(memory->share, now_ns);
}

/* --- life ---------------------------------------------------------------- */

void flight_memory_reach(struct flight_memory *memory, struct flight_reach *out)
{
	lock_acquire(&memory->lock);
	*out = (struct flight_reach){
		.first_ns = memory->first_ns,
		.last_ns = memory->last_ns,
		.bytes = memory->bytes,
		.lost = memory->lost,
		.nearly_full =
			flight_share_is_full(memory->share, memory->bytes, 7),
	};
	lock_release(&memory->lock);
}

int flight_memory_new(struct flight_share *share, uint64_t keep_ns,
		      struct flight_memory **out)
{
	struct flight_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	lock_init(&memory->lock, LOCK_FLIGHT_MEMORY);
	memory->share = share;
	memory->keep_ns = keep_ns;
	flight_share_join(share, memory);
	*out = memory;
	return 0;
}

void flight_memory_free(struct flight_memory **memory)
{
	struct flight_memory *old = *memory;

	if (!old)
		return;
	flight_share_leave(old->share, old);
	flight_share_count(old->share, -(int64_t)old->told_bytes);
	for (uint32_t i = 0; i < old->sequence_count; i++) {
		struct flight_sequence *sequence = old->sequences[i];

		while (sequence->first) {
			struct flight_segment *segment = sequence->first;

			sequence->first = segment->next;
			flight_text_drop(segment->text);
			free(segment);
		}
		free_sequence(sequence);
	}
	free(old->sequences);
	free(old);
	*memory = NULL;
}
