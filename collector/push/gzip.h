/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip - bytes in memory, compressed. One thread: what libdeflate works with is
 * kept, since it would be cleared anew for each profile.
 */
#ifndef PERFREC_COLLECTOR_PUSH_GZIP_H
#define PERFREC_COLLECTOR_PUSH_GZIP_H

#include <stddef.h>

#include "collector/base/bytes.h"

/* 1: for bytes that are mostly compressed already. */
enum { GZIP_FAST = 1, GZIP_USUAL = 3, GZIP_LEVELS };

/* Appends the gzip stream of the @count bytes at @from to @out. 0 or -ENOMEM.
 */
int gzip_put(const void *from, size_t count, int level, struct bytes *out);
/* Appends the bytes of the gzip stream @from to @out: at most @most. 0;
 * -EBADMSG: it is damaged, larger, or several streams; or -ENOMEM. */
int gzip_get(const void *from, size_t count, size_t most, struct bytes *out);

#endif
