/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate - the shim's side of perfrec.h: the object that a program finds, and
 * slices of a thread.
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_ANNOTATE_H
#define PERFREC_PRELOAD_ANNOTATE_ANNOTATE_H

#include "preload/perfrec.h"

/* What a program's weak reference finds (perfrec.h). Exported. */
extern struct perfrec_shim_1 perfrec_shim_1;

/* Recording is on: from now on the categories in the arena decide about sites.
 */
void annotate_start(void);

/* g_shim.paused has changed: decide sites anew. Any context. */
void annotate_follow_pause(void);

/* Recording is off, for good: so is every site. Any context. */
void annotate_off(void);

#endif
