/* SPDX-License-Identifier: Apache-2.0
 *
 * stopped_victim - fills its ring under signals with an empty handler.
 *
 *   stopped_victim
 *
 * Exits with 0 if one call of a hook took 100 ms: it waited for the third
 * check, 50 ms apart each, that found the collector stopped.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

#define SPANS 10000
#define TWO_WAITS_NS 100000000

static void ignore(int signal)
{
	(void)signal;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(void)
{
	/* Without SA_RESTART signals end the wait. */
	struct sigaction action = { .sa_handler = ignore };
	struct itimerval often = { { 0, 700 }, { 0, 700 } };
	int64_t longest = 0;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < SPANS; i++) {
		int64_t begin = now_ns(), took;

		__cyg_profile_func_enter((void *)0x1000, NULL);
		took = now_ns() - begin;
		__cyg_profile_func_exit((void *)0x1000, NULL);
		if (took > longest)
			longest = took;
	}
	return longest < TWO_WAITS_NS;
}
