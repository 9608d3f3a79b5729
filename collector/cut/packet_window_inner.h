/* SPDX-License-Identifier: Apache-2.0
 *
 * packet_window_inner - shared by the parts of packet_window: packet_window.c
 * reads packets, window_run.c reads compact events, window_tracks.c has tracks
 * and slices, window_out.c writes packets.
 */
#ifndef PERFREC_COLLECTOR_CUT_PACKET_WINDOW_INNER_H
#define PERFREC_COLLECTOR_CUT_PACKET_WINDOW_INNER_H

#include "collector/base/budget.h"
#include "collector/base/by_id.h"
#include "collector/base/bytes.h"
#include "collector/base/pool.h"
#include "collector/base/protobuf.h"
#include "collector/cut/cut_names.h"
#include "collector/cut/cut_sched.h"
#include "collector/cut/packet_window.h"
#include "collector/read/sequence_start.h"
#include "collector/trace/encode.h"
#include "shared/compiler.h"

#define WINDOW_TEMPLATES 256

struct wsequence {
	uint64_t id;
	uint64_t clock_ns; /* in the trace */
	uint64_t out_ns; /* in the cut */
	uint64_t start_ns;
	uint64_t clock_id;
	struct wtrack *track; /* default track of its events; or NULL */
	struct bytes start;
	bool sets_clock;
	bool started; /* the cut has the first packet */
	bool lossy; /* the cut must report losses */
	struct cut_names names;
};

struct wslice {
	struct wsequence *sequence;
	uint64_t begin_ns;
	uint64_t name_iid;
	/* The fields of its BEGIN; empty: only a name. */
	struct bytes fields;
};

/* The last event of a counter or a track of states before a range. */
struct wlast {
	struct wsequence *sequence;
	uint64_t ns;
	struct bytes fields;
};

struct wtrack {
	uint64_t uuid, parent;
	struct wtrack *process; /* of a thread; NULL: unknown */
	int64_t pid, tid; /* tid 0: not a thread */
	bool is_process, is_waits;
	bool used, described, using;
	bool has_slices;
	bool gone; /* its sequence has ended */
	struct bytes descriptor;

	struct wslice *slices; /* open, outermost first */
	uint32_t slice_count, slice_room;
	uint64_t deeper; /* open slices beyond the limit */
	uint64_t now_ns;
	uint32_t range; /* the current one or the next */
	bool inside; /* its open slices are also in the cut */

	struct wlast *lasts;
	uint32_t last_count;
};

struct packet_window {
	struct budget budget;
	const struct cut_ranges *ranges;
	struct cut_file *file;
	const struct cut_threads *threads;
	uint64_t end_ns;
	bool leaves; /* packet_window_leave(): clocks stay as they are */
	struct cut_entries entries;
	struct by_id sequences, tracks;
	struct pool pids, tids;
	struct wsequence *last_sequence;
	struct cut_sched *sched;
	struct bytes packet, event, interned; /* of the packet being written */
	struct bytes snapshot, clock;
	/* For window_run.c: names that the cut has, at the place of their iid.
	 * The first template is an end. */
	struct encode_template templates[WINDOW_TEMPLATES];
	const struct wsequence *templates_of;
	struct packet_window_totals totals;
};

static inline void window_note_begin(struct packet_window *window, uint64_t ns)
{
	uint64_t *first = &window->totals.begin_ns;

	*first = *first ? MIN(*first, ns) : ns;
}

struct wpacket {
	struct trace_packet_bytes bytes;
	struct wsequence *sequence;
	uint64_t stamp, clock_id, flags;
	bool has_stamp, has_clock;
	bool is_start;
	bool is_other;
	/* at is NULL if there is none. */
	struct wire event, sample, heap, interned, descriptor, switches,
		attributes, uuid;
};

/* --- packet_window.c --- */

/* Makes @to a copy of @count bytes. Returns false without memory, and counts
 * that. */
bool window_keep(struct packet_window *window, struct bytes *to,
		 const void *from, size_t count);

/* --- window_run.c --- */

/* Call it when the cut may lack a name that it had. */
void window_forget_templates(struct packet_window *window);

/* --- window_tracks.c --- */

void window_tracks_init(struct packet_window *window);
void window_tracks_release(struct packet_window *window);
struct wtrack *window_track(struct packet_window *window, uint64_t uuid);
bool window_has_thread(const struct packet_window *window, int64_t tid);
/* Writes the thread's descriptor, now or when it comes. */
void window_use_thread(struct packet_window *window, int64_t tid);
void window_describe(struct packet_window *window,
		     const struct wpacket *packet);
bool window_has_track(const struct packet_window *window, struct wtrack *track);
/* Writes the descriptors of @track and of the tracks above it, if the cut lacks
 * them. @track may be NULL. */
void window_use_track(struct packet_window *window, struct wtrack *track);

/* The next event of @track is at @ns: begins and ends ranges up to @ns. */
void window_advance(struct packet_window *window, struct wtrack *track,
		    uint64_t ns);
/* Returns a new slice on top of the open ones of @track. Without room, returns
 * NULL and counts the slice. */
struct wslice *window_new_slice(struct packet_window *window,
				struct wtrack *track);
/* Begins a slice, with only a name if @fields.at is NULL. */
void window_push(struct packet_window *window, struct wtrack *track,
		 struct wsequence *sequence, uint64_t ns, uint64_t name_iid,
		 struct wire fields);
/* Ends the innermost slice. Returns false if no slice is open. */
bool window_pop(struct packet_window *window, struct wtrack *track);
/* Notes a value or a state of @track at @ns. Keeps it if it is the last one
 * before a range. A value right at the start of a range replaces it. */
void window_note_last(struct packet_window *window, struct wtrack *track,
		      struct wsequence *sequence, uint64_t ns,
		      struct wire fields);
void window_tracks_end(struct packet_window *window, uint64_t ns);

/* --- window_out.c --- */

/* Writes the first packet of @sequence if the cut lacks it. Its clock starts at
 * @ns, or at its start in the trace if that is later. */
void window_start(struct packet_window *window, struct wsequence *sequence,
		  uint64_t ns);
/* The same with its clock as it is in the trace. */
void window_start_as_is(struct packet_window *window,
			struct wsequence *sequence);
void window_put_names(struct packet_window *window, struct wsequence *sequence);
void window_put_event(struct packet_window *window, struct wsequence *sequence,
		      uint64_t ns);
/* Writes @packet, which is in a range: an event at @ns, a sample, a heap.
 * @is_step: its time is a step of the sequence's clock. */
void window_put_packet(struct packet_window *window,
		       const struct wpacket *packet, uint64_t ns, bool is_step);
/* Begin or end a slice of @track at @ns that was open before, or is open
 * after. */
void window_begin_again(struct packet_window *window, struct wtrack *track,
			const struct wslice *slice, uint64_t ns);
void window_end_early(struct packet_window *window, struct wtrack *track,
		      const struct wslice *slice, uint64_t ns);
/* Writes the last value or state of @track before a range at @ns, its start. */
void window_put_last(struct packet_window *window, struct wtrack *track,
		     const struct wlast *last, uint64_t ns);
void window_put_attributes(struct packet_window *window,
			   const struct wpacket *packet);
void window_put_uuid(struct packet_window *window,
		     const struct wpacket *packet);
void window_keep_start(struct packet_window *window,
		       const struct wpacket *packet);

#endif
