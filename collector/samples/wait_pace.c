/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_pace - the next pass sees a wait that begins after a pass. So the poller
 * sees each wait that is longer than the period plus the age at which it takes
 * waits (1 ms): with a period of 4 ms, all waits of 5 ms. A pass takes longer
 * than reading two threads, mostly for the wake-up. So the period grows, from 1
 * to 10 ms, while little time of sufficiently long waits is missed. Without any
 * switches, the period is a 32nd of the idle time, up to 50 ms: it then misses
 * at most a 32nd of the wait before. A sleeping program costs 20 passes a
 * second.
 *
 * On a virtual machine with two busy CPUs a pass took 35 us and a thread 10 us
 * more. Programs with 1,200 to 2,200 long waits a second then used 2 to 5 % of
 * a CPU, and 95 % of the time of these waits was read; with 1 % it was 15 to 40
 * %.
 *
 * Unused CPU time is saved, up to a second's worth. When it is used up, the
 * next pass waits until there is some again.
 */
#include "collector/samples/wait_pace.h"

#include "shared/compiler.h"

#define IDLE_PART 32u
#define CHOOSE_NS 40000000u
#define PERIOD_MOST_NS 10000000u /* while threads are switched */
#define MISSED_PART 40u /* tolerated part of the time of long waits */

static void refill_pace(struct wait_pace *pace, uint64_t wall_ns)
{
	const int64_t most = WAIT_PACE_SAVED_NS / WAIT_PACE_PART;
	uint64_t past = wall_ns - MIN(wall_ns, pace->wall_ns);

	past = MIN(past, WAIT_PACE_SAVED_NS);
	pace->left_ns += (int64_t)(past / WAIT_PACE_PART);
	pace->left_ns = MIN(pace->left_ns, most);
	pace->wall_ns = wall_ns;
}

static void spend(struct wait_pace *pace, uint64_t cpu_ns)
{
	pace->left_ns -= (int64_t)(cpu_ns - MIN(cpu_ns, pace->cpu_ns));
	pace->cpu_ns = cpu_ns;
}

void wait_pace_begin(struct wait_pace *pace, uint64_t wall_ns, uint64_t cpu_ns)
{
	if (!pace->active_ns)
		pace->active_ns = pace->wall_ns = pace->chosen_ns = wall_ns;
	if (!pace->period_ns)
		pace->period_ns = WAIT_PACE_LEAST_NS;
	refill_pace(pace, wall_ns);
	spend(pace, cpu_ns);
}

static void choose_period(struct wait_pace *pace, uint64_t wall_ns,
			  const struct wait_pace_seen *seen)
{
	/* The sums of programs that have ended disappear. */
	uint64_t past = seen->long_ns - MIN(pace->long_ns, seen->long_ns);
	uint64_t missed =
		seen->missed_ns - MIN(pace->missed_ns, seen->missed_ns);

	if (wall_ns - pace->chosen_ns < CHOOSE_NS)
		return;
	if (missed > past / MISSED_PART)
		pace->period_ns = pace->period_ns / 4 * 3;
	else
		pace->period_ns = pace->period_ns / 8 * 9;
	pace->period_ns = MIN(pace->period_ns, (uint64_t)PERIOD_MOST_NS);
	pace->period_ns = MAX(pace->period_ns, (uint64_t)WAIT_PACE_LEAST_NS);
	pace->chosen_ns = wall_ns;
	pace->long_ns = seen->long_ns;
	pace->missed_ns = seen->missed_ns;
}

uint64_t wait_pace_end(struct wait_pace *pace, uint64_t wall_ns,
		       uint64_t cpu_ns, const struct wait_pace_seen *seen)
{
	uint64_t pause;

	if (seen->active)
		pace->active_ns = wall_ns;
	choose_period(pace, wall_ns, seen);
	refill_pace(pace, wall_ns);
	spend(pace, cpu_ns);
	pause = (wall_ns - pace->active_ns) / IDLE_PART;
	pause = MAX(pause, pace->period_ns);
	pause = MIN(pause, (uint64_t)WAIT_PACE_MOST_NS);
	if (pace->left_ns < 0)
		pause = MAX(pause, (uint64_t)-pace->left_ns * WAIT_PACE_PART);
	return pause;
}
