/* SPDX-License-Identifier: Apache-2.0
 *
 * controller - decides which functions are recorded or only counted, so that
 * what perfrec costs the program stays within a share of its CPU time
 * (--overhead). Pure code: what happened since the last tick goes in, what
 * shall change comes out. No clock, no lock, no file; one thread at a time.
 *
 * What it does:
 *
 *   - Only while the program costs more than its budget is a function made
 *     quieter: from recorded to counted. First goes the function whose calls
 *     cost most for their duration: their number, times the cost of one, by the
 *     mean duration of one.
 *   - A function whose calls take CONTROLLER_LONG_NS or longer on average stays
 *     as it is. While the mean is unknown, a function is touched only if so
 *     many calls cannot take that long.
 *   - No judgement is final. The mean follows recent calls, so a function whose
 *     calls become long is recorded again at once. A function that was muted in
 *     an earlier run is checked after 60 ms.
 *   - Other costs of perfrec (other_ns) are paid first, by up to four fifths of
 *     the budget.
 *   - A counted function is recorded for a moment now and then (an *episode*),
 *     so that the durations of its calls are known. All episodes share a part
 *     of the budget.
 *   - A function becomes louder when there was room for it for a while. Each
 *     time that it has to go back soon after, it waits twice as long.
 *
 * A tick costs time in proportion to the number of functions.
 */
#ifndef PERFREC_COLLECTOR_STATES_CONTROLLER_H
#define PERFREC_COLLECTOR_STATES_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/states/function_state.h"

struct controller;

/* Mean durations from here on are never touched. */
#define CONTROLLER_LONG_NS 10000
/* A short tick, of wall time. */
#define CONTROLLER_HURRY_NS 4000000
/* Function numbers are below this. */
#define CONTROLLER_FUNCTIONS_MAX (1u << 20)

/* The cost of one call in each state, in ns of CPU time of the program. */
struct controller_cost {
	float span, counted;
};

/* The program since the last tick, all its threads and processes together. */
struct controller_time {
	uint64_t wall_ns;
	uint64_t cpu_ns; /* that it ran, with what perfrec cost in it */
	uint32_t threads; /* how many there are; 0 counts as 1 */
	/* Costs of perfrec that no state of a function changes: connecting,
	 * samples. They are paid from the same budget. */
	uint64_t other_ns;
};

/* A function since the last tick. What is not given had no calls, and is in the
 * state that was told last. */
struct controller_function {
	uint32_t number;
	/* As it is now; that it was asked for something else does not matter. A
	 * function that takes long to change, or never does, is no harm. */
	enum function_state state;
	/* Stays as it is: asked for by hand, or it cannot be changed. What it
	 * costs counts. */
	bool fixed;
	uint64_t calls; /* all of them; 0 in state off */
	/* Recorded calls that ended, and what they took together. They may be
	 * told ticks later than the calls. */
	uint64_t ended, ended_ns;
	const struct controller_cost *cost; /* read during the call only */
};

/* What the controller wants. */
struct controller_change {
	uint32_t number;
	enum function_state state; /* FUNCTION_SPAN or _COUNTED */
	bool episode; /* it starts or ends an episode */
};

/* What a function was like: kept from one recording to the next
 * (states_cache.h), and told. */
struct controller_known {
	enum function_state state; /* FUNCTION_SPAN or _COUNTED */
	float mean_ns; /* of a recorded call; 0: unknown */
	float calls_per_second; /* of CPU time of the program */
};

/* How it went. Shares are parts in 1 of the program's CPU time. */
struct controller_reached {
	double share; /* cost of the last second of CPU time */
	double share_all; /* and of all since the start */
	double floor; /* the share with all touchable functions counted */
	bool unmet; /* the budget is out of reach: share is the result */
	uint64_t cost_ns, cpu_ns; /* since the start */
	uint64_t counting_ns; /* of cost_ns, counting all calls */
	uint64_t episode_ns; /* of cost_ns, what episodes cost */
	uint64_t changes; /* requested ones, including episodes */
	uint32_t counted; /* functions that are now so because of us */
};

/* Begins to steer. @budget is a share of CPU time, 0 to 1: 0.05. NULL: no
 * memory. controller_free() ends it. */
struct controller *controller_new(double budget);
void controller_free(struct controller *controller);

/*
 * Takes in a tick: @time, and @count functions in any order, each once. Writes
 * at most @room changes to @changes, the most urgent first, and returns how
 * many; what did not fit comes with the next tick, if it is still right by
 * then. Each change is said once, and again only if the function is not in that
 * state 2 s later.
 *
 * Ticks may have any length and any distance; 20 ms are usual. A function whose
 * number is too large, or for which there is no memory, is not steered.
 */
size_t controller_tick(struct controller *controller,
		       const struct controller_time *time,
		       const struct controller_function *functions,
		       size_t count, struct controller_change *changes,
		       size_t room);

/* Whether the next tick should come early, after CONTROLLER_HURRY_NS: an open
 * episode costs less if it ends sooner. */
bool controller_hurries(const struct controller *controller);

/* What is known of function @number from an earlier recording: it is taken to
 * be in @known->state, or soon. Before the first tick that has the function. */
void controller_know(struct controller *controller, uint32_t number,
		     const struct controller_known *known);
/* Writes to *@known what the next recording should know of function @number; an
 * open episode counts as over. False: nothing is known. */
bool controller_known(const struct controller *controller, uint32_t number,
		      struct controller_known *known);
/* The function is there no more (its module was unloaded): its number may be
 * used for another one. */
void controller_forget(struct controller *controller, uint32_t number);

void controller_reached(const struct controller *controller,
			struct controller_reached *reached);

#endif
