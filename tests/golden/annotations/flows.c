/* SPDX-License-Identifier: Apache-2.0
 *
 * flows - a request that goes from thread to thread, and what belongs together.
 */
#include <pthread.h>

#define PERFREC_CATEGORY "net"
#include "preload/perfrec.h"

static void *serve(void *context)
{
	(void)context;
	perfrec_name_thread("server");
	for (uint64_t id = 1; id <= 2; id++) {
		PERFREC_SCOPE("serve", PERFREC_FLOW, perfrec_local_id(id),
			      PERFREC_CORRELATION, 100 + id);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	for (uint64_t id = 1; id <= 2; id++) {
		PERFREC_SCOPE("accept", PERFREC_FLOW, perfrec_local_id(id),
			      PERFREC_CORRELATION, 100 + id);
	}
	pthread_create(&thread, NULL, serve, NULL);
	pthread_join(thread, NULL);
	for (uint64_t id = 1; id <= 2; id++)
		PERFREC_INSTANT("reply", PERFREC_FLOW_END,
				perfrec_local_id(id));
	return 0;
}
