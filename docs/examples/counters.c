/* SPDX-License-Identifier: Apache-2.0
 *
 * counters - values over time: of the process, of each thread, as steps, as
 * doubles with a unit of their own, and at a time that has passed.
 */
#include <perfrec.h>
#include <time.h>

PERFREC_COUNTER(g_queue, "queue", PERFREC_COUNTS, 0);
PERFREC_COUNTER(g_sent, "sent", PERFREC_BYTES, PERFREC_INCREMENTAL);
PERFREC_COUNTER(g_load, "load", "percent", PERFREC_DOUBLE);
PERFREC_COUNTER(g_own, "own work", PERFREC_NO_UNIT, PERFREC_PER_THREAD);
PERFREC_COUNTER_TIMES(g_wait, "wait", PERFREC_NS, 0, 1000);

int main(void)
{
	struct timespec now;
	int i;

	clock_gettime(CLOCK_BOOTTIME, &now);
	for (i = 0; i < 3; i++) {
		PERFREC_COUNT(&g_queue, i * 10);
		PERFREC_COUNT(&g_sent, 512);
		PERFREC_COUNT(&g_load, 12.5 * i);
		PERFREC_COUNT(&g_own, i);
	}
	PERFREC_COUNT(&g_queue, INT64_MIN);
	PERFREC_COUNT(&g_queue, INT64_MAX);
	PERFREC_COUNT_AT(&g_wait, 7, now.tv_sec * 1000000000LL + now.tv_nsec);
	return 0;
}
