/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_parts - the packets of a trace, as far as they matter for some ranges
 * of time. Whoever takes them in knows as much of the ranges as one who has
 * read all of the trace: in the place of what is not read there are packets
 * that say the same, and what became of the rest:
 *
 *   - Of a thread's sequence those packets are given that lie around a range.
 *     Before them come PART_RESTART and the begins of the slices that are open.
 *   - Other packets are given extent by extent (docs/INDEX.md). In the place of
 * an extent there are the packets without a time that it has, the last values
 *     and states, what became of open slices (PART_TRACK), and the last
 * switches of threads (PART_SWITCH).
 *
 * Without an index, or by one that does not have what is needed, these are all
 * packets of the file. The file may come from anywhere. One thread at a time.
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
	/* A packet. */
	PART_PACKET,
	/* The packets of a sequence up to the event at ns were left out; none
	 * of them was in a range. The begins of its open slices follow,
	 * outermost first, with an absolute time; none, if nothing more of it
	 * is given. */
	PART_RESTART,
	/* Events of a track were left out, none before ns and none in a range.
	 * Of the slices that were open only the outermost ones are open still:
	 * count. Begins that were left out may follow. */
	PART_TRACK,
	/* A switch on a CPU; others before it were left out. */
	PART_SWITCH,
};

struct trace_part {
	enum trace_part_kind kind;
	struct trace_packet_bytes bytes; /* PART_PACKET; until the next call */
	uint32_t sequence; /* PART_RESTART, PART_SWITCH */
	uint64_t ns;
	uint64_t uuid, count; /* PART_TRACK */
	struct trace_switch at; /* PART_SWITCH */
};

struct trace_parts;

/* Opens the trace at @path, of which @index is; NULL: there is none. @index and
 * the @count @ranges, in order and apart, must outlive *@out. 0: the caller
 * ends
 * *@out by trace_parts_close(); or -errno of trace_packets_open(), or -ENOMEM.
 */
int trace_parts_open(const char *path, const struct trace_index *index,
		     const struct time_range *ranges, uint32_t count,
		     struct trace_parts **out);

/* Whether packets of the thread's @sequence are of interest in a range. */
typedef bool trace_parts_has(void *context,
			     const struct index_sequence *sequence);

/* As trace_parts_open(), for some sequences of threads; and for events of no
 * thread, if @rest. What there is of others may be given, too. @has is called
 * before it returns. */
int trace_parts_open_some(const char *path, const struct trace_index *index,
			  const struct time_range *ranges, uint32_t count,
			  trace_parts_has *has, void *context, bool rest,
			  struct trace_parts **out);

/* Whether chunk @number of @sequence is of interest. */
typedef bool trace_parts_wants(void *context,
			       const struct index_sequence *sequence,
			       uint32_t number);

/* The same for chunks of threads, wherever they are, instead of ranges; other
 * packets may be missing. Chunks of which the index does not tell enough are
 * given in any case. @wants is called before it returns. @index is not NULL. */
int trace_parts_open_chunks(const char *path, const struct trace_index *index,
			    trace_parts_wants *wants, void *context,
			    struct trace_parts **out);
/* Frees *@parts, which may be NULL, and clears it. */
void trace_parts_close(struct trace_parts **parts);

/* The next part: 1, 0 or -errno, as trace_packets_next(). */
int trace_parts_next(struct trace_parts *parts, struct trace_part *out);

/* The time of some event of the trace: if there is one behind the last range,
 * that was not given, this one is behind it, too. 0: of none. */
uint64_t trace_parts_last_ns(const struct trace_parts *parts);
/* How many bundles could not be unpacked. */
uint64_t trace_parts_bad_bundles(const struct trace_parts *parts);
/* What reads the file: for its size, and how far it was read. */
struct trace_packets *trace_parts_packets(struct trace_parts *parts);

#endif
