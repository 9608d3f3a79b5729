/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/thread_heap.h"

void thread_heap_block(struct thread *thread, struct replay *replay,
		       uint64_t word, uint64_t clock)
{
	(void)thread;
	(void)replay;
	(void)word;
	(void)clock;
}

int thread_heap_extended(struct thread *thread, struct replay *replay,
			 const struct record *cells, size_t count)
{
	(void)thread;
	(void)replay;
	(void)cells;
	(void)count;
	return 0;
}
