/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_snapshot - reads why.json of a snapshot of the flight recorder, which
 * has no summary. The file may be hostile. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_READ_SUMMARY_SNAPSHOT_H
#define PERFREC_COLLECTOR_READ_SUMMARY_SNAPSHOT_H

#include <jansson.h>
#include <stdbool.h>

/* Returns true if the folder @dir is a snapshot. */
bool summary_is_snapshot(const char *dir);
/* Returns an array of sentences: the origin of the snapshot, and its missing
 * parts. The caller owns it. Returns NULL if @dir is not a snapshot. */
json_t *summary_snapshot_notes(const char *dir);

#endif
