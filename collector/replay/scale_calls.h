/* SPDX-License-Identifier: Apache-2.0
 *
 * scale_calls - estimates the calls of a function by stack, if only some were
 * recorded. The number of all calls is exact (count_cell in function_shm.h),
 * and the stacks of recorded calls are known. The other calls are assumed to be
 * alike. Pure; any thread.
 */
#ifndef PERFREC_COLLECTOR_REPLAY_SCALE_CALLS_H
#define PERFREC_COLLECTOR_REPLAY_SCALE_CALLS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Scales @calls, the recorded calls of one function for each of its @count
 * stacks, to a sum of @exact calls, in the same proportion, by the largest
 * remainder: each share is rounded down or up; on equal remainders, the first
 * goes up. A stack without recorded calls stays 0. If @exact is less than the
 * recorded calls, nothing changes.
 *
 * Sets *@unknown to the calls without a stack: all of @exact if no call was
 * recorded, else 0. A profile has them below "callers not known". Returns 0, or
 * -ENOMEM without any change.
 */
int scale_calls(uint64_t *calls, size_t count, uint64_t exact,
		uint64_t *unknown);

#endif
