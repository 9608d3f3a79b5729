/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-annotate(1) has the schema. New members may be added; existing ones
 * never change.
 */
#include <jansson.h>

#include "collector/base/json_text.h"
#include "collector/names/name_fold.h"
#include "collector/show/annotate.h"
#include "collector/show/assembly.h"
#include "collector/show/source_text.h"

#define ANNOTATE_JSON_VERSION 1

static void set_annotated_values(const struct annotate *annotate,
				 const int64_t *value, json_t *to)
{
	for (size_t i = 0; i < ANNOTATE_VALUES; i++)
		if (annotate->known[i])
			json_object_set_new(to, annotate_values[i].key,
					    json_integer(value[i]));
}

static json_t *line_json(const struct annotate *annotate,
			 const struct annotate_line *line)
{
	struct source_text source;
	json_t *out = json_pack("{s:o, s:I}", "file", json_text(line->file),
				"line", (json_int_t)line->line);

	set_annotated_values(annotate, line->value, out);
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

/* Takes over @list, called @key. */
static int write_annotated(const struct annotate *annotate, const char *key,
			   json_t *list, FILE *out)
{
	char folded[NAME_FOLD_BYTES];

	name_fold(annotate->name, folded);
	return json_text_print(
		json_pack("{s:i, s:o, s:o, s:o, s:o}", "version",
			  ANNOTATE_JSON_VERSION, "name",
			  json_text(annotate->name), "short", json_text(folded),
			  "module", json_text(annotate->module), key, list),
		out);
}

int annotate_write_json(const struct annotate *annotate, FILE *out)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < annotate->count; i++)
		json_array_append_new(lines,
				      line_json(annotate, &annotate->lines[i]));
	return write_annotated(annotate, "lines", lines, out);
}

static json_t *instruction_json(const struct annotate *annotate,
				const struct assembly_line *line)
{
	json_t *out = json_pack(
		"{s:I, s:I, s:o}", "address", (json_int_t)line->vaddr, "bytes",
		(json_int_t)line->bytes, "text", json_text(line->text));

	if (line->file[0]) {
		json_object_set_new(out, "file", json_text(line->file));
		json_object_set_new(out, "line", json_integer(line->line));
	}
	set_annotated_values(annotate, line->value, out);
	return out;
}

int annotate_write_assembly_json(const struct annotate *annotate,
				 const struct assembly_part *parts,
				 size_t count, FILE *out)
{
	json_t *code = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct assembly_part *part = &parts[i];
		json_t *list = json_array();
		json_t *one = json_pack(
			"{s:o, s:o, s:o, s:I, s:I, s:o}", "module",
			json_text(part->module), "build_id",
			json_text(part->build_id), "function",
			json_text(part->symbol), "address",
			(json_int_t)part->start, "left_out_bytes",
			(json_int_t)part->left_out, "instructions", list);

		for (size_t k = 0; k < part->count; k++)
			json_array_append_new(
				list,
				instruction_json(annotate, &part->lines[k]));
		if (part->why)
			json_object_set_new(one, "why", json_text(part->why));
		set_annotated_values(annotate, part->sum, one);
		json_array_append_new(code, one);
	}
	return write_annotated(annotate, "code", code, out);
}
