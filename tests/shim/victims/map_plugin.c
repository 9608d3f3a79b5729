/* SPDX-License-Identifier: Apache-2.0
 *
 * map_plugin - a library of map_victim, in several copies with different IDs.
 * Each function reports its ID to the victim.
 */
#include "tests/shim/victims/map_victim.h"

/* Missing in a namespace of dlmopen(). */
#pragma weak map_note

#define TELL(function)                                  \
	do {                                            \
		if (map_note)                           \
			map_note((void *)function, ID); \
	} while (0)

__attribute__((noinline)) static int inner(int x)
{
	TELL(inner);
	return x + ID;
}

int map_call(int x)
{
	TELL(map_call);
	return inner(x) + 1;
}

__attribute__((constructor)) static void begin(void)
{
	TELL(begin);
	inner(1);
}

__attribute__((destructor)) static void end(void)
{
	TELL(end);
	inner(2);
}
