/* SPDX-License-Identifier: Apache-2.0
 *
 * parent - what the shim knows of the process that started this one.
 */
#ifndef PERFREC_PRELOAD_START_PARENT_H
#define PERFREC_PRELOAD_START_PARENT_H

#include <stdbool.h>

/*
 * Whether the parent was started with this library preloaded, as far as its
 * environment in /proc can be read; so it has said already what there is to
 * say. Signals are blocked by the caller, and it is not called by two threads.
 */
bool parent_was_preloaded(void);

#endif
