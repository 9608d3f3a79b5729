/* SPDX-License-Identifier: Apache-2.0
 *
 * packet_window - turns the packets of a trace into the packets of a cut:
 * packets in the ranges, and the state that a viewer needs to show them.
 *
 *   - A slice that is open at the start of a range begins again there. The copy
 *     of its BEGIN has no ids of flows that end at it, and an argument with the
 *     true time. If it is still open at the end of the range, it ends there,
 *     with an argument that says so.
 *   - The last value of each counter before a range, and the last state, are
 *     repeated at its start.
 *   - A track is described, and a name interned, before its first use. So a cut
 *     has no unused descriptions.
 *   - The first packet of a sequence is written again, with its clock at the
 *     start of the range. A step of the clock changes if the packet before it
 *     is missing.
 *
 * The window keeps the state after the last packet: for each sequence its
 * clock, its track and its names; for each track its descriptor, its open
 * slices and its last values. All of it comes from packets. So a caller that
 * knows the place of a range in the file can skip the packets before. It gives
 * packets with the same state instead: the first packet of each sequence with
 * its clock, its names, and the begins of its open slices. Or it reports
 * changes to earlier state (packet_window_restart() and the functions below
 * it).
 *
 * Slices of one track come in the order of time, as perfrec writes them; other
 * packets come in any order. A budget bounds the memory, which grows only with
 * the numbers of names, tracks and open slices. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_PACKET_WINDOW_H
#define PERFREC_COLLECTOR_CUT_PACKET_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/cut/cut_file.h"
#include "collector/cut/cut_ranges.h"
#include "collector/read/trace_packets.h"

/* Arguments of slices that a cut has clipped: its true start, in ns of
 * CLOCK_BOOTTIME, and that its end is not in the cut. */
#define CUT_BEGAN_KEY "perfrec.began_ns"
#define CUT_OPEN_KEY "perfrec.goes_on"
/* The prefix of trace attributes of cuts. */
#define CUT_ATTRIBUTE "perfrec.cut_"

struct compact;
struct packet_window;
struct trace_switch;

struct cut_threads {
	int64_t *tids; /* sorted by cut_threads_compare() */
	uint32_t count, room;
};
int cut_threads_compare(const void *left, const void *right);

/* @ranges (ordered, at least one), @file and @threads must outlive *@out.
 * @threads: keeps only tracks of these threads, and tracks of no thread; NULL:
 * all. Returns 0 or -ENOMEM. The caller ends it with packet_window_free(). */
int packet_window_new(const struct cut_ranges *ranges, struct cut_file *file,
		      const struct cut_threads *threads,
		      struct packet_window **out);
void packet_window_free(struct packet_window **window);

/* Reads the next packet of the file. */
void packet_window_take(struct packet_window *window,
			const struct trace_packet_bytes *packet);

/* Reads plain begins and ends of slices of @sequence in the compact form, as
 * packet_window_take() reads packets, and moves @from behind them. Stops at
 * any other event, and at an event that needs anything missing from the cut.
 * Returns the number of events, often 0: then pass the next event as a
 * packet. */
uint64_t packet_window_run(struct packet_window *window, uint32_t sequence,
			   struct compact *from);

/*
 * For callers that skip packets in no range. Skipped packets may also be
 * between ranges: ranges in the past end.
 *
 * Packets of @sequence were skipped up to its event at @ns: its clock is there,
 * and no slice is open on its own track. Then pass the begins of open slices,
 * outermost first, with absolute times.
 */
void packet_window_restart(struct packet_window *window, uint32_t sequence,
			   uint64_t ns);
/* Events of track @uuid were skipped, none before @ns. Only the @count
 * outermost of the open slices stay open. Then pass the begins of others, and
 * the last value. */
void packet_window_pass(struct packet_window *window, uint64_t uuid,
			uint64_t count, uint64_t ns);
/* Switches were skipped. @at, which is on @sequence, is the last one of its CPU
 * or of a thread among these. */
void packet_window_switch(struct packet_window *window, uint32_t sequence,
			  const struct trace_switch *at);
/* There is an event at @ns, possibly skipped. */
void packet_window_reach(struct packet_window *window, uint64_t ns);

/* All of the trace was read: writes the rest. Open slices end at the last event
 * of the trace. */
void packet_window_end(struct packet_window *window);

/*
 * For a trace whose older part is deleted, after the window has read that part.
 * The rest of the trace follows unchanged behind the packets that the window
 * writes. No range has events of the older part. So a cut from any moment finds
 * the same in the rest as in the whole trace, if all events after that moment
 * are in the rest.
 */
struct packet_window_rest {
	/* Returns true if packets may follow on @sequence. */
	bool (*lives)(void *context, uint32_t sequence);
	/* Returns the step of the clock of @sequence to its next event, in ns,
	 * or UINT64_MAX if none follows. Called if all_known. */
	uint64_t (*next_step)(void *context, uint32_t sequence);
	void *context;
	/* All packets of the rest are known. Otherwise more may follow, at any
	 * time that is not before the last one of its sequence. */
	bool all_known;
	uint64_t from_ns;
	uint64_t first_ns; /* if all_known: no event of the rest is earlier; 0:
			    * no event follows */
};

/* Reads begins and ends of slices in their usual form, on the sequence of the
 * last packet, while they are contiguous from @at on: packets with their tags.
 * Returns their bytes, at most @count. They must be in no range. Same as
 * packet_window_take(), but faster. */
size_t packet_window_skip(struct packet_window *window, const uint8_t *at,
			  size_t count);

/*
 * Writes the state for the rest of the trace: for each living sequence its
 * first packet, with the clock as it is, and its names; tracks; open slices,
 * marked as begun before; last values; and the threads on CPUs. If all_known,
 * these are at from_ns, or at the next event of their sequence if that is
 * earlier; otherwise at the last event before. Returns the time of the last
 * event read, or 0. The last call. Another window may read these packets, and
 * has the same state.
 */
uint64_t packet_window_leave(struct packet_window *window,
			     const struct packet_window_rest *rest);

struct packet_window_totals {
	uint64_t packets;
	uint64_t first_ns, last_ns; /* of all events but waits; 0, 0: none */
	uint64_t begin_ns; /* start of the first slice in the cut; 0: none */
	uint64_t slices; /* in the cut, of threads, contexts and lanes */
	uint64_t clipped; /* slices that began before or ended after a range */
	uint64_t threads;
	uint64_t lost;
	/* As in trace_read_totals. */
	uint64_t bad_events, refused;
};
struct packet_window_totals packet_window_totals(
	const struct packet_window *window);

#endif
