/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate_events - instants, counters, tracks, and slices and states on tracks
 * (record_ext.h).
 */
#include <string.h>

#include "preload/annotate/annotate_inner.h"
#include "preload/annotate/annotate_run.h"
#include "preload/annotate/sites.h"
#include "preload/core/gate.h"
#include "preload/core/thread.h"
#include "preload/ring/hook.h"
#include "preload/ring/put_run.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"
#include "shared/site_shm.h"

#define CALL_SP ((uintptr_t)__builtin_dwarf_cfa())
#define NAME_MAX_BYTES 255
#define DESCRIPTION_MAX_BYTES 511

_Static_assert((int)PERFREC_DOUBLE == SITE_DOUBLE &&
		       (int)PERFREC_INCREMENTAL == SITE_INCREMENTAL &&
		       (int)PERFREC_PER_THREAD == SITE_OF_THREAD &&
		       (int)PERFREC_TRIGGERS_ == SITE_TRIGGER,
	       "perfrec.h");
_Static_assert(PERFREC_PROCESS_TRACK == TRACK_PROCESS &&
		       PERFREC_THREAD_TRACK == TRACK_THREAD &&
		       PERFREC_GLOBAL_TRACK == TRACK_GLOBAL,
	       "perfrec.h");

/* The count of assigned numbers. A forked child continues it, because its
 * tracks are not its parent's. */
static struct {
	uint64_t tracks, handles;
} g_given;

static struct note make_event(enum record_ext what, uint32_t cells,
			      const struct perfrec_site *site,
			      struct perfrec_arg *args, size_t count,
			      uintptr_t sp)
{
	return (struct note){
		.args = args,
		.keys = site->keys,
		.count = count,
		.special = site->special,
		.event = { { record_ext_word(what, cells, site->id, sp), 0 } },
		.cells = 1 + cells,
		.class = PUT_NOTE,
		.sp = sp,
	};
}

/* @site ends what others have begun: it goes on in a pause. */
static void mark_end(struct perfrec_site *site)
{
	/* relaxed, all: a bit that only ever comes; perfrec_on_() then sees a
	 * state that is not the shim's, and has the site decided anew */
	if (likely(atom_load_rlx(&site->flags) & SITE_ENDS))
		return;
	atom_store_rlx(&site->flags, site->flags | SITE_ENDS);
	atom_store_rlx(&site->state, SITE_UNDECIDED);
}

void note_instant(struct perfrec_site *site, struct perfrec_arg *args,
		  size_t count)
{
	struct note note =
		make_event(EXT_INSTANT, 0, site, args, count, CALL_SP);

	note_put(&note);
}

void note_mark(struct perfrec_site *site, struct perfrec_arg *args,
	       size_t count)
{
	struct note note = make_event(EXT_MARK, 0, site, args, count, CALL_SP);

	note_put(&note);
}

/* --- counters ------------------------------------------------------------ */

static double value_as_double(struct perfrec_arg value)
{
	double number;

	switch (value.type) {
	case NOTE_DOUBLE:
		memcpy(&number, &value.value, sizeof(number));
		return number;
	case NOTE_INT:
		return (double)(int64_t)value.value;
	default:
		return (double)value.value;
	}
}

static int64_t value_as_int(struct perfrec_arg value)
{
	double number;

	if (value.type == NOTE_INT)
		return (int64_t)value.value;
	if (value.type != NOTE_DOUBLE)
		return value.value > INT64_MAX ? INT64_MAX
					       : (int64_t)value.value;
	number = value_as_double(value);
	if (number >= 0x1p63)
		return INT64_MAX;
	if (number < -0x1p63)
		return INT64_MIN;
	return number == number ? (int64_t)number : 0;
}

/* Count a value of a counter that found no id: nobody could say whose value it
 * is. */
static void count_dropped_note(void)
{
	if (hook_may_record(0) == MAY_RECORD)
		/* relaxed: a count */
		atom_add_rlx(&t_thread.slot->dropped_notes, 1);
}

void note_count(struct perfrec_counter *counter, struct perfrec_arg value,
		const int64_t *at)
{
	struct record cells[4] = {
		{ record_ext_word(EXT_AT, 1, 0, 0), 0 },
		{ at ? (uint64_t)*at : 0, 0 },
		{ record_ext_word(EXT_COUNTER, 1, counter->site.id, CALL_SP),
		  0 },
	};

	if (unlikely(counter->site.id == SITE_MORE)) {
		count_dropped_note();
		return;
	}
	if (counter->site.flags & PERFREC_DOUBLE) {
		double number = value_as_double(value);

		memcpy(&cells[3].word, &number, sizeof(number));
	} else {
		cells[3].word = (uint64_t)value_as_int(value);
	}
	if (at)
		put_run(cells, 4, 2, PUT_NOTE, CALL_SP);
	else
		put_run(cells + 2, 2, 0, PUT_NOTE, CALL_SP);
}

/* --- asynchronous slices and states -------------------------------------- */

uint64_t note_async_begin(struct perfrec_site *site, uint64_t track,
			  uint64_t handle, struct perfrec_arg *args,
			  size_t count)
{
	struct note note =
		make_event(EXT_ASYNC_BEGIN, 1, site, args, count, CALL_SP);

	if (!handle)
		/* relaxed: a number that nobody else takes */
		handle = 1ULL << 63 | (atom_add_rlx(&g_given.handles, 1) + 1);
	note.event[1] = (struct record){ track, handle };
	note_put(&note);
	return handle;
}

void note_async_end(struct perfrec_site *site, uint64_t track, uint64_t handle,
		    struct perfrec_arg *args, size_t count)
{
	struct note note =
		make_event(EXT_ASYNC_END, 1, site, args, count, CALL_SP);

	mark_end(site);
	if (!handle)
		return;
	note.class = PUT_NOTE_END;
	note.event[1] = (struct record){ track, handle };
	note_put(&note);
}

void note_async_enter(struct perfrec_site *site, uint64_t track,
		      uint64_t handle, struct perfrec_arg *args, size_t count)
{
	struct note note =
		make_event(EXT_ASYNC_ENTER, 1, site, args, count, CALL_SP);

	if (!handle)
		return;
	note.event[1] = (struct record){ track, handle };
	note_put(&note);
}

void note_async_leave(struct perfrec_site *site, uint64_t track,
		      uint64_t handle, struct perfrec_arg *args, size_t count)
{
	struct note note =
		make_event(EXT_ASYNC_LEAVE, 1, site, args, count, CALL_SP);

	/* PERFREC_ASYNC_SCOPE() leaves without, by the site that enters. */
	if (args)
		mark_end(site);
	if (!handle)
		return;
	note.class = PUT_NOTE_END;
	note.event[1] = (struct record){ track, handle };
	note_put(&note);
}

void note_async_instant(struct perfrec_site *site, uint64_t track,
			uint64_t unused, struct perfrec_arg *args, size_t count)
{
	struct note note =
		make_event(EXT_ASYNC_INSTANT, 1, site, args, count, CALL_SP);

	note.event[1] = (struct record){ track, unused };
	note_put(&note);
}

void note_state(struct perfrec_site *site, uint64_t track, uint64_t over,
		struct perfrec_arg *args, size_t count)
{
	struct note note = make_event(EXT_STATE, 1, site, args, count, CALL_SP);

	if (over) {
		mark_end(site);
		note.class = PUT_NOTE_END;
	}
	note.event[1] = (struct record){ track, over };
	note_put(&note);
}

/* --- tracks -------------------------------------------------------------- */

/* perfrec_on_() has had @track registered. */
uint64_t note_track_number(struct perfrec_track *track)
{
	/* relaxed: it does not change any more */
	return atom_load_rlx(&track->number);
}

uint64_t note_track_new(uint64_t parent, const char *name, uint32_t flags,
			int32_t rank, const char *description)
{
	const uint32_t head_cells = sizeof(struct note_track) / 16;
	struct record cells[1 + sizeof(struct note_track) / 16 +
			    (NAME_MAX_BYTES + DESCRIPTION_MAX_BYTES + 30) / 16];
	struct note_track track = {
		.parent = parent,
		.order = (uint8_t)sites_order(flags),
		.merge = flags & PERFREC_NO_MERGE ? MERGE_NONE : MERGE_BY_NAME,
		.rank = rank,
	};
	uint32_t name_cells, all;

	if (gate_look() < GATE_EPOCH_STEP)
		return TRACK_PROCESS;
	if (parent == TRACK_PROCESS && flags & PERFREC_GLOBAL)
		track.parent = TRACK_GLOBAL;
	else if (parent == TRACK_PROCESS && flags & PERFREC_OF_THREAD)
		track.parent = TRACK_THREAD;
	/* relaxed: a number that nobody else takes; sites_register() has those
	 * from 1 << 63 on */
	track.track = 1ULL << 62 | (atom_add_rlx(&g_given.tracks, 1) + 1);
	if (name)
		track.name_bytes = (uint16_t)strnlen(name, NAME_MAX_BYTES);
	if (description)
		track.description_bytes =
			(uint16_t)strnlen(description, DESCRIPTION_MAX_BYTES);
	name_cells = (track.name_bytes + 15u) / 16;
	all = head_cells + name_cells + (track.description_bytes + 15u) / 16;
	cells[all] = cells[head_cells + name_cells] = (struct record){ 0, 0 };
	cells[0] = (struct record){ record_ext_word(EXT_TRACK, all, 0, CALL_SP),
				    0 };
	memcpy(&cells[1], &track, sizeof(track));
	if (name)
		memcpy(&cells[1 + head_cells], name, track.name_bytes);
	if (description)
		memcpy(&cells[1 + head_cells + name_cells], description,
		       track.description_bytes);
	/* Recorded even in a pause, because later events are on this track. */
	put_run(cells, 1 + all, 0, PUT_NOTE_END, CALL_SP);
	return track.track;
}
