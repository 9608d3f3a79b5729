/* SPDX-License-Identifier: Apache-2.0
 *
 * parent - what the shim can know of the process that started this one.
 */
#ifndef PERFREC_PRELOAD_START_PARENT_H
#define PERFREC_PRELOAD_START_PARENT_H

#include <stdbool.h>

/*
 * Whether the parent was started with this library preloaded, as far as its
 * environment in /proc can be read. Such a parent has said already what there
 * is to say. The caller has blocked signals; never two threads at a time.
 */
bool parent_was_preloaded(void);

#endif
