/* SPDX-License-Identifier: Apache-2.0
 *
 * packet_window_inner - what the parts of packet_window share. packet_window.c
 * has the packets that come, window_run.c events in the compact form,
 * window_tracks.c the tracks and their slices, window_out.c the packets that
 * go.
 */
#ifndef PERFREC_COLLECTOR_CUT_PACKET_WINDOW_INNER_H
#define PERFREC_COLLECTOR_CUT_PACKET_WINDOW_INNER_H

#include "collector/base/budget.h"
#include "collector/base/bytes.h"
#include "collector/base/pool.h"
#include "collector/cut/cut_names.h"
#include "collector/cut/cut_sched.h"
#include "collector/cut/packet_window.h"
#include "collector/read/trace_wire.h"
#include "collector/trace/encode.h"
#include "shared/compiler.h"

#define CLOCK_BOOTTIME_ID 6
#define WINDOW_TEMPLATES 256

static inline bool is_clock_of_sequence(uint64_t clock)
{
	return clock >= 64 && clock <= 127;
}

struct wsequence {
	uint64_t id;
	uint64_t clock_ns; /* of its clock, in the trace */
	uint64_t out_ns; /* the same in the cut */
	uint64_t start_ns; /* where its clock starts */
	uint64_t clock_id; /* of its packets, if they do not say */
	struct wtrack *track; /* of its events, if they do not say; or NULL */
	struct bytes start; /* the fields of its first packet */
	bool sets_clock; /* that packet does */
	bool started; /* the cut has it */
	bool lossy; /* the cut says that something was lost */
	struct cut_names names;
};

struct wslice {
	struct wsequence *sequence; /* of its begin */
	uint64_t begin_ns;
	uint64_t name_iid;
	/* The fields of its begin; none: it has nothing but a name. */
	struct bytes fields;
};

/* The last event of a counter or a track of states before a range. */
struct wlast {
	struct wsequence *sequence; /* NULL: there is none to be written */
	uint64_t ns;
	struct bytes fields;
};

struct wtrack {
	uint64_t uuid, parent; /* parent 0: none */
	struct wtrack *process; /* of a thread; NULL: not known */
	int64_t pid, tid; /* tid 0: it is no thread */
	bool is_process, is_waits;
	bool used, described, using;
	bool has_slices; /* in the cut */
	bool gone; /* nothing will follow on its sequence */
	struct bytes descriptor; /* its packet's fields */

	struct wslice *slices; /* open, outermost first */
	uint32_t slice_count, slice_room;
	uint64_t deeper; /* open slices that are not kept */
	uint64_t now_ns; /* of its last begin or end */
	uint32_t range; /* the one that it is in, or that comes next */
	bool inside; /* its open slices are open in the cut, too */

	struct wlast *lasts; /* by number of the range */
	uint32_t last_count;
};

/* Items by a number; they stay where they are. */
struct by_number {
	struct pool ids; /* of uint64_t */
	void **items;
	uint32_t room;
};

struct packet_window {
	struct budget budget;
	const struct cut_ranges *ranges;
	struct cut_file *file;
	const struct cut_threads *threads; /* NULL: all */
	uint64_t end_ns; /* of the last range */
	bool leaves; /* clocks stay as they stand: packet_window_leave() */
	struct cut_entries entries;
	struct by_number sequences, tracks;
	struct pool pids, tids; /* of struct id_track */
	struct wsequence *last_sequence; /* of the packet before */
	struct cut_sched *sched;
	struct bytes packet, event, interned; /* of one packet that goes out */
	struct bytes snapshot, clock; /* of a first packet */
	/* Of window_run.c: of names that the cut has, at the place of their
	 * iid; the first is that of an end. */
	struct encode_template templates[WINDOW_TEMPLATES];
	const struct wsequence *templates_of; /* NULL: none is valid */
	struct packet_window_totals totals;
};

/* A slice of the cut begins at @ns. */
static inline void window_note_begin(struct packet_window *window, uint64_t ns)
{
	uint64_t *first = &window->totals.begin_ns;

	*first = *first ? MIN(*first, ns) : ns;
}

/* A packet, taken apart. */
struct wpacket {
	struct trace_packet_bytes bytes;
	struct wsequence *sequence;
	uint64_t stamp, clock_id, flags;
	bool has_stamp, has_clock;
	bool is_start; /* sets the state of its sequence */
	bool is_other; /* has something that is none of these */
	/* at NULL: it has none. */
	struct wire event, sample, heap, interned, descriptor, switches,
		attributes, uuid;
};

/* --- packet_window.c --- */

/* The item with @id, which is made, all zero, if there is none. NULL: no room,
 * which is counted. */
void *by_number_get(struct packet_window *window, struct by_number *list,
		    uint64_t id, size_t bytes);
void *by_number_find(const struct by_number *list, uint64_t id);
/* Makes @to a copy of @count bytes. False, and counted: there is no room. */
bool window_keep(struct packet_window *window, struct bytes *to,
		 const void *from, size_t count);

/* --- window_run.c --- */

/* The cut may lack a name that it had. */
void window_forget_templates(struct packet_window *window);

/* --- window_tracks.c --- */

void window_tracks_init(struct packet_window *window);
void window_tracks_release(struct packet_window *window);
struct wtrack *window_track(struct packet_window *window, uint64_t uuid);
/* Whether the cut has what thread @tid does. */
bool window_has_thread(const struct packet_window *window, int64_t tid);
/* Writes what describes it, or does so when it comes. */
void window_use_thread(struct packet_window *window, int64_t tid);
/* Takes in a packet with a TrackDescriptor. */
void window_describe(struct packet_window *window,
		     const struct wpacket *packet);
/* Whether the cut has what is on @track. */
bool window_has_track(const struct packet_window *window, struct wtrack *track);
/* Writes what describes @track, and those that it lies below, if the cut does
 * not have it. @track may be NULL. */
void window_use_track(struct packet_window *window, struct wtrack *track);

/* The next event of @track is at @ns: begins and ends ranges up to it. */
void window_advance(struct packet_window *window, struct wtrack *track,
		    uint64_t ns);
/* Makes room for a slice on top of the open ones of @track; NULL: there is
 * none, and the slice is counted. */
struct wslice *window_new_slice(struct packet_window *window,
				struct wtrack *track);
/* A slice begins, with nothing but a name if @fields.at is NULL; or one ends,
 * which returns false if there is none. */
void window_push(struct packet_window *window, struct wtrack *track,
		 struct wsequence *sequence, uint64_t ns, uint64_t name_iid,
		 struct wire fields);
bool window_pop(struct packet_window *window, struct wtrack *track);
/* A value or a state of @track at @ns, that is in no range: it is kept if it is
 * the last one before the next range. In a range: if it is at its begin, it
 * takes the place of what was before. */
void window_note_last(struct packet_window *window, struct wtrack *track,
		      struct wsequence *sequence, uint64_t ns,
		      struct wire fields);
/* The trace ends at @ns. */
void window_tracks_end(struct packet_window *window, uint64_t ns);

/* --- window_out.c --- */

/* Writes the first packet of @sequence, if the cut does not have it. Its clock
 * starts at @ns, or when it did in the trace if that was later. */
void window_start(struct packet_window *window, struct wsequence *sequence,
		  uint64_t ns);
/* The same with its clock as it stands in the trace. */
void window_start_as_is(struct packet_window *window,
			struct wsequence *sequence);
/* Writes all names of @sequence that the cut does not have. */
void window_put_names(struct packet_window *window, struct wsequence *sequence);
/* Writes an event of @sequence at @ns, whose fields are in window->event. */
void window_put_event(struct packet_window *window, struct wsequence *sequence,
		      uint64_t ns);
/* Writes @packet, which lies in a range: an event at @ns, a sample, a heap.
 * @step: of the clock of the sequence; its time is one if @is_step. */
void window_put_packet(struct packet_window *window,
		       const struct wpacket *packet, uint64_t ns, bool is_step);
/* Writes a slice of @track that was open before @ns, or that is open after it.
 */
void window_begin_again(struct packet_window *window, struct wtrack *track,
			const struct wslice *slice, uint64_t ns);
void window_end_early(struct packet_window *window, struct wtrack *track,
		      const struct wslice *slice, uint64_t ns);
/* Writes the last value or state of @track before a range at the begin of that,
 * @ns. */
void window_put_last(struct packet_window *window, struct wtrack *track,
		     const struct wlast *last, uint64_t ns);
/* Write packets that are of no time. */
void window_put_attributes(struct packet_window *window,
			   const struct wpacket *packet);
void window_put_uuid(struct packet_window *window,
		     const struct wpacket *packet);
/* Keeps the fields of @packet that set the state of its sequence. */
void window_keep_start(struct packet_window *window,
		       const struct wpacket *packet);

#endif
