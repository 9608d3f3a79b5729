/* SPDX-License-Identifier: Apache-2.0
 *
 * The program reads the text while this file changes it: row CATEGORIES of
 * docs/RING.md says how. A program that writes to the text hurts only itself.
 * The collector reads nothing back but the count of changes.
 */
#include "collector/options/categories.h"

#include <string.h>

#include "shared/atomic.h"

bool categories_valid(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++)
		if ((unsigned char)text[i] < ' ')
			return false;
	return i < sizeof(((struct categories_shm *)0)->text);
}

static struct categories_shm *categories_of(struct page_shm *page)
{
	return (struct categories_shm *)((char *)page + ARENA_CATEGORIES);
}

void categories_write(struct page_shm *page, const char *text)
{
	struct categories_shm *shared = categories_of(page);
	/* relaxed: an honest program does not write it */
	uint32_t changes = atom_load_rlx(&shared->changes) | 1;
	size_t length = strlen(text);

	/* order: sc, CATEGORIES: odd before any byte is written */
	(void)atom_xchg_sc(&shared->changes, changes);
	for (size_t i = 0; i <= length; i++)
		/* order: rel, CATEGORIES: after odd, before even */
		atom_store_rel(&shared->text[i], text[i]);
	/* order: rel, CATEGORIES: the text is whole */
	atom_store_rel(&shared->changes, changes + 1);
}

void categories_renew(struct page_shm *page)
{
	struct categories_shm *shared = categories_of(page);
	/* relaxed: an honest program does not write it */
	uint32_t changes = atom_load_rlx(&shared->changes) | 1;

	/* order: rel, CATEGORIES: after the control word */
	atom_store_rel(&shared->changes, changes + 1);
}
