/* SPDX-License-Identifier: Apache-2.0
 *
 * heap - an allocator of the program's own, for --alloc.
 */
#include <perfrec.h>

PERFREC_HEAP(g_pool, "pool");

static char g_memory[1024];

int main(void)
{
	PERFREC_SCOPE("main");
	perfrec_heap_alloc(&g_pool, g_memory, 100);
	perfrec_heap_alloc(&g_pool, g_memory + 512, 200);
	perfrec_heap_free(&g_pool, g_memory);
	return 0;
}
