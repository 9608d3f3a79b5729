/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-annotate(1) has the schema. New members may be added; existing ones
 * never change.
 */
#include <jansson.h>

#include "collector/base/json_text.h"
#include "collector/names/name_fold.h"
#include "collector/show/annotate.h"
#include "collector/show/source_text.h"

#define ANNOTATE_JSON_VERSION 1

static const char *const keys[ANNOTATE_VALUES] = {
	[ANNOTATE_CPU_SELF] = "cpu_self_ns",
	[ANNOTATE_CPU] = "cpu_ns",
	[ANNOTATE_BYTES] = "alloc_bytes",
	[ANNOTATE_BLOCKS] = "alloc_objects",
	[ANNOTATE_INUSE] = "inuse_bytes",
};

static json_t *line_json(const struct annotate *annotate,
			 const struct annotate_line *line)
{
	struct source_text source;
	json_t *out = json_pack("{s:o, s:I}", "file", json_text(line->file),
				"line", (json_int_t)line->line);

	for (size_t i = 0; i < ANNOTATE_VALUES; i++)
		if (annotate->known[i])
			json_object_set_new(out, keys[i],
					    json_integer(line->value[i]));
	if (source_text_read(line->file, &source))
		return out;
	if (line->line && line->line <= source.count)
		json_object_set_new(out, "source",
				    json_text(source.lines[line->line - 1]));
	if (annotate_is_changed(annotate, &source))
		json_object_set_new(out, "changed", json_true());
	source_text_free(&source);
	return out;
}

int annotate_write_json(const struct annotate *annotate, FILE *out)
{
	json_t *lines = json_array(), *root;
	char folded[NAME_FOLD_BYTES];

	for (size_t i = 0; i < annotate->count; i++)
		json_array_append_new(lines,
				      line_json(annotate, &annotate->lines[i]));
	name_fold(annotate->name, folded);
	root = json_pack("{s:i, s:o, s:o, s:o, s:o}", "version",
			 ANNOTATE_JSON_VERSION, "name",
			 json_text(annotate->name), "short", json_text(folded),
			 "module", json_text(annotate->module), "lines", lines);
	return json_text_print(root, out);
}
