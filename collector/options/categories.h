/* SPDX-License-Identifier: Apache-2.0
 *
 * categories - which annotations a program is to record: the list of globs in
 * its arena (shared/ring_shm.h).
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_CATEGORIES_H
#define PERFREC_COLLECTOR_OPTIONS_CATEGORIES_H

#include <stdbool.h>

#include "shared/ring_shm.h"

/* Whether a list is one that can be told: not too long, no control
 * characters. "" is all. */
bool categories_valid(const char *text);
/* Tell the program of @page, which may read it all the time. @text is valid.
 * One thread at a time for one arena. */
void categories_write(struct page_shm *page, const char *text);

#endif
