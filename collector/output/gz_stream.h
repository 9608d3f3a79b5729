/* SPDX-License-Identifier: Apache-2.0
 *
 * gz_stream - a stream that compresses what is written to it, as gzip does,
 * onto another stream. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_GZ_STREAM_H
#define PERFREC_COLLECTOR_OUTPUT_GZ_STREAM_H

#include <stdio.h>

/* A stream that writes to @to, which stays the caller's and must stay open.
 * fclose() ends what was compressed, and fails if it cannot be written. NULL:
 * no memory. */
FILE *gz_stream_open(FILE *to);

#endif
