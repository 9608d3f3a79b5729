/* SPDX-License-Identifier: Apache-2.0
 *
 * part_profile - the sums of a part of a recording (read/trace_sums.h) as a
 * profile, for the formats that have each stack once. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_PART_PROFILE_H
#define PERFREC_COLLECTOR_EXPORT_PART_PROFILE_H

#include <stdint.h>

#include "collector/read/pprof_read.h"

struct trace_sums;

/* All zero: none. */
struct part_profile {
	struct pprof pprof; /* values wall and calls; pprof_free() is not for it
			     */
	struct pprof_line *lines;
	uint32_t *stacks;
};

/* Makes the profile of @sums, which must outlive it. 0; -EFBIG: its stacks have
 * too many frames; or -ENOMEM. The caller ends it by part_profile_release() in
 * any case. */
int part_profile_make(const struct trace_sums *sums, struct part_profile *out);
void part_profile_release(struct part_profile *profile);

#endif
