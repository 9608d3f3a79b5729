/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_snapshot - why.json of a snapshot of the flight recorder, as far as
 * it takes the place of a summary. Anybody may have written it. One thread at a
 * time.
 */
#ifndef PERFREC_COLLECTOR_READ_SUMMARY_SNAPSHOT_H
#define PERFREC_COLLECTOR_READ_SUMMARY_SNAPSHOT_H

#include <jansson.h>
#include <stdbool.h>

/* Whether the folder @dir is a snapshot: these have no summary. */
bool summary_is_snapshot(const char *dir);
/* An array of sentences: what it is a snapshot of, and what it lacks. The
 * caller owns it. NULL: @dir is no snapshot. */
json_t *summary_snapshot_notes(const char *dir);

#endif
