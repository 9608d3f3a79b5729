/* SPDX-License-Identifier: Apache-2.0
 *
 * parent - the process that started this one.
 */
#ifndef PERFREC_PRELOAD_START_PARENT_H
#define PERFREC_PRELOAD_START_PARENT_H

#include <stdbool.h>

/* Returns true if the parent's environment in /proc preloads this library. Such
 * a parent has already written the messages. Signals are blocked; one thread at
 * a time. */
bool parent_was_preloaded(void);

#endif
