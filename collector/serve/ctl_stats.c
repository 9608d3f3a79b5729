/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/serve/ctl_stats.h"

#include "collector/base/json_text.h"
#include "collector/record/recording.h"
#include "collector/serve/ctl_answer.h"
#include "collector/serve/stats_inner.h"

static void set_values(json_t *object, const struct stats_row *rows,
		       size_t count, const void *of)
{
	for (size_t i = 0; i < count; i++)
		json_object_set_new(
			object, rows[i].member,
			json_integer((json_int_t)stats_value(&rows[i], of)));
}

static json_t *refusals_json(const struct stats *stats)
{
	json_t *list = json_array();
	uint64_t programs;
	const char *why;

	for (size_t i = 0; (why = stats_refusal(stats, i, &programs)); i++) {
		json_t *row = json_object();

		json_object_set_new(row, "why", json_text(why));
		json_object_set_new(row, "programs",
				    json_integer((json_int_t)programs));
		json_array_append_new(list, row);
	}
	return list;
}

static json_t *recording_json(const struct stats_recording *recording)
{
	json_t *row = json_object();

	json_object_set_new(row, "program", json_text(recording->program));
	ctl_answer_set_path(row, "folder",
			    recording_setup(recording->recording)->path);
	set_values(row, stats_recording_rows, stats_recording_row_count,
		   recording);
	return row;
}

static json_t *push_refusals_json(const struct stats *stats)
{
	json_t *list = json_array();

	for (size_t i = 0; i < stats->push_refusal_count; i++) {
		const struct push_refusal *one = &stats->push_refusals[i];
		json_t *row = json_object();

		json_object_set_new(row, "why", json_text(one->why));
		json_object_set_new(row, "requests",
				    json_integer((json_int_t)one->requests));
		json_array_append_new(list, row);
	}
	return list;
}

json_t *ctl_stats_json(struct collector *collector)
{
	json_t *object, *list;
	struct stats stats;

	if (stats_gather(collector, &stats))
		return NULL;
	object = json_object();
	list = json_array();
	set_values(object, stats_daemon_rows, stats_daemon_row_count,
		   &stats.daemon);
	json_object_set_new(object, "refusals", refusals_json(&stats));
	json_object_set_new(object, "push_refusals",
			    push_refusals_json(&stats));
	for (size_t i = 0; i < stats.count; i++)
		json_array_append_new(list,
				      recording_json(&stats.recordings[i]));
	json_object_set_new(object, "recordings", list);
	stats_release(&stats);
	return object;
}
