/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_image - the thunk area as a file with a path (PERFREC_PATCH_IMAGE), so
 * unwinders of other processes can open it. Each mapping has a name of its own,
 * a link, because perf takes the lowest mapping of a name for all others. The
 * names stay when the program ends, because perf reads the file later.
 */
#ifndef PERFREC_PRELOAD_LOAD_THUNK_IMAGE_H
#define PERFREC_PRELOAD_LOAD_THUNK_IMAGE_H

#include <stdint.h>

/* Makes the file in @folder, for an area with @functions numbers. Returns its
 * descriptor, which the caller closes, or -1: it must be on a tmpfs with some
 * room, since a disk may be slow. Once, while recording starts. */
long thunk_image_make(const char *folder, uint32_t functions);
/* Opens the file of @fd by the name for mapping @index above 0, to read. Returns a
 * descriptor, which the caller closes, or -1. System calls. */
long thunk_image_open(long fd, unsigned int index);
/* Removes the names. */
void thunk_image_remove(void);

#endif
