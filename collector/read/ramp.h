/* SPDX-License-Identifier: Apache-2.0
 *
 * ramp - a sum of amounts that grow evenly, each over a stretch of time. All zero:
 * nothing grows. The owner ends it with ramp_release(). One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_RAMP_H
#define PERFREC_COLLECTOR_READ_RAMP_H

#include <stddef.h>
#include <stdint.h>

struct budget;

struct ramp {
	struct ramp_corner {
		uint64_t ns;
		double slope; /* from here on; before ramp_finish(): its change */
		double sum; /* up to here */
	} * corners;
	size_t count, room;
};

/* Adds @amount, which grows from @from_ns to @to_ns. Nothing if there is no time
 * between. Returns 0 or -ENOMEM. */
int ramp_add(struct ramp *ramp, struct budget *budget, uint64_t from_ns,
	     uint64_t to_ns, double amount);
/* Sorts the corners and sums them up, after all ramp_add() and before the next
 * two. */
void ramp_finish(struct ramp *ramp);
/* Returns the sum that has grown until @ns. */
double ramp_until(const struct ramp *ramp, uint64_t ns);
/* For slopes up to 1: returns the growth, at most the length of the stretch. */
double ramp_between(const struct ramp *ramp, uint64_t from_ns, uint64_t to_ns);
/* Frees the corners and gives their bytes back to @budget. */
void ramp_release(struct ramp *ramp, struct budget *budget);

#endif
