/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_sync - records the contended calls of locks (docs/WAITS.md).
 */
#ifndef PERFREC_PRELOAD_SYNC_INTERPOSE_SYNC_H
#define PERFREC_PRELOAD_SYNC_INTERPOSE_SYNC_H

#include <stdbool.h>

/* Records contended calls from now on, or no longer. Any context. */
void interpose_sync_record(bool on);

#endif
