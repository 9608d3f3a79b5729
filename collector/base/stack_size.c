/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/stack_size.h"

#include <pthread.h>
#include <sys/resource.h>

void stack_size_set(void)
{
	pthread_attr_t attributes;
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) == 0 &&
	    limit.rlim_cur < STACK_SIZE_BYTES) {
		limit.rlim_cur = limit.rlim_max < STACK_SIZE_BYTES
					 ? limit.rlim_max
					 : STACK_SIZE_BYTES;
		setrlimit(RLIMIT_STACK, &limit);
	}
	if (pthread_attr_init(&attributes) != 0)
		return;
	pthread_attr_setstacksize(&attributes, STACK_SIZE_BYTES);
	pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}
