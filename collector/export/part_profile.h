/* SPDX-License-Identifier: Apache-2.0
 *
 * part_profile - the sums of a part of a recording (read/trace_sums.h) as a
 * profile, for formats with unique stacks. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_PART_PROFILE_H
#define PERFREC_COLLECTOR_EXPORT_PART_PROFILE_H

#include <stdint.h>

#include "collector/read/pprof_read.h"

struct trace_sums;

/* All zero: none. */
struct part_profile {
	/* Values wall and calls. Not for pprof_free(). */
	struct pprof pprof;
	struct pprof_line *lines;
	uint32_t *stacks;
};

/* Makes the profile of @sums, which must outlive it. Returns 0, -EFBIG if the
 * stacks have too many frames, or -ENOMEM. The caller calls
 * part_profile_release() in any case. */
int part_profile_make(const struct trace_sums *sums, struct part_profile *out);
void part_profile_release(struct part_profile *profile);

#endif
