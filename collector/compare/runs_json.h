/* SPDX-License-Identifier: Apache-2.0
 *
 * runs_json - the common parts of JSON about several recordings. Each function
 * returns a new list, which the caller owns; NULL without memory.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_RUNS_JSON_H
#define PERFREC_COLLECTOR_COMPARE_RUNS_JSON_H

#include <jansson.h>

#include "collector/compare/runs.h"

/* The sentences of diff_note(). */
json_t *runs_notes_json(const struct runs *runs);
json_t *runs_metrics_json(const struct runs *runs);

#endif
