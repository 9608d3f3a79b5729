/* SPDX-License-Identifier: Apache-2.0
 *
 * requests - the requests of each thread of a process, by time
 * (perfrec_set_trace_id()). The kernel's samples are not ordered with the
 * threads' own records, so callers look requests up by time. One thread at a
 * time.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_REQUESTS_H
#define PERFREC_COLLECTOR_SAMPLES_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/pool.h"
#include "shared/record_ext.h"

struct requests {
	struct budget *budget;
	struct pool threads; /* each with its changes */
	/* The threads with changes form a ring: number of the last, length. */
	uint32_t last, ring_count;
};

/* @budget must outlive @requests. */
void requests_init(struct requests *requests, struct budget *budget);
void requests_release(struct requests *requests);
/* Sets the request of thread @tid to @ids (all zero: none) from @ns (BOOTTIME)
 * on. Calls for a thread come in order of time. Keeps only its last changes,
 * and none of a thread that was without a request for a minute. */
void requests_change(struct requests *requests, pid_t tid, uint64_t ns,
		     const struct trace_ids *ids);
/* Sets *@out to the request of thread @tid at @ns. Returns false if that change
 * is no longer kept. */
bool requests_at(const struct requests *requests, pid_t tid, uint64_t ns,
		 struct trace_ids *out);

#endif
