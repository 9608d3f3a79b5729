/* SPDX-License-Identifier: Apache-2.0
 *
 * path_track - the critical path of a run as a track for Perfetto, to be appended to
 * the packets of its trace: slices of threads, in these slices of functions, and in
 * these of hand-overs and waits.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_PATH_TRACK_H
#define PERFREC_COLLECTOR_EXPORT_PATH_TRACK_H

#include <stdio.h>

#include "collector/show/path_list_json.h"

#define PATH_TRACK_NAME "perfrec: critical path"

/* Writes the track of @list, a path with slices, to @out, whose errors show in
 * ferror(). Returns 0 or -ENOMEM. Logs nothing. */
int path_track_write(const struct path_list *list, FILE *out);

#endif
