/* SPDX-License-Identifier: Apache-2.0
 *
 * pack - macros that fill in messages of protobuf-c.
 */
#ifndef PERFREC_COLLECTOR_PUSH_PACK_H
#define PERFREC_COLLECTOR_PUSH_PACK_H

#include <stdlib.h>

/* Sets optional scalar @field of message @m. */
#define SET(m, field, value) ((m)->has_##field = 1, (m)->field = (value))
/* An array that calloc() made, never NULL for want of elements. */
#define NEW(array, count) \
	((array) = calloc((size_t)(count) + 1, sizeof(*(array))))

#endif
