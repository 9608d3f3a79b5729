/* SPDX-License-Identifier: Apache-2.0
 *
 * traceparent - parses the ids of requests from texts (W3C Trace Context).
 * Pure, any thread.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_TRACEPARENT_H
#define PERFREC_COLLECTOR_DRAIN_TRACEPARENT_H

#include <stdbool.h>
#include <stddef.h>

#include "shared/record_ext.h"

/* Parses the header @text of @bytes bytes, which may have been cut at
 * TRACEPARENT_BYTES. Returns false with *@out all zero if it has another form,
 * or an id that is zero. */
bool traceparent_parse(const char *text, size_t bytes, struct trace_ids *out);

#endif
