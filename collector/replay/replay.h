/* SPDX-License-Identifier: Apache-2.0
 *
 * replay - turns the records of one stack into well-formed slices. A shadow
 * stack supplies ends that never came and withholds ends that have no begin;
 * every call is counted in a calling-context tree. The rules are in replay.c.
 *
 * One thread at a time may call the functions for one struct replay: the drain
 * worker of the program's thread. They take no locks and do no I/O; they may
 * allocate memory, within the budget, and call the sink.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_REPLAY_H
#define PERFREC_COLLECTOR_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/record.h"

struct budget;
struct cct;
struct cct_node;
struct clock_sync;
struct encode_event;
struct function_log;
struct heap_feed;
struct histograms;
struct pause_list;
struct sites;
struct trace_block;

/* Slices written on one track; Perfetto drops the begin of a deeper one and
 * then misapplies its end. */
#define REPLAY_SLICES_MAX 512

struct replay;

/* Where packets go, and whom replay asks. Called on the thread that calls
 * replay. */
struct replay_sink {
	/* An empty block, never NULL; replay gives each block back. */
	struct trace_block *(*take)(void *context);
	/* Takes over a filled @block, to write it. */
	void (*give)(void *context, struct trace_block *block);
	/* Whether @function is withheld. Asked once for each function. */
	bool (*excludes)(void *context, uint64_t function);
	void *context;
	/* How many bytes the recording has by now, about; NULL: no index is
	 * made. */
	uint64_t (*position)(void *context);
	/* There is a last block, which may be empty, that says so. */
	bool tells_end;
	/* Not 0: blocks have the form of trace/compact.h, in which a reader can
	 * begin at least that often, in ns. */
	uint64_t restart_ns;
	/* Returns the least duration of reported calls of @function, or
	 * UINT64_MAX to report none. Called once for each function; the tree
	 * may change it later (cct_function.slow_ns). NULL: reports none. */
	uint64_t (*slow_ns)(void *context, uint64_t function);
	/* Reports a call of @node that ended and took so long. @took_ns leaves
	 * out waits for the collector. It must be short, because it runs in
	 * the middle of a piece of the ring. */
	void (*slow)(void *context, const struct cct_node *node,
		     uint64_t begin_ns, uint64_t end_ns, uint64_t took_ns);
};

/* What the program told about the next begin or end (thread_notes.c). replay
 * asks for it when it writes that event, or never. */
struct replay_note {
	/* Fills in the fields and the interned data of @event, the begin or end
	 * of @function. If the program gave the slice a name of its own, clears
	 * event->name_iid. */
	void (*describe)(struct replay_note *note, struct replay *replay,
			 uint64_t function, struct encode_event *event);
};

/* Why a slice was ended without its end: the text of the end's mark. */
enum replay_cause {
	REPLAY_ENDED, /* it has its end: no mark */
	REPLAY_GUESS, /* it is over by now; since when is not known */
	REPLAY_LONGJMP, /* at this moment, by longjmp() */
	REPLAY_EXCEPTION, /* when unwinding had come further up */
	REPLAY_CONTEXT, /* by setcontext(), or its stack was made anew */
	REPLAY_EXIT, /* by pthread_exit(), or the thread was cancelled */
	REPLAY_OFF, /* its function went off meanwhile: over by now */
};

/* Names a frame, so that it is found again as long as it is open. */
struct replay_mark {
	uint64_t word, begin_ns;
	uint32_t depth, over;
};

/*
 * How many bytes the stack pointer that @word was recorded with lies below that
 * of @above; negative: it lies above it. A record has 12 bits of the stack
 * pointer, so the result is a multiple of 16 between -32768 and 32752, and
 * right if the two are no further apart. Of what kind the records are is no
 * matter.
 */
static inline int replay_sp_below(uint64_t above, uint64_t word)
{
	return (int16_t)((above & RECORD_SP_MASK) - (word & RECORD_SP_MASK));
}

struct replay_counts {
	uint64_t spans; /* begins, withheld or not, filtered ones excepted */
	uint64_t filtered_spans;
	uint64_t paused_spans; /* begun while recording was paused */
	uint64_t paused_told; /* those of them that PAUSED records told of */
	uint64_t repaired_slices; /* ended by replay, not by a record */
	uint64_t orphan_ends;
	/* Of functions whose state changes (function_log.h): */
	uint64_t off_slices; /* ended by replay, as their end was off */
	uint64_t late_begins; /* withheld: their function was off by then */
	uint64_t off_ends; /* withheld: their begin was not recorded */
	uint64_t folded_spans; /* too deep to be written */
	uint64_t short_spans; /* too short: see replay_set_min_duration() */
	uint64_t lost_spans, truncated_ends; /* as the records say */
	uint64_t waits, wait_ns;
	uint64_t events; /* packets written */
};

/*
 * Makes *@out an empty stack, whose packets go to @sequence from @start_ns
 * (CLOCK_BOOTTIME) on. The clocks of its records are ticks of @sync, or ns if
 * @sync is NULL. @pauses NULL: recording is never paused. @budget pays for its
 * memory. @budget, @sync and @pauses must outlive it. Returns 0 or -ENOMEM;
 * after 0 the caller ends it by replay_free().
 */
int replay_new(const struct replay_sink *sink, uint32_t sequence,
	       uint64_t start_ns, struct clock_sync *sync,
	       const struct pause_list *pauses, struct budget *budget,
	       struct replay **out);
/* Frees *@replay and what it has, and makes it NULL; it may be NULL. Nothing is
 * written any more: see replay_finish(). */
void replay_free(struct replay **replay);

/* From now on a span with @depth spans or more around it is withheld and not
 * counted, though it nests as before. Functions that the sink excludes do not
 * count as around it. 0: no limit. */
void replay_limit(struct replay *replay, uint32_t depth);

/*
 * Calls that take less than @min_ns are counted as all others, but not written,
 * unless something else is written in them, or at their begin or end: a longer
 * call, a note, an event, a loss, a wait. 0, as at the start: all are written.
 * Before the first record.
 */
void replay_set_min_duration(struct replay *replay, uint64_t min_ns);

/*
 * Takes in the @count records at @cells. They may lie in shared memory and
 * change while they are read. No clock is later than @now_ns. *@taken is how
 * many records were taken in. Returns
 *   0         all of them
 *   1         it stopped at a record that the caller must look at (fibers.c):
 *             one that is not about a single stack (FLOW, MAP, FORK, FORKING),
 *             one that is no span (ALLOC, FREE, EXT), or any record after
 *             replay_has_left() has become true
 *   -EBADMSG  it stopped at a record of no known kind: the ring is broken
 */
int replay_run(struct replay *replay, const struct record *cells, size_t count,
	       uint64_t now_ns, size_t *taken);
/* Takes in one record, after replay_run() has stopped at it and the caller has
 * found that it belongs to this stack. 0, or -EBADMSG: records of its kind do
 * not belong to a stack. */
int replay_take(struct replay *replay, uint64_t word, uint64_t clock);

/* @replay is the stack of a forked child. It may return from functions that its
 * parent called; such an end is no orphan. */
void replay_inherit(struct replay *replay);

/*
 * @linked: this is the stack of a context whose function returns into another
 * context, and no record will tell when. replay_run() then stops as soon as the
 * stack has been used and is empty.
 */
void replay_link(struct replay *replay, bool linked);
/* Whether that is so: @replay is linked, was used, and is empty. */
bool replay_has_left(const struct replay *replay);

/* @clock in ns of CLOCK_BOOTTIME, but not before the last event. No clock is
 * later than @now_ns. */
uint64_t replay_ns(struct replay *replay, uint64_t clock, uint64_t now_ns);

/* Control is at @ns where the stack pointer is that of @word: frames of
 * functions that went off, on top, are over if they lie deeper. */
void replay_settle(struct replay *replay, uint64_t word, uint64_t ns);

/* The frame on top. */
struct replay_mark replay_mark(const struct replay *replay);
/* Control went back to the frame of @mark at @ns: ends all frames above it, for
 * @cause. False: that frame is not open any more, and nothing was done. */
bool replay_unwind(struct replay *replay, const struct replay_mark *mark,
		   uint64_t ns, enum replay_cause cause);
/* The same for the innermost frame with the stack pointer of @word. */
bool replay_unwind_hint(struct replay *replay, uint64_t word, uint64_t ns,
			enum replay_cause cause);
/*
 * An exception was caught at @ns in a function whose stack pointer is that of
 * @word; it lies @bytes above the stack pointer of the unwinder. Ends the
 * frames that lie deeper. They are known if the function is instrumented. If it
 * is not, but near, they are guessed; if it is further away, nothing is done.
 */
void replay_land(struct replay *replay, uint64_t word, uint64_t bytes,
		 uint64_t ns);
/* What ran on this stack will never go on: ends all frames at @ns, for @cause.
 * Another context may begin on the stack. */
void replay_clear(struct replay *replay, uint64_t ns, enum replay_cause cause);

/* Writes an instant called @name at @ns, or at the last event if that was
 * later. If @flow is not 0, the flow of this number goes through the instant,
 * and ends there if @flow_ends. */
void replay_instant(struct replay *replay, uint64_t ns, const char *name,
		    uint64_t flow, bool flow_ends);
/*
 * The name of site @id on this sequence. *@iid is the number that
 * encode_event() takes as name_iid; 0: there is no memory for it. Returns false
 * if the site is excluded.
 */
bool replay_site(struct replay *replay, uint32_t id, uint32_t *iid);
/* Writes @event, on the track of the stack, or on that which its fields name.
 * Its time is @ns; but unless it is absolute, not before the last event. */
void replay_event(struct replay *replay, uint64_t ns,
		  const struct encode_event *event);

/* "@spans spans lost", at the last event. */
void replay_loss(struct replay *replay, uint64_t spans);

/* @spans more were not recorded in a pause, as a PAUSED record says. */
void replay_paused(struct replay *replay, uint64_t spans);

/* The thread has ended: ends all frames that are open, at @ns, or at the last
 * event if that was later. */
void replay_finish(struct replay *replay, uint64_t ns);

/* Gives what was written so far to the sink. After every visit of a ring. Calls
 * that are open and not yet known to be long enough are not written. */
void replay_flush(struct replay *replay);
/* What was recorded up to @ns was taken in. Writes the begins of the calls that
 * were open then, and that have been for as long as is written. */
void replay_write_old(struct replay *replay, uint64_t ns);

/*
 * From now on packets are collected in memory of @replay's own. It holds a
 * block of the sink only for the moment in which it gives the packets away. So
 * one thread can take turns with several replays. 0 or -ENOMEM.
 */
int replay_take_turns(struct replay *replay);

/* --- what it is made of and has found ----------------------------------------
 */

/* Calls @visit for each open and counted call, the outermost first, and for
 * @most of them at most. @waited_ns: how long the program has waited for the
 * collector in the call. */
typedef void replay_open(void *context, const struct cct_node *node,
			 uint64_t begin_ns, uint64_t waited_ns);
void replay_each_open(const struct replay *replay, size_t most,
		      replay_open *visit, void *context);

/* The calling-context tree, which is @replay's. */
struct cct *replay_tree(struct replay *replay);
/* The node of the frame on top, or the root if there is none. Never NULL. */
struct cct_node *replay_top_node(const struct replay *replay);
/* What was counted so far. Valid until replay_free(). */
const struct replay_counts *replay_counts(const struct replay *replay);
/* The track of its packets: the @sequence of replay_new(). */
uint32_t replay_sequence(const struct replay *replay);
/* Where the numbers of names on its sequence are counted: the next free one. */
uint32_t *replay_next_iid(struct replay *replay);
/* The time that the last call was told of, in ns of CLOCK_BOOTTIME. */
uint64_t replay_now_ns(const struct replay *replay);
/* The time of the last event. */
uint64_t replay_last_ns(const struct replay *replay);
/* Whether recording was paused at the last record. */
bool replay_is_paused(const struct replay *replay);

/* The names of addresses below SITES_MAX, which must outlive @replay; NULL:
 * they are addresses as all others. */
void replay_set_sites(struct replay *replay, struct sites *sites);
struct sites *replay_sites(const struct replay *replay);
/* Which functions are off, and when; NULL: none ever is. @log must outlive
 * @replay, and so it must all fibers that come from it. Before the first
 * record. */
void replay_set_function_log(struct replay *replay,
			     const struct function_log *log);
/* What is known of the next record; NULL: nothing. replay_note() is NULL once
 * that record was taken in. @note must live as long. */
void replay_set_note(struct replay *replay, struct replay_note *note);
struct replay_note *replay_note(const struct replay *replay);
/* Where the durations of calls are counted; NULL: nowhere. @histograms must
 * outlive @replay, and so it must all fibers that come from it. Before the
 * first record. */
void replay_set_histograms(struct replay *replay,
			   struct histograms *histograms);
/* Where allocations are fed, so that replay_run() need not stop at them; NULL:
 * it stops. @feed must outlive @replay. */
void replay_set_feed(struct replay *replay, struct heap_feed *feed);

#endif
