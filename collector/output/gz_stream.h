/* SPDX-License-Identifier: Apache-2.0
 *
 * gz_stream - a stream that writes its input, compressed as by gzip, to another
 * stream. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_GZ_STREAM_H
#define PERFREC_COLLECTOR_OUTPUT_GZ_STREAM_H

#include <stdio.h>

/* Returns a stream that writes to @to, which stays the caller's and must stay
 * open. fclose() writes the end of the gzip data, and fails if @to fails.
 * Returns NULL without memory. */
FILE *gz_stream_open(FILE *to);

#endif
