/* SPDX-License-Identifier: Apache-2.0
 *
 * flows - arrows from slice to slice, across threads: out, on, and in for the
 * last time.
 */
#include <perfrec.h>
#include <pthread.h>

static void *worker(void *argument)
{
	(void)argument;
	{
		PERFREC_SCOPE("handle", PERFREC_FLOW, perfrec_local_id(1));
	}
	{
		PERFREC_SCOPE("reply", PERFREC_FLOW_END, perfrec_local_id(1),
			      PERFREC_CORRELATION, 17, "status", 200);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	{
		PERFREC_SCOPE("accept", PERFREC_FLOW, perfrec_local_id(1),
			      PERFREC_CORRELATION, 17);
		if (pthread_create(&thread, NULL, worker, NULL))
			return 1;
	}
	return pthread_join(thread, NULL);
}
