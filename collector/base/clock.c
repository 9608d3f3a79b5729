/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/clock.h"

uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
