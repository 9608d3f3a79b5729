/* SPDX-License-Identifier: Apache-2.0
 *
 * kept_head - makes the head of a trace whose begin is given up (--keep last):
 * what a reader of the rest needs of what was before it.
 */
#ifndef PERFREC_COLLECTOR_CUT_KEPT_HEAD_H
#define PERFREC_COLLECTOR_CUT_KEPT_HEAD_H

#include "collector/trace/trace_keep.h"

/* The trace attribute that says from when on the trace has all, CLOCK_BOOTTIME
 * in ns. */
#define KEPT_ATTRIBUTE "perfrec.cut_kept_from_ns"

/* As trace_head_make has it. */
int kept_head_make(const struct trace_rest *rest, struct trace_head *out);

#endif
