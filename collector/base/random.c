/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/random.h"

#include <sys/random.h>

uint64_t random_u64(void)
{
	uint64_t number;

	/* The kernel returns so few bytes completely and never refuses them. */
	while (getrandom(&number, sizeof(number), 0) != sizeof(number))
		;
	return number;
}
