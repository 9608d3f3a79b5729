/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/merge.h"

#include <jansson.h>
#include <stdlib.h>

#include "collector/base/json_text.h"

#define MANIFEST_VERSION 1

/* Perfetto: if the file's clock reads T, the reference reads T + offset_ns. */
static json_t *file_json(const struct merge *merge, size_t i)
{
	const struct merge_file *file = &merge->files[i];
	json_t *json = json_pack("{s:s, s:{s:o}}", "path", file->member,
				 "machine", "name", json_text(file->machine));

	if (i != merge->reference)
		json_object_set_new(
			json, "clocks",
			json_pack("{s:s, s:{s:s, s:s}, s:I}", "clock",
				  "BOOTTIME", "sync_to", "file",
				  merge->files[merge->reference].member,
				  "clock", "BOOTTIME", "offset_ns",
				  (json_int_t)file->offset_ns));
	return json;
}

char *merge_manifest(const struct merge *merge)
{
	json_t *files = json_array(), *json;
	char *text;

	json_text_watch();
	for (size_t i = 0; i < merge->count; i++)
		json_array_append_new(files, file_json(merge, i));
	json = json_pack("{s:{s:i, s:{s:s, s:s}, s:o}}", "perfetto_manifest",
			 "version", MANIFEST_VERSION, "trace_time", "clock",
			 "BOOTTIME", "file",
			 merge->files[merge->reference].member, "files", files);
	text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
	json_decref(json);
	if (!json_text_lacked())
		return text;
	free(text);
	return NULL;
}
