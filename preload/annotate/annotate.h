/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate - the shim's side of perfrec.h.
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_ANNOTATE_H
#define PERFREC_PRELOAD_ANNOTATE_ANNOTATE_H

#include "preload/perfrec.h"

/* What a program's weak reference finds (perfrec.h); exported. */
extern struct perfrec_shim_1 perfrec_shim_1;

/* Recording is on: sites are decided by the categories in the arena. */
void annotate_start(void);
/* It is off, for good: every site is. */
void annotate_off(void);

#endif
