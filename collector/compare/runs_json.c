/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/compare/runs_json.h"

#include "collector/base/json_text.h"
#include "collector/compare/diff.h"

json_t *runs_notes_json(const struct runs *runs)
{
	json_t *list = json_array();
	char text[1024];

	for (size_t i = 0; diff_note(runs, i, text, sizeof(text)); i++)
		json_array_append_new(list, json_text(text));
	return list;
}

json_t *runs_metrics_json(const struct runs *runs)
{
	json_t *list = json_array();

	for (size_t m = 0; m < runs->metric_count; m++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:b}", "key",
						runs->metric[m].key, "unit",
						runs->metric[m].unit, "sampled",
						runs->metric[m].sampled));
	return list;
}
