/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate - implements perfrec.h in the preloaded library: the table of
 * functions that a program finds, and the slices of a thread.
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_ANNOTATE_H
#define PERFREC_PRELOAD_ANNOTATE_ANNOTATE_H

#include "preload/perfrec.h"

/* The table of functions. A program has a weak reference to it, by this name
 * (perfrec.h). Exported. */
extern struct perfrec_shim_1 perfrec_shim_1;

/* Call it when recording starts. From then on the categories in the arena decide
 * which annotations are recorded. */
void annotate_start(void);

/* Call it after a change of g_shim.paused. Each annotation in the code decides
 * anew when it runs next. Any context. */
void annotate_follow_pause(void);

/* Call it when recording has ended for good: turns off every annotation. Any
 * context. */
void annotate_off(void);

#endif
