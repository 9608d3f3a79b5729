/* SPDX-License-Identifier: Apache-2.0
 *
 * categories - the list of globs that says which annotations a program records.
 * It lies in the program's arena (shared/ring_shm.h), and the collector writes
 * it there.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_CATEGORIES_H
#define PERFREC_COLLECTOR_OPTIONS_CATEGORIES_H

#include <stdbool.h>

#include "shared/ring_shm.h"

/* Returns true if an arena can hold @text: it is short enough and has no
 * control characters. The list "" means all categories but debug and slow.
 * Pure; any thread. */
bool categories_valid(const char *text);
/*
 * Writes @text, which must be valid, into the arena that begins with @page. The
 * program may read it at the same time. @text and @page stay the caller's. Any
 * thread, but one at a time for one arena.
 */
void categories_write(struct page_shm *page, const char *text);
/* Makes the program at @page decide each site again, because recording was
 * paused or continues; its control word is set already. The same threads. */
void categories_renew(struct page_shm *page);

#endif
