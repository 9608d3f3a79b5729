/* SPDX-License-Identifier: Apache-2.0
 *
 * sites_wanted - the list of recorded categories (--categories
 * 'net*,-net.debug').
 *
 * Commas separate items. An item with '-' in front excludes. '*' stands for any
 * characters, '?' for one. An item without '*' and '?' that matches the
 * category decides, otherwise one with them; if several match, the last. If no
 * item matches, the category is recorded if all items exclude or there are no
 * items. A category whose first word (up to a '.') is "debug" or "slow" is
 * recorded only if a matching item begins with that word.
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_SITES_WANTED_H
#define PERFREC_PRELOAD_ANNOTATE_SITES_WANTED_H

#include <stdbool.h>
#include <stdint.h>

/* Sets *@wanted: whether @category is to be recorded; and *@changes: the count
 * of changes of the list that says so. False when the list is being written all
 * the time. Any context. */
bool sites_wanted(const char *category, bool *wanted, uint32_t *changes);

/* Returns the list's count of changes, in the arena, valid until the process
 * ends.
 */
const uint32_t *sites_changes(void);

#endif
