/* SPDX-License-Identifier: Apache-2.0
 *
 * replay - from the records of one stack to well-formed slices: a shadow
 * stack that supplies the ends that never came, withholds those that have no
 * begin, and feeds the calling-context tree. See replay.c.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_REPLAY_H
#define PERFREC_COLLECTOR_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/replay/cct.h"
#include "collector/replay/clock_sync.h"
#include "collector/base/budget.h"
#include "collector/trace/encode.h"
#include "shared/record.h"

struct heap_feed;
struct pause_list;
struct sites;
struct trace_block;

/* Slices written on one track; Perfetto drops the begin of a deeper one and
 * then misapplies its end. */
#define REPLAY_SLICES_MAX 512

struct replay;

/* Where packets go and what replay must ask. Called on the thread that runs
 * replay. */
struct replay_sink {
	struct trace_block *(*take)(void *context); /* an empty one */
	void (*give)(void *context, struct trace_block *block); /* to write */
	/* Is this function to be withheld? Asked once for each. */
	bool (*excludes)(void *context, uint64_t function);
	void *context;
};

/* What the program tells of the next begin or end (thread_notes.c), asked for
 * when that is written, or never. */
struct replay_note {
	/* Fills in fields and interned of @event, which is about @function; if
	 * that has a name of its own, takes its name_iid away. */
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
};

/* A frame, to be found again as long as it is open. */
struct replay_mark {
	uint64_t word, begin_ns;
	uint32_t depth, over;
};

struct replay_frame {
	uint64_t word; /* of its BEGIN or PHANTOM */
	uint64_t begin_ns;
	struct cct_node *node; /* of a phantom: its caller's */
	uint32_t same; /* frames below it with the same stack pointer */
	bool written; /* its begin is in the trace */
	/* run_fast() leaves these two alone: false beyond the top. */
	bool cut; /* too deep: see replay_limit(); node as of a phantom */
	bool flat; /* an excluded function: deepens nothing */
};

/* Whether @frame stands for a span that is not in the trace, as it was dropped,
 * excluded, or began in a pause. */
static inline bool replay_is_phantom(const struct replay_frame *frame)
{
	return record_kind(frame->word) == RECORD_PHANTOM;
}

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
	uint64_t folded_spans; /* too deep to be written */
	uint64_t lost_spans, truncated_ends; /* as the records say */
	uint64_t waits, wait_ns;
	uint64_t events; /* packets written */
};

struct replay {
	struct replay_sink sink;
	struct clock_sync *sync; /* NULL: clocks are ns */
	const struct pause_list *pauses;
	uint32_t pause_changes; /* of pauses, when the segment was cut */
	bool paused; /* in this segment, which ends where that ends */
	bool linked; /* see replay_link() */
	bool inherits; /* see replay_inherit() */
	struct replay_note *note; /* for the next record; NULL: none */
	struct sites *sites; /* of addresses below SITES_MAX; NULL: none */
	struct replay_sites {
		struct replay_site *entry; /* hash table by id */
		uint32_t count, mask;
	} named; /* sites, on this sequence */
	uint64_t now_ns;
	struct clock_segment segment;
	struct encoder encoder;
	struct replay_output {
		uint8_t *start, *end; /* for packets; NULL: none is taken */
		struct trace_name *names;
		uint32_t name_count, name_room;
	} output;
	struct replay_repair {
		enum replay_cause cause; /* REPLAY_ENDED: none yet */
		uint32_t bytes;
		uint8_t packet[ENCODE_AGAIN_BYTES];
	} repair; /* the last end with a mark */
	struct trace_block *block; /* what it lies in; NULL: in stage */
	struct replay_stage *stage; /* see replay_take_turns() */
	struct cct cct;
	struct replay_frame *stack; /* stack[0] stands for the thread */
	struct replay_frame *top;
	uint32_t capacity;
	uint32_t next_iid;
	uint32_t written; /* slices open in the trace */
	uint32_t given; /* as many of them behind the last block given */
	uint32_t over; /* frames beyond the deepest stack there is room for */
	uint32_t limit; /* of depth; 0: none */
	uint32_t flat; /* frames that are */
	uint64_t outer_word; /* of the first BEGIN; 0: none yet */
	uint64_t last_ns;
	uint64_t search_credit;
	uint64_t untold_paused; /* spans that no mark in the trace tells */
	struct heap_feed *feed; /* for blocks; NULL: the caller takes them */
	struct replay_counts counts;
};

/*
 * A new stack, whose packets go to @sequence from @start_ns on. Clocks are
 * ticks of @sync, or ns if that is NULL; @pauses may be NULL: never. @budget,
 * @sync and @pauses must outlive it. 0 or -ENOMEM.
 */
int replay_init(struct replay *replay, const struct replay_sink *sink,
		uint32_t sequence, uint64_t start_ns, struct clock_sync *sync,
		const struct pause_list *pauses, struct budget *budget);
void replay_release(struct replay *replay);

/* From now on spans with @depth others around them are withheld and not
 * counted, but nest as ever; functions that the sink excludes do not count as
 * around them. 0: no limit. */
void replay_limit(struct replay *replay, uint32_t depth);

/*
 * Take in @count records, which may lie in shared memory and change while
 * they are read; none has a clock later than @now_ns. *@taken is how many it
 * was. Returns 0 when it was all of them, 1 before a record that the caller
 * must look at (see fibers.c): one that is not about a single stack (FLOW,
 * MAP, FORK, FORKING) or no span (ALLOC, FREE, EXT), or the one that
 * replay_link() is about; or -EBADMSG before one of no known kind: the ring is
 * broken.
 */
int replay_run(struct replay *replay, const struct record *cells, size_t count,
	       uint64_t now_ns, size_t *taken);
/* Take in the record after which replay_run() stopped, if it belongs to this
 * stack after all. 0, or -EBADMSG for a kind that does not. */
int replay_take(struct replay *replay, uint64_t word, uint64_t clock);

/* This is the stack of a forked child: it may return from functions that its
 * parent has called, whose spans are the parent's. */
void replay_inherit(struct replay *replay);

/*
 * Whether this is the stack of a context that goes on in another one when its
 * function returns, of which no record tells. replay_run() then stops when
 * the stack was used and is empty (replay_has_left()).
 */
void replay_link(struct replay *replay, bool linked);
bool replay_has_left(const struct replay *replay);

/* What @clock is in ns; not before the last event. */
uint64_t replay_ns(struct replay *replay, uint64_t clock, uint64_t now_ns);

/* The frame on top. */
struct replay_mark replay_mark(const struct replay *replay);
/* Control went back to the frame of @mark at @ns: ends all above it. False
 * when that frame is open no more: nothing is done. */
bool replay_unwind(struct replay *replay, const struct replay_mark *mark,
		   uint64_t ns, enum replay_cause cause);
/* The same for the innermost frame with the stack pointer of @word. */
bool replay_unwind_hint(struct replay *replay, uint64_t word, uint64_t ns,
			enum replay_cause cause);
/* Unwinding goes on in a function with the stack pointer of @word, @bytes above
 * that of the unwinder: ends what lies deeper. That is known if the function
 * is instrumented, a guess if not and it is near; otherwise nothing is. */
void replay_land(struct replay *replay, uint64_t word, uint64_t bytes,
		 uint64_t ns);
/* What ran on this stack has gone for good; another may begin on it. */
void replay_clear(struct replay *replay, uint64_t ns, enum replay_cause cause);

/* A mark in the trace at @ns, or at the last event if that was later;
 * @flow, if not 0, starts or @flow_ends. */
void replay_instant(struct replay *replay, uint64_t ns, const char *name,
		    uint64_t flow, bool flow_ends);
/*
 * Site @id on this sequence: *@iid is its name's, as encode_event() takes it,
 * or 0 when there is no memory for that. False when it is excluded.
 */
bool replay_site(struct replay *replay, uint32_t id, uint32_t *iid);
/* Any event; @ns, unless it is absolute, or the last event's time if that was
 * later. It lies on the track of the stack, or where its fields say. */
void replay_event(struct replay *replay, uint64_t ns,
		  const struct encode_event *event);

/* "@spans spans lost", at the last event. */
void replay_loss(struct replay *replay, uint64_t spans);

/* @spans more were not recorded in a pause, as a PAUSED record says. */
void replay_paused(struct replay *replay, uint64_t spans);

/* The thread has ended: so has, at @ns or the last event if that was later,
 * all that is open. */
void replay_finish(struct replay *replay, uint64_t ns);

/* Give what is written so far to the sink: after every visit of a ring. */
void replay_flush(struct replay *replay);

/*
 * From now on collect what is written in memory of its own, and have a block
 * of the sink only to give it, so that a thread can take turns with several
 * replays. 0 or -ENOMEM.
 */
int replay_take_turns(struct replay *replay);

#endif
