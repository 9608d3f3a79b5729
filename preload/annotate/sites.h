/* SPDX-License-Identifier: Apache-2.0
 *
 * sites - the places in the program that record annotations, and their ids
 * (shared/site_shm.h).
 *
 * This module keeps no pointer to a site, because its plugin may be unloaded at
 * any time. Any thread, wherever a hook may run, while recording is on.
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_SITES_H
#define PERFREC_PRELOAD_ANNOTATE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/perfrec.h"
#include "shared/site_shm.h"

/* The id of every site that found no id, or no room: "more sites". */
#define SITE_MORE 0xffff

/* A site's state is the count of changes of the categories when the site was
 * decided, with SITE_OFF if it is not recorded; or SITE_UNDECIDED. While there
 * are no categories, or the program has paused recording, the shim's word is
 * one of the other values. */
#define SITE_OFF (1u << 31)
#define SITE_UNDECIDED UINT32_MAX
#define SITES_ARE_OFF (SITE_UNDECIDED ^ SITE_OFF)
#define SITES_MAY_START (SITES_ARE_OFF ^ 2)
#define SITES_ARE_PAUSED (SITES_ARE_OFF ^ 4)

/* A flag of a site beside those of perfrec.h: its events may end slices that
 * began before a pause, so the pause records them. */
#define SITE_ENDS (1u << 31)

/* Give @site an id, unless it has one: that of an entry with equal contents, if
 * there is one. A track also gets its number, after its parents have got
 * theirs. */
void sites_register(struct perfrec_site *site);

/* The order of the tracks below a track that has @flags (enum perfrec_flags).
 */
enum track_order sites_order(uint32_t flags);

#endif
