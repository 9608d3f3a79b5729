/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_parts - reads the parts of a trace that matter for ranges of time. A
 * consumer ends in the same state for the ranges as if it had read the whole
 * trace. Skipped packets are replaced by packets with the same effect, and by
 * reports of their outcome:
 *
 *   - A thread's sequence has the packets around a range. Before
 *     them come PART_RESTART and the begins of the open slices.
 *   - Other packets are returned extent by extent (docs/TRACE.md). A skipped
 *     extent is replaced by its packets without a time, the last values and
 *     states, the outcome of open slices (PART_TRACK), and the last switches of
 *     threads (PART_SWITCH).
 *
 * Without an index, or if the index lacks these data, all packets of the file
 * are returned. The file may be hostile. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_PARTS_H
#define PERFREC_COLLECTOR_READ_TRACE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/time_range.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_packets.h"
#include "collector/read/trace_switches.h"

enum trace_part_kind {
	PART_PACKET,
	/* The packets of a sequence up to the event at ns were skipped; none of
	 * them was in a range, or they are in chunks to skip. The begins of its
	 * open slices follow, outermost first, with an absolute time. There are
	 * none if the sequence has no more packets. */
	PART_RESTART,
	/* Events of a track were skipped, none before ns and none in a range.
	 * Only the outermost count of the open slices are still open. Skipped
	 * begins may follow. */
	PART_TRACK,
	/* A switch on a CPU; earlier ones were skipped. */
	PART_SWITCH,
};

struct trace_part {
	enum trace_part_kind kind;
	struct trace_packet_bytes bytes; /* PART_PACKET; until the next call */
	/* PART_PACKET: it begins the next open slice behind a PART_RESTART, at
	 * ns. */
	bool seed;
	/* seed, with choice.callees: the time of the slice's ended callees in the
	 * packets skipped since its sequence was returned last; an open callee
	 * has its own. */
	uint64_t callee_ns;
	uint32_t sequence; /* PART_RESTART, PART_SWITCH */
	uint64_t ns;
	/* PART_RESTART: the last event before the skipped packets; 0: none. */
	uint64_t left_ns;
	bool anew; /* PART_RESTART: chunks of the range were skipped */
	uint64_t uuid, count; /* PART_TRACK */
	struct trace_switch at; /* PART_SWITCH */
};

struct trace_parts;

/* Returns true if packets of the thread's @sequence matter in a range. */
typedef bool trace_parts_has(void *context,
			     const struct index_sequence *sequence);
/* Returns true if chunk @number of @sequence matters. */
typedef bool trace_parts_wants(void *context,
			       const struct index_sequence *sequence,
			       uint32_t number);

enum parts_skips {
	PARTS_SKIP_NONE,
	PARTS_SKIP_CHUNKS, /* whose sums are in the index */
	PARTS_SKIP_DETAILED, /* only chunks with cells in the index */
};

/* The parts that matter. Other packets may also be returned. */
struct parts_choice {
	const struct time_range *ranges; /* sorted and disjoint */
	uint32_t range_count;
	/* One range only: also the packets with the ends of the slices that are
	 * open behind it. */
	bool ends;
	/* With ends and all sequences: the times of the callees of these slices
	 * are exact. Reads the chunks where such slices begin or end, and has the
	 * sums of the chunks between. */
	bool callees;
	trace_parts_has *has; /* NULL: all sequences */
	bool no_rest; /* skip events without a thread */
	/* Only slices and instants of threads. The consumer takes descriptions
	 * and names from the index. */
	bool calls_only;
	/* With one range and calls_only: skip successive chunks of a sequence
	 * inside the range. Their slices and the slices open there end at their
	 * start, and begin again behind them. */
	enum parts_skips skips;
	/* Not NULL: chunks of threads instead of ranges. Packets outside of
	 * chunks may be missing. Chunks that the index does not fully describe
	 * are always returned. Needs an index. */
	trace_parts_wants *wants;
	void *context; /* of both functions, which are called by
			* trace_parts_open() only */
};

/* Opens the trace at @path with its @index; NULL: none. @index and
 * @choice->ranges must outlive *@out. Returns 0, and the caller ends *@out with
 * trace_parts_close(); -errno of trace_packets_open(); or -ENOMEM. */
int trace_parts_open(const char *path, const struct trace_index *index,
		     const struct parts_choice *choice,
		     struct trace_parts **out);
/* Frees *@parts, which may be NULL, and clears it. */
void trace_parts_close(struct trace_parts **parts);

/* Reads the next part. Returns 1, 0 or -errno, as trace_packets_next() does. */
int trace_parts_next(struct trace_parts *parts, struct trace_part *out);

/* Sets *@first and *@last to the chunks of sequence @number of the index that
 * are skipped. Returns false if there are none. */
bool trace_parts_skipped(const struct trace_parts *parts, uint32_t number,
			 uint32_t *first, uint32_t *last);

/* Returns the time of the last event that the index knows, except waits; 0:
 * none. */
uint64_t trace_parts_last_ns(const struct trace_parts *parts);
/* Returns the index in use; NULL: the whole trace is read. */
const struct trace_index *trace_parts_index(const struct trace_parts *parts);
/* Returns the packets of the file, for its size and the progress. */
struct trace_packets *trace_parts_packets(struct trace_parts *parts);

#endif
