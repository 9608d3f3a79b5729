/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/path_track.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/pool.h"
#include "collector/base/protobuf.h"
#include "collector/base/search.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/out_track.h"

#define MEMORY_MAX (UINT64_C(1) << 28)
/* No thread of a trace has these. */
#define PATH_SEQUENCE (UINT32_MAX - 1)
#define PATH_UUID UINT64_C(0x7065726670617468)
#define NO_CALL "[no call]"
#define SLICES_MAX 100000 /* of functions; the longest */

enum path_name_kind { NAME_THREAD, NAME_FUNCTION, NAME_KIND, NAME_UNKNOWN };

/* The name of a slice. */
struct path_name {
	uint32_t kind; /* enum path_name_kind */
	uint32_t text, tid; /* text: of the path; NAME_KIND: enum path_kind */
	uint32_t unused;
};

struct path_writer {
	const struct path_list *list;
	FILE *out;
	struct encoder encoder;
	struct budget budget;
	struct pool names; /* struct path_name: iid - 1 */
	uint8_t packet[OUT_NAME_BYTES];
};

/* Returns the reason why the path begins later than the run, for the caller to
 * free, or NULL without memory. */
static char *unknown_text(const struct path_list *list)
{
	char *why = path_stop_text(list, list->path->stops.items), *text = NULL;

	if (why && asprintf(&text, "unknown: %s", why) < 0)
		text = NULL;
	free(why);
	return text;
}

static int write_path_name(struct path_writer *writer,
			   const struct path_name *key, uint32_t iid)
{
	static const char *const kinds[PATH_KINDS] = {
		[PATH_RAN] = "runs",
		[PATH_HAND_OVER] = "hand-over",
		[PATH_OUTSIDE] = "outside",
		[PATH_UNKNOWN] = "unknown",
	};
	char thread[PATH_THREAD_TEXT], *unknown = NULL;
	struct out_name name = { .iid = iid };

	switch ((enum path_name_kind)key->kind) {
	case NAME_THREAD:
		name.name = path_thread_text(writer->list, key->tid, key->text,
					     thread);
		break;
	case NAME_FUNCTION:
		name.name = key->text ? path_list_text(writer->list, key->text)
				      : NO_CALL;
		break;
	case NAME_KIND:
		name.name = kinds[key->text];
		break;
	case NAME_UNKNOWN:
		name.name = unknown = unknown_text(writer->list);
		break;
	}
	if (!name.name)
		return -ENOMEM;
	fwrite(writer->packet,
	       out_perfetto_names(writer->packet, sizeof(writer->packet),
				  PATH_SEQUENCE, &name, 1),
	       1, writer->out);
	free(unknown);
	return 0;
}

static void write_path_event(struct path_writer *writer, uint32_t type,
			     uint64_t ns, uint32_t iid)
{
	uint8_t fields[WIRE_FIELD_MAX];
	const struct encode_event event = {
		.type = type,
		.name_iid = iid,
		.fields = fields,
		.field_bytes =
			(size_t)(wire_put(fields, TAG_TRACK_EVENT_TRACK_UUID,
					  PATH_UUID) -
				 fields),
	};

	/* A step from 0 is the time itself. */
	writer->encoder.last_ns = 0;
	writer->encoder.out = writer->packet;
	encode_event(&writer->encoder, ns, &event);
	fwrite(writer->packet, (size_t)(writer->encoder.out - writer->packet),
	       1, writer->out);
}

static int begin_path_slice(struct path_writer *writer, uint64_t ns,
			    struct path_name name)
{
	uint32_t number;
	int got = pool_intern(&writer->names, &name, &number);

	if (got < 0 || (got && write_path_name(writer, &name, number + 1)))
		return -ENOMEM;
	write_path_event(writer, OUT_BEGIN, ns, number + 1);
	return 0;
}

/* Returns the end of the slices from number @first on that have one thread and
 * function. */
static size_t end_of_call(const struct critical_path *path, size_t first)
{
	const struct path_slice *slices = path->slices;
	size_t end = first + 1;

	while (end < path->slice_count &&
	       slices[end].tid == slices[first].tid &&
	       slices[end].function == slices[first].function)
		end++;
	return end;
}

static int compare_path_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a < b) - (a > b);
}

/* The slices of functions that are shown: SLICES_MAX at most. */
struct path_limit {
	uint64_t ns; /* longer ones */
	size_t equal; /* and so many of this length */
};

static int find_path_limit(const struct critical_path *path,
			   struct path_limit *out)
{
	uint64_t *times;
	size_t count = 0;

	*out = (struct path_limit){ 0 };
	if (path->slice_count <= SLICES_MAX)
		return 0;
	times = calloc(path->slice_count, sizeof(*times));
	if (!times)
		return -ENOMEM;
	for (size_t i = 0, end; i < path->slice_count; i = end) {
		end = end_of_call(path, i);
		times[count++] =
			path->slices[end - 1].to_ns - path->slices[i].from_ns;
	}
	qsort(times, count, sizeof(*times), compare_path_times);
	if (count > SLICES_MAX) {
		out->ns = times[SLICES_MAX];
		out->equal = SLICES_MAX - search_first(i, (size_t)SLICES_MAX,
						       times[i] <= out->ns);
	}
	free(times);
	return 0;
}

static bool is_path_call_shown(struct path_limit *limit, uint64_t ns)
{
	if (ns != limit->ns || !limit->equal)
		return ns > limit->ns;
	limit->equal--;
	return true;
}

/* Writes the slices from number @first to @end, of one function. */
static int write_path_call(struct path_writer *writer, size_t first, size_t end)
{
	const struct path_slice *slices = writer->list->path->slices;
	int err = begin_path_slice(
		writer, slices[first].from_ns,
		(struct path_name){ .kind = NAME_FUNCTION,
				    .text = slices[first].function });

	for (size_t i = first; i < end && !err; i++) {
		if (slices[i].kind == PATH_RAN)
			continue;
		err = begin_path_slice(
			writer, slices[i].from_ns,
			(struct path_name){ .kind = NAME_KIND,
					    .text = slices[i].kind });
		if (!err)
			write_path_event(writer, OUT_END, slices[i].to_ns, 0);
	}
	if (!err)
		write_path_event(writer, OUT_END, slices[end - 1].to_ns, 0);
	return err;
}

static int write_path_slices(struct path_writer *writer, uint64_t first_ns)
{
	const struct critical_path *path = writer->list->path;
	const struct path_slice *slices = path->slices;
	struct path_limit limit;
	int err = find_path_limit(path, &limit);

	/* The path has one stop at most, where it begins. */
	if (!err && path->stops.count) {
		const struct path_stop *stop = path->stops.items;

		err = begin_path_slice(
			writer, first_ns,
			(struct path_name){ .kind = NAME_UNKNOWN });
		if (!err)
			write_path_event(writer, OUT_END, first_ns + stop->ns,
					 0);
	}
	for (size_t i = 0, end; i < path->slice_count && !err; i = end) {
		end = end_of_call(path, i);
		if (!i || slices[i - 1].tid != slices[i].tid)
			err = begin_path_slice(
				writer, slices[i].from_ns,
				(struct path_name){ .kind = NAME_THREAD,
						    .text = slices[i].thread,
						    .tid = slices[i].tid });
		if (!err &&
		    is_path_call_shown(&limit, slices[end - 1].to_ns -
						       slices[i].from_ns))
			err = write_path_call(writer, i, end);
		if (!err && (end == path->slice_count ||
			     slices[end].tid != slices[i].tid))
			write_path_event(writer, OUT_END, slices[end - 1].to_ns,
					 0);
	}
	return err;
}

int path_track_write(const struct path_list *list, FILE *out)
{
	struct path_writer *writer = calloc(1, sizeof(*writer));
	const struct critical_path *path = list->path;
	uint64_t first_ns = path->end_ns - path->length_ns;
	const struct out_track track = {
		.uuid = PATH_UUID,
		.name = PATH_TRACK_NAME,
		.description = "the chain of work that determined how long the "
			       "run took",
	};
	int err;

	if (!writer)
		return -ENOMEM;
	writer->list = list;
	writer->out = out;
	writer->budget.left = MEMORY_MAX;
	pool_init(&writer->names, &writer->budget, sizeof(struct path_name),
		  sizeof(struct path_name));
	encoder_init(&writer->encoder, PATH_SEQUENCE, 0);
	fwrite(writer->packet,
	       out_track_track(writer->packet, sizeof(writer->packet), &track),
	       1, out);
	fwrite(writer->packet,
	       out_track_sequence(writer->packet, sizeof(writer->packet),
				  PATH_SEQUENCE),
	       1, out);
	err = write_path_slices(writer, first_ns);
	pool_release(&writer->names);
	free(writer);
	return err;
}
