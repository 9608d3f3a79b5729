/* SPDX-License-Identifier: Apache-2.0
 *
 * counters - of the process and of threads, values and steps, of all units.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>

#include "preload/perfrec.h"

PERFREC_COUNTER(plain, "plain", PERFREC_NO_UNIT, 0);
PERFREC_COUNTER(bytes, "bytes", PERFREC_BYTES, 0);
PERFREC_COUNTER(real, "real", "K", PERFREC_DOUBLE);
PERFREC_COUNTER_TIMES(large, "large", PERFREC_NS, 0, 1000);
PERFREC_COUNTER(steps, "steps", "items", PERFREC_INCREMENTAL);
PERFREC_COUNTER(own, "own", "items", PERFREC_INCREMENTAL | PERFREC_PER_THREAD);

static void *work(void *context)
{
	(void)context;
	PERFREC_COUNT(&steps, 10);
	PERFREC_COUNT(&steps, -3);
	PERFREC_COUNT(&own, 5);
	PERFREC_COUNT(&own, 6);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	PERFREC_COUNT(&plain, 1);
	PERFREC_COUNT(&plain, INT64_MIN);
	PERFREC_COUNT(&plain, INT64_MAX);
	PERFREC_COUNT(&bytes, 4096);
	PERFREC_COUNT(&real, 0.25);
	PERFREC_COUNT(&real, (double)NAN);
	PERFREC_COUNT(&real, -(double)INFINITY);
	PERFREC_COUNT(&large, 7);
	PERFREC_COUNT(&steps, 100);
	PERFREC_COUNT(&own, 1);
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	PERFREC_COUNT(&steps, 1000);
	PERFREC_COUNT(&own, 1);
	return 0;
}
