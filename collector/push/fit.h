/* SPDX-License-Identifier: Apache-2.0
 *
 * fit - makes a profile fit the limits of the servers: few stacks, of bounded
 * depth. The sums of all values stay the same.
 *
 * The stacks become a tree with the outermost frames at its root. While there
 * are too many stacks, the smallest leaf is added to its parent. Labels of a
 * sample are a leaf of their own behind the innermost frame: so a small stack
 * first loses its labels, and then its frames.
 */
#ifndef PERFREC_COLLECTOR_PUSH_FIT_H
#define PERFREC_COLLECTOR_PUSH_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/pprof_read.h"

/* Pyroscope refuses more. */
#define FIT_STACKS_MAX 16000
/* Pyroscope removes the innermost frames beyond 1,000. */
#define FIT_DEPTH_MAX 512

#define FIT_CUT_FRAME "[perfrec: frames left out]"
#define FIT_MERGED_FRAME "[perfrec: small stacks]"

struct fit_counts {
	uint64_t merged; /* stacks that were added to their parent */
	uint64_t cut; /* samples whose stack was cut in the middle */
};

/* A profile within the limits. @view is valid while its source profile is. */
struct fitted {
	struct pprof view; /* memory NULL: never for pprof_free() */
	struct fit_counts counts;
	void *parts[7]; /* what fit_free() frees */
	char text[2][96];
};

/* Makes *@out of @from with at most @stacks (> 0) stacks. @with_pid: labels
 * "pid" and "tid" stay. 0; the caller ends it with fit_free(). -EFBIG: the
 * stacks have too many frames; or -ENOMEM. */
int fit_make(const struct pprof *from, uint32_t stacks, bool with_pid,
	     struct fitted *out);
void fit_free(struct fitted *fitted);

#endif
