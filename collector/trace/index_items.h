/* SPDX-License-Identifier: Apache-2.0
 *
 * index_items - the format of trace.index; docs/TRACE.md describes its use. The
 * file is a header and batches of items.
 *
 * Numbers of fixed size are little-endian. An item is a row of varints
 * (base/varint.h): its kind, the number of bytes that follow, and these bytes.
 * A reader skips unknown kinds, and bytes behind the members that it knows.
 * Pure code; any thread, each with its own buffers.
 */
#ifndef PERFREC_COLLECTOR_TRACE_INDEX_ITEMS_H
#define PERFREC_COLLECTOR_TRACE_INDEX_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;

#define INDEX_MAGIC "perfidx\n"
#define INDEX_VERSION 1
#define INDEX_HEADER_BYTES 16 /* magic, u32 version, u32 0 */

#define INDEX_BATCH_BYTES 32
struct index_batch {
	uint32_t bytes;
	uint32_t crc; /* CRC-32 of the rest of the head and of the items */
	uint64_t trace_bytes; /* length of the trace prefix that this and all
			       * earlier batches describe */
	uint32_t tail_crc; /* CRC-32 of the last INDEX_TAIL_BYTES of the prefix,
			    * or of all of a shorter one */
	uint64_t number;
};
#define INDEX_TAIL_BYTES 64
/* A batch with more is damaged. */
#define INDEX_BATCH_ITEMS_MAX (64u << 20)

enum index_kind {
	/* A text. Texts are numbered from 1 in the order of the file.
	 *   its bytes */
	INDEX_TEXT = 1,
	/* The meaning of an interned id on a sequence.
	 *   sequence, iid, number of the text */
	INDEX_IID = 2,
	/* A packet without a time that each reader needs: it describes a track
	 * or interned ids.
	 *   sequence, the packet without tag and length */
	INDEX_PACKET = 3,
	/* The items that follow are about the packets of a sequence that begin
	 * here: NODE, CHECKPOINT, CHUNK, CELLS, SEQUENCE_END, VALUE, TIMES, and
	 * the COUNTER, CURVE and CURVES_END that are not apart.
	 *   sequence, offset of the packets or of their bundle in the file,
	 *   offset in the unpacked bundle + 1 (0: not in a bundle) */
	INDEX_BLOCK = 4,
	/* A node of the sequence's calling-context tree.
	 *   its number, from 1 in the order of the file; number of the parent
	 *   (0: the root; it may follow); iid of the function's name (0:
	 *   INDEX_WAIT_NAME) */
	INDEX_NODE = 5,
	/* A place where a reader can start.
	 *   time of the last event before, in ns of CLOCK_BOOTTIME; number of
	 *   the chunk of the packets; number of open slices that are the same
	 *   as at the checkpoint before (0: first of its chunk); number of
	 *   other open slices, and for each of these, outermost first: number
	 *   of the node * 2 + 1 if its BEGIN has more than a name; its
	 *   time minus that of the slice around it */
	INDEX_CHECKPOINT = 6,
	/* The sums of a chunk. The chunk begins with the first checkpoint of
	 * its number, and ends with the packets of this item.
	 *   number of the chunk; flags; times of the last event before it and
	 *   of its last event; about how many spans began; calls that marks
	 *   report as lost, and as not recorded in a pause; number of nodes,
	 *   and for each: its number minus that of the node before (zigzag),
	 *   calls that ended, time of all calls within the chunk, longest call
	 *   that ended */
	INDEX_CHUNK = 7,
	/* The last value of a counter, or the last state of a track, in the
	 * packets since the checkpoint before. Values with an absolute time are
	 * separate: the last one in the packets of this block.
	 *   time; the fields of its TrackEvent */
	INDEX_VALUE = 8,
	/* Data that was interned within the packets of a block: as
	 * INDEX_PACKET, but only the InternedData. */
	INDEX_INTERNED = 9,
	/* A stretch of the file.
	 *   offset, bytes; smallest and greatest time of its events without
	 *   waits (0, 0: no times), as ns and difference; the same for switches
	 *   of threads from the kernel; 1 if some events have an unknown time;
	 *   number of sequences, and for each its number minus that of the one
	 *   before */
	INDEX_EXTENT = 10,
	/* The end of a sequence: no slice is open, no packets follow.
	 *   sequence, time of the last event */
	INDEX_SEQUENCE_END = 11,
	/* A block of a level of detail of the sequence (index_cells.h).
	 *   level; number of the first chunk, number of further chunks; time of
	 *   the last event before, and of its last event as a difference; about
	 *   how many spans began; number and time of calls in dropped cells of
	 *   the deepest slices; shift; cells until the end.
	 *   A cell in the bucket of the cell before: row minus that row, * 2.
	 *   Other cells: bucket minus that bucket, * 2 + 1; row. The first one
	 *   follows on the bucket of the time before, minus 1.
	 *   Row 0: calls that marks report as lost, and as not recorded in a
	 *   pause. Other rows have slices that ended in the bucket with row - 1
	 *   slices around them: (number of the longest slice's node minus that
	 *   of the row's cell before, zigzag) * 2 + 1 if there are several; its
	 *   end minus the start of the bucket; its duration; if there are
	 *   several, their number, and the time of the others */
	INDEX_CELLS = 14,
	/* The recording has ended, and the index is complete. */
	INDEX_END = 12,
	/* Some packets of the block have an absolute time, which may be any
	 * earlier time.
	 *   smallest and greatest such time, as ns and difference */
	INDEX_TIMES = 13,
	/* A counter with curves. Its values are on a thread's sequence, or
	 * apart: on no sequence of a thread.
	 *   1 if apart; its number; uuid of its track (0: the sequence's own);
	 *   1 if its values are doubles, 0 if int64_t */
	INDEX_COUNTER = 15,
	/* A block of a counter's curve (index_curves.h). A block of level N has
	 * all blocks of level 0 since the block of level N before.
	 *   level * 2 + 1 if apart; number of the counter; number of values;
	 *   shift; first bucket; last bucket minus the first; buckets until the
	 *   end.
	 *   A bucket: (number minus that of the bucket before, at first of the
	 *   first) * 8 + 4 if it has several values, + 2 if the greatest, + 1
	 *   if the least is not the last value; time of the last value minus
	 *   start of the bucket; last value minus that of the bucket before (at
	 *   first 0); least and greatest minus the last, where flagged.
	 *   Differences are zigzag; for doubles they are the xor of the bits,
	 *   byte-swapped */
	INDEX_CURVE = 16,
	/* The curves have all values of the sequence, or all values that are
	 * apart.
	 *   1 if apart */
	INDEX_CURVES_END = 17,
	/* Data of the next extent that a cut needs. The items of the two kinds
	 * below follow it. All three are about events outside the sequences of
	 * threads.
	 *   INDEX_REST_LOST or 0; smallest and greatest time of these events,
	 *   as ns and difference, and the greatest without waits (0, 0, 0: no
	 *   events). Switches do not count here */
	INDEX_REST = 20,
	/* A track with such slices or values in the extent.
	 *   its uuid; number of slices that were open when the extent began and
	 *   still are; until the end: length and fields of packets that begin
	 *   the other open slices, and that have the last value or state */
	INDEX_TRACK = 21,
	/* Switches of threads in the extent: the last ones of each thread and
	 * of each CPU.
	 *   sequence; until the end, for each: CPU; ns minus that of the one
	 *   before (zigzag); the threads that left and came (0: none of the
	 *   recording); prev_state * 2 + 1 if switches behind it are missing */
	INDEX_SWITCHES = 22,
};

#define INDEX_WAIT_NAME "perfrec: waiting for collector"

/* INDEX_REST: something was dropped here or before; read the trace instead. */
#define INDEX_REST_LOST 1u

/* INDEX_CHUNK: the sums are unreliable; read the trace instead. */
#define INDEX_CHUNK_ROUGH 1u

void index_put_item(struct bytes *out, enum index_kind kind,
		    const void *payload, size_t bytes);
/* Writes the INDEX_BATCH_BYTES of @batch to @out, with the CRC for @items.
 * Ignores batch->crc. */
void index_put_batch(uint8_t *out, const struct index_batch *batch,
		     const void *items);
/* Reads the head of a batch without checking its CRC. */
void index_get_batch(const uint8_t *from, struct index_batch *out);
/* Returns true if the CRC of @batch, whose head is at @head, is right. */
bool index_check_batch(const uint8_t *head, const struct index_batch *batch,
		       const void *items);
uint32_t index_crc(const void *bytes, size_t count);

struct index_get {
	const uint8_t *at, *end;
	bool bad; /* a number ended early or had more than 64 bits */
};

/* Returns the next number, or sets bad and returns 0. */
uint64_t index_get_number(struct index_get *get);
/* Reads the next item and sets *@payload. Returns its kind. Returns 0 at the
 * end, and sets items->bad if the rest is not an item. */
uint32_t index_get_item(struct index_get *items, struct index_get *payload);

static inline uint64_t index_zigzag(int64_t number)
{
	return (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0);
}

static inline int64_t index_unzigzag(uint64_t number)
{
	return (int64_t)(number >> 1 ^ (0 - (number & 1)));
}

#endif
