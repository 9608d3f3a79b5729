/* SPDX-License-Identifier: Apache-2.0
 *
 * hooks_floor - the floor of a span: a preloaded pair of hooks that only reads
 * the clock and stores 16 bytes each, into a buffer of the thread's own that
 * wraps. With -DFLOOR_SHARED the buffer is shared memory, and each record also
 * publishes the fill level, as another process needs it to read the buffer.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/ticks.h"

#define RECORDS (4u << 20 >> 4) /* the capacity of perfrec's rings */

struct floor_record {
	uint64_t what, clock;
};

struct floor_buffer {
	uint64_t head;
	uint8_t pad[128 - 8];
	struct floor_record records[RECORDS];
};

#ifdef FLOOR_SHARED
#define FLOOR_MAP MAP_SHARED
#else
#define FLOOR_MAP MAP_PRIVATE
static __thread uint64_t t_head;
#endif
static __thread struct floor_buffer *t_buffer;

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

static ATTR_COLD void map_buffer(void)
{
	t_buffer = mmap(NULL, sizeof(*t_buffer), PROT_READ | PROT_WRITE,
			FLOOR_MAP | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (t_buffer == MAP_FAILED)
		__builtin_trap();
}

static inline void put(void *function, uint64_t kind)
{
	struct floor_record *record;
	uint64_t head;

	if (unlikely(!t_buffer))
		map_buffer();
#ifdef FLOOR_SHARED
	/* relaxed: this thread alone writes it */
	head = atom_load_rlx(&t_buffer->head);
#else
	head = t_head;
#endif
	record = &t_buffer->records[head % RECORDS];
	record->what = (uint64_t)(uintptr_t)function << 16 | kind;
	record->clock = ticks_now();
#ifdef FLOOR_SHARED
	/* order: rel, HEAD: as a real ring would; here nobody reads it */
	atom_store_rel(&t_buffer->head, head + 1);
#else
	t_head = head + 1;
#endif
}

ATTR_EXPORT void __cyg_profile_func_enter(void *function, void *call_site)
{
	(void)call_site;
	put(function, 1);
}

ATTR_EXPORT void __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)call_site;
	put(function, 2);
}
