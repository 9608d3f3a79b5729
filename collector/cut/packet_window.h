/* SPDX-License-Identifier: Apache-2.0
 *
 * packet_window - the packets of a trace go in, those of a cut come out: what
 * lies in the ranges as it is, and what a viewer needs to show it.
 *
 *   - A slice that is open when a range begins is begun there again, by a copy
 * of its begin without the ids of flows that end at it, and with an argument
 *     that says when it truly began. One that is still open when the range ends
 *     is ended there, with an argument that says so.
 *   - The last value before a range of each counter, and the last state, stand
 * at its begin.
 *   - A track is described, and a name interned, before it is used first: a cut
 *     has nothing of what it does not show.
 *   - The first packet of a sequence is written again, with its clock at the
 *     begin of the range. A step of that clock is another one where the packet
 *     before it is missing.
 *
 * What is kept between packets is the state at the packet that came last: of
 * each sequence its clock, its track and its names, and of each track its
 * descriptor, its open slices and its last values. All of it comes from
 * packets. So whoever knows where in the file a range lies need not give what
 * is before: he gives packets that say the same, which are the first packet of
 * each sequence with its clock, its names, and the begins of its open slices;
 * or says what became of those that he gave before (packet_window_restart() and
 * what follows it).
 *
 * Slices of one track come in the order of time, as perfrec writes them; all
 * else comes in any order. Memory is bounded by a budget, and grows with the
 * numbers of names, tracks and open slices only. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CUT_PACKET_WINDOW_H
#define PERFREC_COLLECTOR_CUT_PACKET_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/cut/cut_file.h"
#include "collector/cut/cut_ranges.h"
#include "collector/read/trace_packets.h"

/* Arguments of slices that a cut has clipped: when it began, CLOCK_BOOTTIME in
 * ns; and that its end is not in the cut. */
#define CUT_BEGAN_KEY "perfrec.began_ns"
#define CUT_OPEN_KEY "perfrec.goes_on"
/* What trace attributes of cuts begin with. */
#define CUT_ATTRIBUTE "perfrec.cut_"

struct compact;
struct packet_window;
struct trace_switch;

/* Threads, by their numbers, in order; all zero: none. */
struct cut_threads {
	int64_t *tids;
	uint32_t count, room;
};
/* The order of tids, for qsort(3). */
int cut_threads_compare(const void *left, const void *right);

/* Begins. @ranges (ordered, one at least), @file and @threads outlive it.
 * @threads: only tracks of these, and those that belong to no thread; NULL:
 * all. 0: the caller ends *@out by packet_window_free(); or -ENOMEM. */
int packet_window_new(const struct cut_ranges *ranges, struct cut_file *file,
		      const struct cut_threads *threads,
		      struct packet_window **out);
/* Frees *@window, which may be NULL, and clears it. */
void packet_window_free(struct packet_window **window);

/* Takes in the next packet of the file. Returns where the bundle is that it is,
 * for trace_packets_unpack(); all zero: it is none. */
struct trace_packet_bytes packet_window_take(
	struct packet_window *window, const struct trace_packet_bytes *packet);

/* Takes in plain begins and ends of slices of @sequence in the compact form, as
 * packet_window_take() would take in their packets, and moves @from behind
 * them. Stops at the first event that is something else, or that needs what the
 * cut does not have yet. Returns how many it has taken, often 0: then a packet
 * of the next event has to be given. */
uint64_t packet_window_run(struct packet_window *window, uint32_t sequence,
			   struct compact *from);

/*
 * For whoever leaves out packets that are in no range. What is left out may lie
 * between ranges, too: those that it has passed are ended.
 *
 * Packets of @sequence were left out, up to its event at @ns: its clock stands
 * there, and on its own track nothing is open. Give the begins of what is open
 * after it, outermost first, with absolute times.
 */
void packet_window_restart(struct packet_window *window, uint32_t sequence,
			   uint64_t ns);
/* Events of track @uuid were left out, none before @ns. Of the slices that were
 * open only the @count outermost ones are open still. Give the begins of
 * others, and the last value, after it. */
void packet_window_pass(struct packet_window *window, uint64_t uuid,
			uint64_t count, uint64_t ns);
/* The switch @at, which stands on @sequence, was left out, and so were others:
 * it is the last one of its CPU or of a thread in what was. */
void packet_window_switch(struct packet_window *window, uint32_t sequence,
			  const struct trace_switch *at);
/* There is an event at @ns, which may be one that was left out. */
void packet_window_reach(struct packet_window *window, uint64_t ns);

/* All of the trace was taken in: writes what is left. Slices that are still
 * open end at the last event of the trace. */
void packet_window_end(struct packet_window *window);

/*
 * For a trace whose begin is given up, when all of that was taken in: what
 * follows in the trace stays as it is, and before it come the packets that this
 * writes. No range has anything of what was taken in. So a cut from any moment
 * on finds in the rest what it finds in the whole, if all of the events after
 * that moment are in the rest.
 */
struct packet_window_rest {
	/* Whether anything may follow on @sequence. */
	bool (*lives)(void *context, uint32_t sequence);
	/* How far the clock of @sequence goes to the next event on it, in ns;
	 * UINT64_MAX: none follows. Asked if all is known. */
	uint64_t (*next_step)(void *context, uint32_t sequence);
	void *context;
	/* All that follows is known. Otherwise more will follow, at any time
	 * that is not before the last one of its sequence. */
	bool all_known;
	uint64_t from_ns; /* if all is known: when the rest begins */
	uint64_t first_ns; /* the same: no event that follows is earlier; 0:
			    * none follows */
};

/* Takes in begins and ends of slices, in the form that a trace mostly has, of
 * the sequence of the packet that came last, as far as they follow each other
 * from @at on: packets with their tags. Returns how many bytes of the @count
 * they are. No range has anything of them. As packet_window_take(), and faster.
 */
size_t packet_window_skip(struct packet_window *window, const uint8_t *at,
			  size_t count);

/*
 * Writes what the rest of the trace needs: the first packet of each sequence
 * that lives, with its clock as it stands; its names; tracks; the slices that
 * are open, marked as begun before; the last values, and the threads that are
 * on a CPU. If all is known these begin at from_ns or, if it is earlier, at the
 * next event of their sequence; otherwise at the last one before it. Returns
 * the time of the last event that was taken in; 0: there was none.
 * Nothing may be taken after it. What was written may be taken in again, by
 * another window: it says the same.
 */
uint64_t packet_window_leave(struct packet_window *window,
			     const struct packet_window_rest *rest);

struct packet_window_totals {
	uint64_t packets; /* that were taken in */
	uint64_t first_ns, last_ns; /* of all events but waits; 0, 0: none */
	uint64_t begin_ns; /* of the first slice in the cut; 0: none */
	uint64_t slices; /* in the cut, of threads, contexts and lanes */
	uint64_t clipped; /* of these, began before or ended after a range */
	uint64_t threads; /* that have slices in the cut */
	uint64_t lost; /* spans that were lost in the ranges */
	/* As in trace_read_totals. */
	uint64_t bad_events, refused;
};
struct packet_window_totals packet_window_totals(
	const struct packet_window *window);

#endif
