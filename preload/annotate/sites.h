/* SPDX-License-Identifier: Apache-2.0
 *
 * sites - the places in the program that record annotations: whether each is
 * wanted, and the number that the collector knows it by (shared/site_shm.h).
 *
 * Nothing here keeps a pointer to a site: the plugin that it lies in may be
 * unloaded at any time. Any thread, any context in which a hook may run, while
 * recording is on.
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_SITES_H
#define PERFREC_PRELOAD_ANNOTATE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/perfrec.h"
#include "shared/site_shm.h"

/* Every site that found no id, or no room, has this one: "more sites". */
#define SITE_MORE 0xffff

/* What site.state says: changes of the categories it was decided by, and
 * SITE_OFF. The shim's word is one of these while it has no categories. */
#define SITE_OFF (1u << 31)
#define SITE_UNDECIDED UINT32_MAX
#define SITES_ARE_OFF (SITE_UNDECIDED ^ SITE_OFF)
#define SITES_MAY_START (SITES_ARE_OFF ^ 2)

/* Give @site its id, once: the id of one with equal contents, if there is. A
 * track gets its number as well, and its parents all that first. */
void sites_register(struct perfrec_site *site);

/* What @flags say about the order of the tracks below one. */
enum track_order sites_order(uint32_t flags);

#endif
