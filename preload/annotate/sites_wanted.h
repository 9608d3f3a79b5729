/* SPDX-License-Identifier: Apache-2.0
 *
 * sites_wanted - the list of categories (--categories 'net*,-net.debug'), which
 * says what annotations are recorded.
 *
 * Items are separated by commas. An item with '-' in front excludes. '*' stands
 * for any characters, '?' for one. Of the items that match a category, one
 * without '*' and
 * '?' decides, else one with them; of several such, the last. If no item
 * matches, the category is recorded if all items exclude, or there are none. A
 * category whose first word (up to a '.') is "debug" or "slow" is recorded only
 * if an item asks for it that begins with that word.
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_SITES_WANTED_H
#define PERFREC_PRELOAD_ANNOTATE_SITES_WANTED_H

#include <stdbool.h>
#include <stdint.h>

/* Sets *@wanted: whether @category is to be recorded; and *@changes: the count
 * of changes of the list that says so. False when the list is being written all
 * the time. Any context. */
bool sites_wanted(const char *category, bool *wanted, uint32_t *changes);

/* The list's count of changes, in the arena. It lasts as long as the process.
 */
const uint32_t *sites_changes(void);

#endif
