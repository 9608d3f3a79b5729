/* SPDX-License-Identifier: Apache-2.0
 *
 * controller - decides which functions are recorded or only counted, so that
 * the cost of perfrec stays within a share of the program's CPU time
 * (--overhead). Pure code: events since the last tick go in, state changes come
 * out. No clock, lock or file; one thread at a time.
 *
 * The policy:
 *
 *   - A function becomes quieter (from recorded to counted) only while the
 *     program costs more than its budget. The first is the function with the
 *     highest cost for its duration: number of calls, times the cost of one,
 *     divided by the mean duration.
 *   - A function with a mean duration of CONTROLLER_LONG_NS or more stays as it
 *     is. While the mean is unknown, a function is touched only if its number
 *     of calls rules out such a mean.
 *   - No decision is final. The mean follows recent calls, so a function whose
 *     calls become long is recorded again at once. A function that was muted in
 *     an earlier recording is checked after 60 ms.
 *   - Other costs of perfrec (other_ns) are paid first, from up to four fifths
 *     of the budget.
 *   - A counted function is recorded for a moment now and then (an *episode*),
 *     which gives the durations of its calls. All episodes share a part of the
 *     budget.
 *   - A function becomes louder after there was room for it for a while. Each
 *     time that it soon goes quiet again, its wait doubles.
 *
 * The cost of a tick is proportional to the number of functions.
 */
#ifndef PERFREC_COLLECTOR_STATES_CONTROLLER_H
#define PERFREC_COLLECTOR_STATES_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/states/function_state.h"

struct controller;

/* Functions with this mean duration or more are never touched. */
#define CONTROLLER_LONG_NS 10000
/* Length of a short tick in wall time. */
#define CONTROLLER_HURRY_NS 4000000
#define CONTROLLER_FUNCTIONS_MAX (1u << 20)

/* The cost of one call by state, in ns of the program's CPU time. */
struct controller_cost {
	float span, counted;
};

/* The program since the last tick, summed over threads and processes. */
struct controller_time {
	uint64_t wall_ns;
	uint64_t cpu_ns; /* of the program, perfrec's cost included */
	uint32_t threads; /* 0 counts as 1 */
	/* Costs of perfrec that do not depend on states: connecting, samples.
	 * They are paid from the same budget. */
	uint64_t other_ns;
};

/* A function since the last tick. A function without an entry had no calls, and
 * keeps its last reported state. */
struct controller_function {
	uint32_t number;
	/* The present state, whatever was requested. A slow or missing change
	 * does no harm. */
	enum function_state state;
	/* The state was set by hand or cannot change. Its cost counts. */
	bool fixed;
	uint64_t calls; /* 0 in state off */
	/* Recorded calls that ended, and their summed duration. May be reported
	 * ticks after the calls. */
	uint64_t ended, ended_ns;
	const struct controller_cost *cost; /* read only during the call */
};

struct controller_change {
	uint32_t number;
	enum function_state state;
	bool episode; /* start or end of an episode */
};

/* Knowledge about a function, kept for the next recording (states_cache.h) and
 * for reports. */
struct controller_known {
	enum function_state state;
	float mean_ns; /* of recorded calls; 0: unknown */
	float calls_per_second; /* of the program's CPU time */
};

/* The result so far. Shares are parts of 1 of the program's CPU time. */
struct controller_reached {
	double share; /* cost in the last second of CPU time */
	double share_all; /* cost since the start */
	double floor; /* share with all touchable functions counted */
	bool unmet; /* the budget is out of reach: share is the result */
	uint64_t cost_ns, cpu_ns;
	uint64_t counting_ns; /* part of cost_ns: counting */
	uint64_t episode_ns; /* part of cost_ns: episodes */
	uint64_t changes; /* requested changes, including episodes */
	uint32_t counted; /* functions that the controller has made counted */
};

/* @budget is a share of CPU time from 0 to 1, such as 0.05. Returns NULL
 * without memory. The caller ends it with controller_free(). */
struct controller *controller_new(double budget);
void controller_free(struct controller *controller);

/*
 * Applies a tick: @time, and @count functions in any order, each once. Writes
 * at most @room changes to @changes, the most urgent first, and returns their
 * number. Other changes follow with the next tick, if still valid. A change is
 * repeated only if the function is not in the requested state 2 s later.
 *
 * Ticks may have any length and distance; 20 ms are usual. A function with too
 * large a number, or without memory, is not steered.
 */
size_t controller_tick(struct controller *controller,
		       const struct controller_time *time,
		       const struct controller_function *functions,
		       size_t count, struct controller_change *changes,
		       size_t room);

/* Returns true if the next tick should follow after CONTROLLER_HURRY_NS: a
 * shorter episode costs less. */
bool controller_hurries(const struct controller *controller);

/* Passes knowledge of an earlier recording about function @number, which is or
 * soon will be in @known->state. Call before the first tick with the
 * function. */
void controller_know(struct controller *controller, uint32_t number,
		     const struct controller_known *known);
/* Sets *@known to the knowledge about function @number for the next recording;
 * an open episode counts as ended. Returns false if there is none. */
bool controller_known(const struct controller *controller, uint32_t number,
		      struct controller_known *known);
/* Drops a function whose module was unloaded. The number may be reused. */
void controller_forget(struct controller *controller, uint32_t number);

void controller_reached(const struct controller *controller,
			struct controller_reached *reached);

#endif
