/* SPDX-License-Identifier: Apache-2.0
 *
 * kept_head - makes the head of a trace whose older part is deleted (--keep
 * last): the state that a reader needs for the rest.
 */
#ifndef PERFREC_COLLECTOR_CUT_KEPT_HEAD_H
#define PERFREC_COLLECTOR_CUT_KEPT_HEAD_H

#include "collector/trace/trace_keep.h"

/* The trace attribute with the start of the complete part of the trace, in ns
 * of CLOCK_BOOTTIME. */
#define KEPT_ATTRIBUTE "perfrec.cut_kept_from_ns"

/* A trace_head_make (trace/trace_keep.h). */
int kept_head_make(const struct trace_rest *rest, struct trace_head *out);

#endif
