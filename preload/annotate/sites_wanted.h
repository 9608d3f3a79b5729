/* SPDX-License-Identifier: Apache-2.0
 *
 * sites_wanted - the list of categories (--categories 'net*,-net.debug'), which
 * says what annotations are recorded.
 *
 * Items are separated by commas. '-' in front excludes; '*' stands for any
 * characters, '?' for one. An item without these beats one with, a later one
 * an earlier. What no item matches is recorded if all items exclude, or there
 * are none. A category whose first word (up to a '.') is "debug" or "slow" is
 * recorded only by an item that begins with that word.
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_SITES_WANTED_H
#define PERFREC_PRELOAD_ANNOTATE_SITES_WANTED_H

#include <stdbool.h>
#include <stdint.h>

/* Whether @category is to be recorded, and of which changes of the list that
 * is true. False when the list is being written all the time. */
bool sites_wanted(const char *category, bool *wanted, uint32_t *changes);

/* The list's count of changes, in the arena. */
const uint32_t *sites_changes(void);

#endif
