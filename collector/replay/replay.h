/* SPDX-License-Identifier: Apache-2.0
 *
 * replay - turns the records of one stack into well-formed slices. A shadow
 * stack supplies missing ends and withholds ends without a beginning. A
 * calling-context tree counts every call. The rules are in replay.c.
 *
 * One thread at a time may use a struct replay: the drain worker of the
 * program's thread. The functions take no locks and do no I/O. They may call
 * the sink, and allocate memory within the budget.
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

/* Open slices on one track. Perfetto drops the start of a deeper slice, and
 * then misapplies its end. */
#define REPLAY_SLICES_MAX 512

struct replay;

/* Callbacks: replay hands packets over and asks questions, on the thread that
 * calls it. */
struct replay_sink {
	/* Returns an empty block, never NULL; replay gives each block back. */
	struct trace_block *(*take)(void *context);
	void (*give)(void *context, struct trace_block *block);
	/* Returns true if @function is withheld. Called once for each
	 * function. */
	bool (*excludes)(void *context, uint64_t function);
	void *context;
	/* Returns about how many bytes the recording has. NULL: there is no
	 * index. */
	uint64_t (*position)(void *context);
	/* Wants a last block, which may be empty, with its "ended" set. */
	bool tells_end;
	/* If not 0, blocks have the form of trace/compact.h, with places where
	 * a reader can start at least this often, in ns. */
	uint64_t restart_ns;
	/* Returns the least duration of reported calls of @function, or
	 * UINT64_MAX to report none. Called once for each function; the tree
	 * may change it later (cct_function.slow_ns). NULL: reports none. */
	uint64_t (*slow_ns)(void *context, uint64_t function);
	/* Reports an ended call of @node that took this long. @took_ns excludes
	 * waits for the collector; @held comes from its notes (struct replay_note).
	 * The callback must be fast, because it runs in the middle of a piece
	 * of the ring. */
	void (*slow)(void *context, const struct cct_node *node,
		     uint64_t begin_ns, uint64_t end_ns, uint64_t took_ns,
		     uint8_t held);
};

/* The program's note on the next begin or end (thread_notes.c). Replay asks for
 * it when it writes the event, or never. */
struct replay_note {
	/* Sets the fields and the interned data of @event, the start or end of
	 * @function. Clears event->name_iid if the program named the slice
	 * itself. Returns bits that replay keeps with the call: its notes'
	 * together are the call's @held. */
	uint8_t (*describe)(struct replay_note *note, struct replay *replay,
			    uint64_t function, struct encode_event *event);
};

enum replay_cause {
	REPLAY_ENDED, /* it has its own end: no mark */
	REPLAY_GUESS, /* over by now, perhaps for long */
	REPLAY_LONGJMP, /* now, by longjmp() */
	REPLAY_EXCEPTION, /* when unwinding had come further up */
	REPLAY_CONTEXT, /* by setcontext(), or by a new context on its stack */
	REPLAY_EXIT, /* by pthread_exit() or cancellation */
	REPLAY_OFF, /* its function went off meanwhile: over by now */
};

struct replay_mark {
	uint64_t word, begin_ns;
	uint32_t depth, over;
};

/* Returns how many bytes the stack pointer of record @word lies below that of
 * @above; negative: above it. A record has 12 bits of the stack pointer, so the
 * result is a multiple of 16 from -32768 to 32752. It is right if the two are
 * no further apart. Records of any kind. */
static inline int replay_sp_below(uint64_t above, uint64_t word)
{
	return (int16_t)((above & RECORD_SP_MASK) - (word & RECORD_SP_MASK));
}

struct replay_counts {
	uint64_t spans; /* begins that count as calls, written or not */
	uint64_t filtered_spans;
	uint64_t paused_spans;
	uint64_t paused_told; /* of these, in PAUSED records */
	uint64_t repaired_slices; /* ended by replay, not by a record */
	uint64_t orphan_ends;
	/* For functions whose state changes (function_log.h): */
	uint64_t off_slices; /* ended by replay, because their end was off */
	uint64_t late_begins; /* withheld: their function was off */
	uint64_t off_ends; /* withheld: their begin was not recorded */
	uint64_t folded_spans;
	uint64_t short_spans;
	uint64_t lost_spans, truncated_ends;
	uint64_t waits, wait_ns;
	uint64_t events;
};

/*
 * Creates *@out, an empty stack whose packets go to @sequence from @start_ns
 * (CLOCK_BOOTTIME) on. Clocks of records are ticks of @sync, or ns if @sync is
 * NULL. @pauses may be NULL. @budget pays for its memory. @budget, @sync and
 * @pauses must outlive it. Returns 0 or -ENOMEM. The caller ends it with
 * replay_free().
 */
int replay_new(const struct replay_sink *sink, uint32_t sequence,
	       uint64_t start_ns, struct clock_sync *sync,
	       const struct pause_list *pauses, struct budget *budget,
	       struct replay **out);
/* Frees *@replay, which may be NULL, and clears it. Writes nothing: see
 * replay_finish(). */
void replay_free(struct replay **replay);

/* From now on, withholds spans with @depth or more spans around them. They
 * still nest, but are not counted. Functions that the sink excludes do not
 * count as spans around others. 0: no limit. */
void replay_limit(struct replay *replay, uint32_t depth);

/* Leaves calls shorter than @min_ns out of the trace, but counts them. A short
 * call is written if something else is written in it, or at its start or end: a
 * longer call, a note, an event, a loss, a wait. 0, the default: all calls are
 * written. Call it before the first record. */
void replay_set_min_duration(struct replay *replay, uint64_t min_ns);

/*
 * Reads the @count records at @cells, which may be in shared memory and change
 * meanwhile. No clock is later than @now_ns. Sets *@taken to the number of
 * records read. Returns
 *   0         all are read
 *   1         it stopped at a record for the caller (fibers.c): about more than
 *             one stack (FLOW, MAP, FORK, FORKING), no span (ALLOC, FREE, EXT),
 *             or any record after replay_has_left() has become true
 *   -EBADMSG  it stopped at a record of unknown kind: the ring is broken
 */
int replay_run(struct replay *replay, const struct record *cells, size_t count,
	       uint64_t now_ns, size_t *taken);
/* Reads one record that stopped replay_run() and belongs to this stack. Returns
 * 0, or -EBADMSG for a kind that belongs to no stack. */
int replay_take(struct replay *replay, uint64_t word, uint64_t clock);

/* @replay is the stack of a forked child. It may return from functions that its
 * parent called; such an end is no orphan. */
void replay_inherit(struct replay *replay);

/* @linked: this is the stack of a context whose function returns into another
 * context, and no record reports that. replay_run() then stops when the stack
 * has been used and is empty. */
void replay_link(struct replay *replay, bool linked);
bool replay_has_left(const struct replay *replay);

/* Converts @clock to ns of CLOCK_BOOTTIME, but not before the last event. No
 * clock is later than @now_ns. */
uint64_t replay_ns(struct replay *replay, uint64_t clock, uint64_t now_ns);

/* Control is at the stack pointer of @word at @ns. Ends deeper frames on top
 * whose functions went off. */
void replay_settle(struct replay *replay, uint64_t word, uint64_t ns);

struct replay_mark replay_mark(const struct replay *replay);
/* Control went back to the frame of @mark at @ns: ends all frames above it,
 * for @cause. Returns false, and does nothing, if the frame is not open any
 * more. */
bool replay_unwind(struct replay *replay, const struct replay_mark *mark,
		   uint64_t ns, enum replay_cause cause);
/* The same for the innermost frame with the stack pointer of @word. */
bool replay_unwind_hint(struct replay *replay, uint64_t word, uint64_t ns,
			enum replay_cause cause);
/* An exception was caught at @ns in a function with the stack pointer of @word,
 * @bytes above that of the unwinder. Ends deeper frames. If the function is
 * instrumented, these are known. If it is not, but near, they are a guess; if
 * it is further away, nothing ends. */
void replay_land(struct replay *replay, uint64_t word, uint64_t bytes,
		 uint64_t ns);
/* Ends all frames at @ns, for @cause. Another context may begin on this
 * stack. */
void replay_clear(struct replay *replay, uint64_t ns, enum replay_cause cause);

/* Writes an instant @name at @ns, but not before the last event. If @flow is
 * not 0, this flow goes through the instant, and ends there if @flow_ends. */
void replay_instant(struct replay *replay, uint64_t ns, const char *name,
		    uint64_t flow, bool flow_ends);
/* Returns false if site @id is excluded. Otherwise sets *@iid to its name for
 * encode_event(); 0: no memory. */
bool replay_site(struct replay *replay, uint32_t id, uint32_t *iid);
/* Writes @event, on the track of the stack or on the track in its fields. Its
 * time is @ns, but not before the last event unless it is absolute. */
void replay_event(struct replay *replay, uint64_t ns,
		  const struct encode_event *event);

void replay_loss(struct replay *replay, uint64_t spans);

/* A PAUSED record reports @spans more unrecorded spans. */
void replay_paused(struct replay *replay, uint64_t spans);

/* The thread has ended: ends all open frames at @ns, but not before the last
 * event. */
void replay_finish(struct replay *replay, uint64_t ns);

/* Hands written packets to the sink. Call it after each visit of a ring. Open
 * calls that may still turn out to be short are not written. */
void replay_flush(struct replay *replay);
/* All records up to @ns were read. Writes the begins of calls that have been
 * open for the minimum duration then. */
void replay_write_old(struct replay *replay, uint64_t ns);

/* From now on @replay collects packets in its own memory, and holds a block of
 * the sink only to hand packets over. So one thread can use several replays in
 * turn. Returns 0 or -ENOMEM. */
int replay_take_turns(struct replay *replay);

/* --- state and results --------------------------------------------------- */

/* Calls @visit for each open and counted call, the outermost first, at most
 * @most times. @waited_ns: the time in the call that the program has waited for
 * the collector. @held as in struct replay_sink. */
typedef void replay_open(void *context, const struct cct_node *node,
			 uint64_t begin_ns, uint64_t waited_ns, uint8_t held);
void replay_each_open(const struct replay *replay, size_t most,
		      replay_open *visit, void *context);

struct cct *replay_tree(struct replay *replay);
/* Returns the node of the frame on top, or the root, never NULL. */
struct cct_node *replay_top_node(const struct replay *replay);
/* An open call, or none. */
struct replay_place {
	size_t depth;
	uint64_t cell;
};
/* Returns the innermost open call. */
struct replay_place replay_place(const struct replay *replay);
/* Returns true if the call at @place is still open. */
bool replay_place_open(const struct replay *replay, struct replay_place place);
const struct replay_counts *replay_counts(const struct replay *replay);
uint32_t replay_sequence(const struct replay *replay);
/* Returns the counter of name ids on this sequence; it has the last one in
 * use. */
uint32_t *replay_next_iid(struct replay *replay);
uint64_t replay_now_ns(const struct replay *replay);
uint64_t replay_last_ns(const struct replay *replay);
bool replay_is_paused(const struct replay *replay);

/* Sets the names of addresses below SITES_MAX. @sites must outlive @replay.
 * NULL: they are ordinary addresses. */
void replay_set_sites(struct replay *replay, struct sites *sites);
struct sites *replay_sites(const struct replay *replay);
/* Sets the log of functions that are off, or NULL. @log must outlive @replay
 * and all fibers made from it. Call it before the first record. */
void replay_set_function_log(struct replay *replay,
			     const struct function_log *log);
/* Sets the note on the next record, or NULL. replay_note() returns NULL when
 * that record was read. @note must live as long. */
void replay_set_note(struct replay *replay, struct replay_note *note);
struct replay_note *replay_note(const struct replay *replay);
/* Sets where durations of calls are counted, or NULL. @histograms must outlive
 * @replay and all fibers made from it. Call it before the first record. */
void replay_set_histograms(struct replay *replay,
			   struct histograms *histograms);
/* Sets where allocations go, so that replay_run() need not stop at them, or
 * NULL. @feed must outlive @replay. */
void replay_set_feed(struct replay *replay, struct heap_feed *feed);

#endif
