/* SPDX-License-Identifier: Apache-2.0
 *
 * index_items - the form of trace.index, byte by byte: docs/INDEX.md says what
 * it is for. The file is a header and batches; a batch has items.
 *
 * All numbers of fixed size are little-endian. The items are varints (see
 * base/varint.h): its kind, how many bytes follow, and these. A reader passes
 * over a kind that it does not know, and over what follows the members that it
 * knows. Pure code; any thread, each with its own buffers.
 */
#ifndef PERFREC_COLLECTOR_INDEX_INDEX_ITEMS_H
#define PERFREC_COLLECTOR_INDEX_INDEX_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;

#define INDEX_MAGIC "perfidx\n"
#define INDEX_VERSION 1
#define INDEX_HEADER_BYTES 16 /* magic, u32 version, u32 0 */

/* In front of the items of a batch. */
#define INDEX_BATCH_BYTES 32
struct index_batch {
	uint32_t bytes; /* of the items */
	uint32_t crc; /* CRC-32 of the rest of this head, and of the items */
	uint64_t trace_bytes; /* the first so many bytes of the trace are
			       * indexed by this batch and those before it */
	uint32_t tail_crc; /* CRC-32 of the last INDEX_TAIL_BYTES of these, or
			    * of all if they are fewer */
	uint64_t number; /* of the batch, from 0 on */
};
#define INDEX_TAIL_BYTES 64
/* A batch with more is damage. */
#define INDEX_BATCH_ITEMS_MAX (64u << 20)

enum index_kind {
	/* A text. The first of the file has number 1, and so on.
	 *   its bytes */
	INDEX_TEXT = 1,
	/* What a number stands for on a sequence.
	 *   sequence, iid, number of the text */
	INDEX_IID = 2,
	/* A packet without a time, which a reader needs wherever it begins: it
	 * describes a track, or says what numbers stand for.
	 *   sequence, its bytes, without tag and length */
	INDEX_PACKET = 3,
	/* The items that follow, of the kinds NODE, CHECKPOINT, CHUNK, CELLS,
	 * SEQUENCE_END, VALUE and TIMES, are about the packets of a sequence
	 * that begin here; and COUNTER, CURVE, CURVES_END of the sequence, if
	 * they are not apart.
	 *   sequence, offset in the file: of the packets, or of the bundle that
	 *   has them; offset in the unpacked bundle + 1, or 0: not in a bundle
	 */
	INDEX_BLOCK = 4,
	/* A node of the sequence's calling-context tree.
	 *   number, from 1 on in the order of the file; number of the parent
	 *   (0: the root; it may follow); iid of the function's name (0: it is
	 *   INDEX_WAIT_NAME) */
	INDEX_NODE = 5,
	/* Here a reader can begin.
	 *   time of the last event before, in ns of CLOCK_BOOTTIME; number of
	 *   the chunk that the packets belong to; how many open slices are as
	 *   at the checkpoint before, 0 if this is the first of its chunk; how
	 *   many more there are; for each of them, outermost first, number of
	 *   the node * 2 + 1 if its begin has more than a name; its begin minus
	 *   that of the slice around it */
	INDEX_CHECKPOINT = 6,
	/* All of a chunk: it begins with the first checkpoint that has its
	 * number, and ends with the packets that this item is about.
	 *   number of the chunk; flags; times of the last event before it and
	 *   of its last event; spans that began, about; calls that marks in it
	 *   say were lost, and were not recorded in a pause; nodes, and for
	 *   each: number of the node minus that of the one before it (zigzag),
	 *   calls that ended, their time within the chunk with that of the
	 *   calls that go on, longest of those that ended */
	INDEX_CHUNK = 7,
	/* The last value of a counter, or the last state of a track, that the
	 * packets have from the checkpoint before on; of those with an
	 * absolute time it is told apart, and that of the packets at hand.
	 *   time; the fields of its TrackEvent */
	INDEX_VALUE = 8,
	/* Bytes that were interned within the packets of a block: as
	 * INDEX_PACKET, but only the InternedData. */
	INDEX_INTERNED = 9,
	/* A stretch of the file.
	 *   offset, bytes, smallest and greatest time of its events but for
	 *   waits (0, 0: it has none with a time) as ns and difference, the
	 *   same of switches of threads that the kernel has told, 1 if there
	 *   are events whose time is not known, how many sequences, and for
	 *   each its number minus that of the one before it */
	INDEX_EXTENT = 10,
	/* A sequence has ended: nothing is open, and no packets follow.
	 *   sequence, time of the last event */
	INDEX_SEQUENCE_END = 11,
	/* A level of detail of the sequence (index_cells.h): a block of it.
	 *   level; number of the first chunk, how many follow; time of the
	 *   last event before it, and of its last event as a difference; spans
	 *   that began, about; calls and their time in cells that are left
	 *   out, of the deepest slices; shift, and then cells until the end.
	 *   A cell of the bucket of the cell before: row minus that of it, * 2;
	 *   else: bucket minus that of it, * 2 + 1, and row. At first, bucket
	 *   is that of the time before minus 1. Row 0: calls that marks say
	 *   were lost, and were not recorded in a pause. Else, of what ended
	 *   in the bucket with row - 1 slices around it: (number of the node
	 *   of the longest minus that of the cell of this row before, zigzag)
	 *   * 2 + 1 if there are several; its end minus the begin of the
	 *   bucket; its duration; and if there are several, how many, and the
	 *   time of the others */
	INDEX_CELLS = 14,
	/* The recording has ended, and the index has all of the trace. */
	INDEX_END = 12,
	/* There are events with an absolute time among the packets, which may
	 * be any time before.
	 *   smallest and greatest such time, as ns and difference */
	INDEX_TIMES = 13,
	/* A counter whose values are told of as curves: those that are on a
	 * thread's sequence, or, apart, those that are on no such one.
	 *   1 if apart; its number; uuid of its track (0: that of the
	 *   sequence); 1 if its values are doubles, else they are int64_t */
	INDEX_COUNTER = 15,
	/* A block of the curve of a counter (index_curves.h). One of level N
	 * has all of those of level 0 that came since the one of level N before
	 * it.
	 *   level * 2 + 1 if apart; number of the counter; how many values;
	 *   shift; first bucket; last one minus that; and then buckets until
	 *   the end: (number minus that of the one before, at first of the
	 *   first) * 8 + 4 if it has several values, + 2 if it has a greatest
	 *   one, + 1 if it has a least one: else they are the last one; time of
	 *   the last value minus begin of the bucket; last value minus that of
	 *   the bucket before, at first 0, least and greatest minus the last
	 *   (zigzag; of doubles: the bits of both that differ, as a number
	 *   whose least significant byte is the first one) */
	INDEX_CURVE = 16,
	/* The curves have all values of the sequence, or all that are apart.
	 *   1 if apart */
	INDEX_CURVES_END = 17,
	/* What a cut needs to know of the next extent, which follows, and of
	 * which the items of the two kinds below are, too. Here and there
	 * events are meant that are of no thread's own sequence.
	 *   INDEX_REST_LOST or 0; smallest and greatest time of them, as ns and
	 *   difference, and the greatest but for waits (0, 0, 0: there are
	 *   none); switches are not among these */
	INDEX_REST = 20,
	/* A track that has such slices or values in the extent.
	 *   its uuid; how many of the slices that were open when the extent
	 *   began are open still; to the end: length and fields of packets,
	 *   which begin the other open slices, and the last value or state */
	INDEX_TRACK = 21,
	/* Switches of threads in the extent: the last ones of each thread, and
	 * of each CPU.
	 *   sequence; to the end, for each: CPU, ns minus that of the one
	 *   before it (zigzag), threads that left and came (0: none of the
	 *   recording), prev_state * 2 + 1 if switches are missing behind it */
	INDEX_SWITCHES = 22,
};

#define INDEX_WAIT_NAME "perfrec: waiting for collector"

/* In INDEX_REST: not all was kept, here or before; read the trace. */
#define INDEX_REST_LOST 1u

/* In INDEX_CHUNK: the sums are not to be relied on; read the trace. */
#define INDEX_CHUNK_ROUGH 1u

/* Appends an item of @kind with the @bytes at @payload to @out. */
void index_put_item(struct bytes *out, enum index_kind kind,
		    const void *payload, size_t bytes);
/* Writes @batch at @out, which has INDEX_BATCH_BYTES, with its crc for the
 * items at @items; batch->crc is ignored. */
void index_put_batch(uint8_t *out, const struct index_batch *batch,
		     const void *items);
/* Reads the head of a batch. The crc is not looked at. */
void index_get_batch(const uint8_t *from, struct index_batch *out);
/* Whether the crc of @batch, whose head lies at @head, is right. */
bool index_check_batch(const uint8_t *head, const struct index_batch *batch,
		       const void *items);
/* The CRC-32 of zlib of @count bytes. */
uint32_t index_crc(const void *bytes, size_t count);

/* Bytes that are being taken apart. */
struct index_get {
	const uint8_t *at, *end;
	bool bad; /* a number was cut, or had more than 64 bits */
};

/* The next number; 0 and bad: there is none. */
uint64_t index_get_number(struct index_get *get);
/* Takes the next item off @items; *@payload is what is in it. Returns its kind,
 * or 0: there are no more, or, if items->bad, what is left is no item. */
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
