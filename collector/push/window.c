/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/window.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/file_at.h"
#include "collector/base/json_text.h"
#include "collector/output/own_files.h"
#include "collector/push/gzip.h"
#include "collector/push/pprof_fits.h"
#include "collector/push/pprof_pack.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define META_BYTES_MAX (256u << 10)
#define ATTRIBUTES_MAX 256
#define VERSION 2
/* Each of its profiles is smaller by far. */
#define FILE_BYTES_MAX (512 << 20)

const struct push_kind window_kinds[WINDOW_KINDS] = {
	{ "cpu", "process_cpu", { "cpu", "nanoseconds" } },
	{ "wall", "wall", { "wall", "nanoseconds" } },
	{ "memory", "memory", { "space", "bytes" } },
	{ "mutex", "mutex", { "contentions", "count" } },
	{ "block", "block", { "contentions", "count" } },
	{ "off_cpu", "off_cpu", { "", "" } },
};

/* --- files --------------------------------------------------------------- */

/* Reads the file @spool/@name to @out. 0; -EFBIG: it is no window of ours;
 * -EBADMSG: it is empty; or another -errno. */
static int read_spool_file(const char *spool, const char *name,
			   struct bytes *out)
{
	struct stat status;
	uint8_t *to;
	char *path;
	int fd, err;

	if (asprintf(&path, "%s/%s", spool, name) < 0)
		return -ENOMEM;
	fd = own_files_open(path);
	free(path);
	if (fd < 0)
		return fd;
	err = fstat(fd, &status)		? -errno
	      : status.st_size > FILE_BYTES_MAX ? -EFBIG
	      : !status.st_size			? -EBADMSG
						: 0;
	if (!err) {
		to = bytes_add(out, (size_t)status.st_size);
		err = to ? file_read_at(fd, to, (size_t)status.st_size, 0)
			 : -ENOMEM;
	}
	close(fd);
	return err;
}

/* --- the line in front of the profiles ----------------------------------- */

static int take_window_attribute(struct push_window *window, const char *name,
				 const char *value)
{
	struct push_attribute *one =
		&window->attributes[window->attribute_count];

	if (!strcmp(name, "service.name")) {
		free(window->service);
		window->service = strdup(value);
		return window->service ? 0 : -ENOMEM;
	}
	one->name = strdup(name);
	one->value = strdup(value);
	window->attribute_count++;
	return one->name && one->value ? 0 : -ENOMEM;
}

static int take_resource(struct push_window *window, json_t *resource,
			 bool with_pid)
{
	const char *name;
	json_t *value;

	if (!json_is_object(resource) ||
	    json_object_size(resource) > ATTRIBUTES_MAX)
		return -EBADMSG;
	window->attributes = calloc(json_object_size(resource) + 1,
				    sizeof(*window->attributes));
	if (!window->attributes)
		return -ENOMEM;
	json_object_foreach(resource, name, value)
	{
		int err;

		if (!json_is_string(value))
			return -EBADMSG;
		if ((!with_pid && !strcmp(name, "process.pid")) || !*name ||
		    !*json_string_value(value))
			continue;
		err = take_window_attribute(window, name,
					    json_string_value(value));
		if (err)
			return err;
	}
	return 0;
}

static int take_service(struct push_window *window, json_t *meta)
{
	const char *program =
		json_string_value(json_object_get(meta, "program"));

	if (window->service)
		return 0;
	if (program && *program) {
		if (asprintf(&window->service, "unknown_service:%s", program) <
		    0)
			window->service = NULL;
	} else {
		window->service = strdup("unknown_service");
	}
	return window->service ? 0 : -ENOMEM;
}

static bool take_meta_number(json_t *meta, const char *name, uint64_t *out)
{
	json_t *value = json_object_get(meta, name);

	*out = json_is_integer(value) ? (uint64_t)json_integer_value(value) : 0;
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static int take_meta(struct push_window *window, json_t *meta, bool with_pid)
{
	uint64_t version;
	int err;

	if (!take_meta_number(meta, "version", &version) ||
	    version != VERSION ||
	    !take_meta_number(meta, "start_unix_ns", &window->start_ns) ||
	    !take_meta_number(meta, "duration_ns", &window->duration_ns) ||
	    !take_meta_number(meta, "hz", &window->hz))
		return -EBADMSG;
	err = take_resource(window, json_object_get(meta, "resource"),
			    with_pid);
	return err ? err : take_service(window, meta);
}

/* --- profiles ------------------------------------------------------------ */

bool window_file_is_gzipped(const struct push_file *file)
{
	return file->count >= 2 && file->at[0] == 0x1f && file->at[1] == 0x8b;
}

static bool fits(const struct push_file *file, size_t kind)
{
	const struct pprof_type *period = &window_kinds[kind].period;
	struct bytes plain = { 0 };
	bool fits;

	if (!window_file_is_gzipped(file))
		return pprof_fits(file->at, file->count, period);
	fits = file->count <= PPROF_BYTES_MAX &&
	       !gzip_get(file->at, file->count, PPROF_BYTES_MAX, &plain) &&
	       pprof_fits(plain.at, plain.count, period);
	bytes_release(&plain);
	return fits;
}

static int decode_file(struct push_window *window, const struct push_file *file,
		       size_t kind)
{
	struct pprof **profile = &window->profiles[kind];
	int err = pprof_read_bytes(file->at, file->count, profile);

	if (err)
		return err;
	(*profile)->period_type = window_kinds[kind].period;
	if (!(*profile)->time_ns)
		(*profile)->time_ns = window->start_ns;
	if (!(*profile)->duration_ns)
		(*profile)->duration_ns = window->duration_ns;
	return 0;
}

static int take_profile(struct push_window *window, const char *kind,
			const struct push_file *file, bool keeps_files)
{
	for (size_t i = 0; i < WINDOW_KINDS; i++) {
		if (strcmp(kind, window_kinds[i].name))
			continue;
		if (window_has(window, i))
			return -EBADMSG;
		if (!keeps_files || !fits(file, i))
			return decode_file(window, file, i);
		window->files[i] = *file;
		return 0;
	}
	return -EBADMSG;
}

/* Takes the profiles that @list names, which begin @at in the text. */
static int take_profiles(struct push_window *window, size_t at, json_t *list,
			 bool keeps_files)
{
	json_t *row;
	size_t i;
	int err = json_array_size(list) ? 0 : -EBADMSG;

	json_array_foreach(list, i, row)
	{
		const char *kind =
			json_string_value(json_object_get(row, "kind"));
		struct push_file file = { .at = window->text.at + at };
		uint64_t count;

		if (err)
			break;
		if (!kind || !take_meta_number(row, "bytes", &count) ||
		    !count || count > window->text.count - at)
			return -EBADMSG;
		file.count = (size_t)count;
		err = take_profile(window, kind, &file, keeps_files);
		at += file.count;
	}
	return !err && at != window->text.count ? -EBADMSG : err;
}

static int read_window(struct push_window *window, const char *spool,
		       bool with_pid, bool keeps_files)
{
	struct bytes *text = &window->text;
	int err = read_spool_file(spool, window->name, text);
	const uint8_t *end;
	json_t *meta;

	if (err)
		return err;
	end = memchr(text->at, '\n', MIN(text->count, META_BYTES_MAX));
	if (!end)
		return -EBADMSG;
	json_text_watch();
	meta = json_loadb((char *)text->at, (size_t)(end - text->at),
			  JSON_REJECT_DUPLICATES, NULL);
	/* A damaged window is dropped, and one without memory is not. */
	if (!meta)
		return json_text_lacked() ? -ENOMEM : -EBADMSG;
	err = take_meta(window, meta, with_pid);
	if (!err)
		err = take_profiles(window, (size_t)(end + 1 - text->at),
				    json_object_get(meta, "profiles"),
				    keeps_files);
	json_decref(meta);
	return err;
}

int window_read(const char *spool, const char *name, bool with_pid,
		bool keeps_files, struct push_window *out)
{
	int err;

	*out = (struct push_window){ .name = name };
	err = read_window(out, spool, with_pid, keeps_files);
	if (err)
		window_free(out);
	return err;
}

bool window_has(const struct push_window *window, size_t kind)
{
	return window->profiles[kind] || window->files[kind].count;
}

void window_free(struct push_window *window)
{
	for (size_t i = 0; i < window->attribute_count; i++) {
		free(window->attributes[i].name);
		free(window->attributes[i].value);
	}
	free(window->attributes);
	free(window->service);
	for (size_t i = 0; i < WINDOW_KINDS; i++)
		pprof_free(&window->profiles[i]);
	bytes_release(&window->text);
	*window = (struct push_window){ 0 };
}

int window_labels(const struct push_window *window,
		  const struct push_kind *kind, bool pyroscope,
		  struct labels *out)
{
	int err;

	*out = (struct labels){ 0 };
	err = labels_add(out, "__name__", kind->metric);
	if (!err)
		err = labels_add(out, "service_name", window->service);
	if (!err && pyroscope)
		err = labels_add(out, "__delta__", "false");
	for (size_t i = 0; i < window->attribute_count && !err; i++)
		err = labels_add(out, window->attributes[i].name,
				 window->attributes[i].value);
	if (err)
		labels_release(out);
	return err;
}

void window_id(const struct push_window *window, size_t kind, uint32_t part,
	       uint8_t id[16])
{
	uint64_t hash = hash_text(HASH_START, window->name), second;

	hash = hash_text(hash, window_kinds[kind].name);
	hash = hash_bytes(hash, &part, sizeof(part));
	hash = hash_text(hash, window->service);
	for (size_t i = 0; i < window->attribute_count; i++)
		hash = hash_text(hash, window->attributes[i].value);
	second = hash_text(hash * HASH_MULTIPLIER, window->name);
	memcpy(id, &hash, sizeof(hash));
	memcpy(id + sizeof(hash), &second, sizeof(second));
	/* A UUID of the form that each may make for itself (RFC 9562, 8). */
	id[6] = (uint8_t)((id[6] & 0x0f) | 0x80);
	id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
}
