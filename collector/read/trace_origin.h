/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_origin - reads the machine of a trace, and one moment on two of its
 * clocks, from the first packets of the trace.
 */
#ifndef PERFREC_COLLECTOR_READ_TRACE_ORIGIN_H
#define PERFREC_COLLECTOR_READ_TRACE_ORIGIN_H

#include <stdint.h>

#define TRACE_ORIGIN_TEXT 128

struct trace_origin {
	uint64_t boottime_ns, realtime_ns; /* the same moment */
	/* Cut if longer. "": unknown, as in traces of other programs or of an
	 * older perfrec. */
	char host[TRACE_ORIGIN_TEXT];
	char boot[TRACE_ORIGIN_TEXT]; /* traces with the same boot share a
				       * clock */
};

/*
 * Reads the trace at @path. Returns 0 or -errno; -ENODATA: no clock snapshot
 * near the start has both clocks; -EBADMSG: not a trace. Logs nothing. Any
 * thread.
 */
int trace_origin_read(const char *path, struct trace_origin *out);

#endif
