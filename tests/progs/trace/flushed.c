/* SPDX-License-Identifier: Apache-2.0
 *
 * flushed - "flushed COMMAND" runs COMMAND, "perfrec ctl flush", while calls
 * are open: so the trace has several short blocks, and its index has
 * checkpoints with open slices.
 */
#define PERFREC_CATEGORY "flushed"
#include <perfrec.h>
#include <stdlib.h>

PERFREC_COUNTER(g_left, "left", PERFREC_COUNTS, 0);

/* An index has a checkpoint after so many spans. */
#define SPANS 1024

static volatile long g_sum;

__attribute__((noinline)) static void leaf(int i)
{
	g_sum += i;
}

__attribute__((noinline)) static void nest(int depth, const char *command)
{
	PERFREC_SCOPE("step", "depth", depth);
	PERFREC_COUNT(&g_left, depth);
	for (int i = 0; i < SPANS; i++)
		leaf(i);
	if (system(command))
		exit(1);
	if (depth)
		nest(depth - 1, command);
	leaf(depth);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	nest(3, argv[1]);
	return 0;
}
