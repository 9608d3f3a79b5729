/* SPDX-License-Identifier: Apache-2.0
 *
 * told - a map log and the program that writes it.
 */
#ifndef PERFREC_TESTS_UNIT_TOLD_H
#define PERFREC_TESTS_UNIT_TOLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shared/atomic.h"
#include "shared/ring_shm.h"

static inline struct page_shm *told_new(void)
{
	void *page = mmap(NULL, ARENA_FILTER, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (page == MAP_FAILED)
		abort();
	return page;
}

static inline void told_free(struct page_shm *page)
{
	munmap(page, ARENA_FILTER);
}

/* NULL: the log is full. */
static inline struct map_entry_shm *told_reserve(struct page_shm *page,
						 uint64_t *n)
{
	/* order: acq, MAPTAIL: the reader is done with it */
	if (page->map_head - atom_load_acq(&page->map_tail) >= MAP_ENTRIES) {
		/* relaxed, both: a count; MAPLOG orders entries */
		atom_add_rlx(&page->map_lost, 1);
		return NULL;
	}
	*n = atom_add_rlx(&page->map_head, 1);
	return (struct map_entry_shm *)((char *)page + ARENA_MAP) +
	       *n % MAP_ENTRIES;
}

static inline void told_commit(struct map_entry_shm *entry, uint64_t n)
{
	/* order: rel, MAPLOG: the entry's contents come first */
	atom_store_rel(&entry->sequence, n + 1);
}

/* False: the log is full. */
static inline int told(struct page_shm *page, struct map_entry_shm what,
		       const char *path)
{
	uint64_t n;
	struct map_entry_shm *entry = told_reserve(page, &n);

	if (!entry)
		return 0;
	what.sequence = entry->sequence;
	snprintf(what.path, sizeof(what.path), "%s", path);
	memcpy(entry, &what, sizeof(what));
	told_commit(entry, n);
	return 1;
}

#endif
