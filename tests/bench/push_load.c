/* SPDX-License-Identifier: Apache-2.0
 *
 * push_load SECONDS - a small service: 10 times a second it works for
 * about 0.2 ms at stacks of 10 to 20 frames, and keeps some blocks for a while.
 * It sleeps in between. Its stacks come from a random walk with a fixed seed,
 * so each run does the same work.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/random.h"

#define KEPT 64
#define ROUND_NS 100000000
#define SPINS 100000
#define FUNCTIONS 16

static void *kept[KEPT];
static uint64_t state = 88172645463325252;
static volatile uint64_t sink;

static void __attribute__((noinline)) work(void)
{
	const uint64_t one = next_random(&state);

	for (uint64_t i = 0; i < SPINS; i++)
		sink = sink * 31 + i;
	free(kept[one % KEPT]);
	kept[one % KEPT] = malloc(1000 + one / KEPT % 4000);
}

typedef void step(unsigned int depth);
static step *const steps[FUNCTIONS];

#define STEP(n)                                                            \
	static void __attribute__((noinline)) step_##n(unsigned int depth) \
	{                                                                  \
		if (depth)                                                 \
			steps[(next_random(&state) % 8                     \
				       ? n + depth                         \
				       : next_random(&state) / 8) %        \
			      FUNCTIONS](depth - 1);                       \
		else                                                       \
			work();                                            \
		sink += n;                                                 \
	}                                                                  \
	static step step_##n

STEP(0);
STEP(1);
STEP(2);
STEP(3);
STEP(4);
STEP(5);
STEP(6);
STEP(7);
STEP(8);
STEP(9);
STEP(10);
STEP(11);
STEP(12);
STEP(13);
STEP(14);
STEP(15);

static step *const steps[FUNCTIONS] = {
	step_0, step_1, step_2,	 step_3,  step_4,  step_5,  step_6,  step_7,
	step_8, step_9, step_10, step_11, step_12, step_13, step_14, step_15,
};

int main(int argc, char **argv)
{
	const uint64_t rounds = (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) *
				(1000000000 / ROUND_NS);

	for (uint64_t i = 0; i < rounds; i++) {
		const struct timespec rest = { .tv_nsec = ROUND_NS };

		for (int j = 0; j < 4; j++)
			steps[next_random(&state) % FUNCTIONS](
				8 + next_random(&state) % 10);
		nanosleep(&rest, NULL);
	}
	return 0;
}
