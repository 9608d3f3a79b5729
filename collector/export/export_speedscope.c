/* SPDX-License-Identifier: Apache-2.0
 *
 * export_speedscope - speedscope's own JSON (file-format-schema.json): for
 * calls an evented profile for each thread, in ns from the first call; for a
 * value of a profile a sampled one. Its lists may have any order, so the names,
 * known last, are at the end.
 */
#include "collector/export/formats.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/put.h"
#include "collector/export/spool.h"
#include "collector/export/stack_tree.h"
#include "collector/export/threads.h"
#include "shared/compiler.h"

struct scope_track {
	const struct trace_track *track; /* NULL: no calls */
	uint64_t first_ns, last_ns;
};

struct scope {
	const struct trace_reader *trace;
	uint64_t origin_ns;
	struct spool *spool;
	struct scope_track *tracks; /* by track number */
	uint32_t room;
	uint32_t *frames; /* number of a frame + 1, by number of its text */
	uint32_t frame_room;
	uint32_t *texts; /* of the frames */
	uint32_t text_count, text_room;
};

static void put_scope_head(FILE *out)
{
	put_text("{\"$schema\":\"https://www.speedscope.app/"
		 "file-format-schema.json\",\"exporter\":"
		 "\"perfrec@" PERFREC_VERSION "\",\n\"profiles\":[",
		 out);
}

/* --- calls --- */

static int frame_of(struct scope *scope, uint32_t text, uint32_t *frame)
{

	if (grow_array_zeroed(scope->frames, scope->frame_room, text + 1))
		return -ENOMEM;
	if (!scope->frames[text]) {
		if (grow_array(scope->texts, scope->text_room,
			       scope->text_count + 1))
			return -ENOMEM;
		scope->texts[scope->text_count++] = text;
		scope->frames[text] = scope->text_count;
	}
	*frame = scope->frames[text] - 1;
	return 0;
}

static int take(struct scope *scope, const struct trace_event *event)
{
	struct scope_track *track =
		grow_array_at(scope->tracks, scope->room, event->track->number);
	FILE *out = spool_stream(scope->spool, event->track->number);
	uint64_t ns = event->ns - MIN(event->ns, scope->origin_ns);
	uint32_t frame;

	if (!track || !out || frame_of(scope, event->name, &frame))
		return -ENOMEM;
	if (track->track)
		put_text(",\n", out);
	else
		*track = (struct scope_track){ event->track, ns, ns };
	track->last_ns = ns;
	put_text(event->kind == TRACE_BEGIN ? "{\"type\":\"O\",\"frame\":"
					    : "{\"type\":\"C\",\"frame\":",
		 out);
	put_count(frame, out);
	put_text(",\"at\":", out);
	put_count(ns, out);
	put_char('}', out);
	return ferror_unlocked(out) ? -EIO : 0;
}

int export_speedscope_calls(struct call_reader *reader, FILE *out)
{
	struct scope scope = { .trace = call_reader_trace(reader),
			       .origin_ns = call_reader_origin(reader) };
	int err = spool_new(&scope.spool);
	struct call_event event;
	bool first;
	int got;

	if (err)
		return err;
	first = true;
	err = 0;
	while ((got = call_reader_next(reader, &event)) > 0 && !err)
		if (event.event.kind == TRACE_BEGIN ||
		    event.event.kind == TRACE_END)
			err = take(&scope, &event.event);
	put_scope_head(out);
	for (uint32_t i = 0; i < scope.room && !err; i++) {
		char name[THREAD_NAME_BYTES];

		if (!scope.tracks[i].track)
			continue;
		put_text(first ? "\n{\"type\":\"evented\",\"name\":"
			       : ",\n{\"type\":\"evented\",\"name\":",
			 out);
		put_json_text(
			threads_name(scope.trace, scope.tracks[i].track, name),
			out);
		put_text(",\"unit\":\"nanoseconds\",\"startValue\":", out);
		put_count(scope.tracks[i].first_ns, out);
		put_text(",\"endValue\":", out);
		put_count(scope.tracks[i].last_ns, out);
		put_text(",\"events\":[\n", out);
		err = spool_copy(scope.spool, scope.tracks[i].track->number,
				 out);
		put_text("]}", out);
		first = false;
	}
	put_text("],\n\"shared\":{\"frames\":[", out);
	for (uint32_t i = 0; i < scope.text_count; i++) {
		put_text(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		put_json_text(trace_reader_text(scope.trace, scope.texts[i]),
			      out);
		put_char('}', out);
	}
	put_text("]}}\n", out);
	err = err ? err : ferror(out) ? -EIO : got;
	free(scope.tracks);
	free(scope.frames);
	free(scope.texts);
	spool_free(&scope.spool);
	return err;
}

/* --- a profile --- */

static void put_samples(const struct stack_tree *tree, uint32_t *path,
			FILE *out)
{
	const char *between = "";

	put_text(",\"samples\":[", out);
	for (uint32_t i = 1; i < tree->nodes.count; i++) {
		uint32_t number;
		uint32_t depth;

		if (!stack_tree_node(tree, i)->self)
			continue;
		put_text(between, out);
		number = i;
		depth = 0;
		for (; number; number = stack_tree_node(tree, number)->parent)
			path[depth++] = stack_tree_node(tree, number)->name;
		put_char('[', out);
		for (uint32_t j = depth; j--;) {
			/* Name 0 belongs to the root. */
			put_count(path[j] - 1, out);
			if (j)
				put_char(',', out);
		}
		put_char(']', out);
		between = ",\n";
	}
	put_text("],\"weights\":[", out);
	between = "";
	for (uint32_t i = 1; i < tree->nodes.count; i++) {
		if (!stack_tree_node(tree, i)->self)
			continue;
		put_text(between, out);
		put_count(stack_tree_node(tree, i)->self, out);
		between = ",";
	}
	put_text("]}", out);
}

int export_speedscope_profile(const struct export_profile *profile, FILE *out)
{
	const struct pprof_type *type = &profile->profile->type[profile->value];
	struct stack_tree tree;
	int err = stack_tree_make(profile->profile, profile->value, &tree);
	uint32_t *path;

	if (err)
		return err;
	path = calloc(tree.depth + 1, sizeof(*path));
	if (path) {
		const char *const *names;

		put_scope_head(out);
		put_text("\n{\"type\":\"sampled\",\"name\":", out);
		put_json_text(type->type, out);
		put_text(",\"unit\":\"", out);
		put_text(strcmp(type->unit, "nanoseconds") == 0 ? "nanoseconds"
			 : strcmp(type->unit, "bytes") == 0	? "bytes"
								: "none",
			 out);
		put_text("\",\"startValue\":0,\"endValue\":", out);
		put_count(stack_tree_node(&tree, 0)->total, out);
		put_samples(&tree, path, out);
		names = tree.names.items;
		put_text("],\n\"shared\":{\"frames\":[", out);
		for (uint32_t i = 1; i < tree.names.count; i++) {
			put_text(i > 1 ? ",\n{\"name\":" : "\n{\"name\":", out);
			put_json_text(names[i], out);
			put_char('}', out);
		}
		put_text("]}}\n", out);
	}
	err = path ? 0 : -ENOMEM;
	free(path);
	stack_tree_release(&tree);
	return err ? err : ferror(out) ? -EIO : 0;
}
