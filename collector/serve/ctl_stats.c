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

json_t *ctl_stats_json(struct collector *collector)
{
	json_t *object, *list;
	struct stats stats;
	json_t *refusals;
	uint64_t programs;
	const char *why;
	json_t *pushes;

	if (stats_gather(collector, &stats))
		return NULL;
	object = json_object();
	list = json_array();
	set_values(object, stats_daemon_rows, stats_daemon_row_count,
		   &stats.daemon);
	refusals = json_array();
	for (size_t i = 0; (why = stats_refusal(&stats, i, &programs)); i++) {
		json_t *row = json_object();

		json_object_set_new(row, "why", json_text(why));
		json_object_set_new(row, "programs",
				    json_integer((json_int_t)programs));
		json_array_append_new(refusals, row);
	}
	json_object_set_new(object, "refusals", refusals);
	pushes = json_array();
	for (size_t i = 0; i < stats.push_refusal_count; i++) {
		const struct push_refusal *one = &stats.push_refusals[i];
		json_t *row = json_object();

		json_object_set_new(row, "why", json_text(one->why));
		json_object_set_new(row, "requests",
				    json_integer((json_int_t)one->requests));
		json_array_append_new(pushes, row);
	}
	json_object_set_new(object, "push_refusals", pushes);
	for (size_t i = 0; i < stats.count; i++) {
		json_t *line = json_object();

		json_object_set_new(line, "program",
				    json_text(stats.recordings[i].program));
		ctl_answer_set_path(
			line, "folder",
			recording_setup(stats.recordings[i].recording)->path);
		set_values(line, stats_recording_rows,
			   stats_recording_row_count, &stats.recordings[i]);
		json_array_append_new(list, line);
	}
	json_object_set_new(object, "recordings", list);
	stats_release(&stats);
	return object;
}
