/* SPDX-License-Identifier: Apache-2.0
 *
 * scale_calls - the calls of a function of which only some were recorded, by
 * stack. How often it was called is known exactly (count_cell in
 * function_shm.h), and by which stacks the recorded ones were: the others are
 * taken to be alike.
 *
 * Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_SCALE_CALLS_H
#define PERFREC_COLLECTOR_REPLAY_SCALE_CALLS_H

#include <stddef.h>
#include <stdint.h>

/*
 * @calls are the recorded calls of one function, one number for each of its
 * @count stacks. Makes them as many as @exact calls in all, in the same
 * proportion, by the largest remainder: each is its share, rounded down or up;
 * among equal remainders the first goes up. Where none was recorded it stays 0.
 * If @exact is less than what was recorded nothing changes: each recorded call
 * was one.
 *
 * *@unknown is how many calls belong to no stack: all of @exact if none was
 * recorded, else 0. A profile has them below "callers not known". 0, or
 * -ENOMEM: nothing was changed.
 */
int scale_calls(uint64_t *calls, size_t count, uint64_t exact,
		uint64_t *unknown);

#endif
