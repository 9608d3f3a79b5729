/* SPDX-License-Identifier: Apache-2.0
 *
 * wall_profile - writes wall.pb.gz and snapshots of it: the spans of all
 * threads by stack.
 */
#ifndef PERFREC_COLLECTOR_FILES_WALL_PROFILE_H
#define PERFREC_COLLECTOR_FILES_WALL_PROFILE_H

#include <stdint.h>

struct recording;
struct stack_profile;

/* Write @profile, of the kind stack_profile_wall, as @name into the folder of
 * @recording, which has taken @duration_ns. Spans that were lost become a
 * comment. 0 or -errno. The jobs thread, or the thread that ends the
 * recording. */
int wall_profile_write(struct recording *recording,
		       struct stack_profile *profile, uint64_t duration_ns,
		       uint64_t lost_spans, const char *name);

#endif
