/* SPDX-License-Identifier: Apache-2.0
 *
 * ingest - POST /ingest of Pyroscope, for servers that have no Push: one
 * profile in a request, as multipart/form-data, all else in the URL.
 */
#include "collector/push/protocol.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/random.h"
#include "collector/push/pprof_pack.h"
#include "shared/compiler.h"

/* Properties of a type that differ from the server's defaults. */
struct type_config {
	const char *kind, *type; /* kind NULL: any */
	const char *display, *units, *aggregation;
	bool is_sampled;
};

static const struct type_config g_types[] = {
	{ NULL, "samples", "cpu", "samples", "sum", true },
	{ NULL, "alloc_objects", "alloc_objects", "objects", "sum", false },
	{ NULL, "alloc_space", "alloc_space", "bytes", "sum", false },
	{ NULL, "inuse_objects", "inuse_objects", "objects", "avg", false },
	{ NULL, "inuse_space", "inuse_space", "bytes", "avg", false },
	{ "mutex", "contentions", "mutex_count", "lock_samples", "sum", false },
	{ "mutex", "delay", "mutex_duration", "lock_nanoseconds", "sum",
	  false },
	{ "block", "contentions", "block_count", "lock_samples", "sum", false },
	{ "block", "delay", "block_duration", "lock_nanoseconds", "sum",
	  false },
	/* The rest: the names of the pprof. */
	{ NULL, NULL, NULL, "nanoseconds", "sum", false },
};

static int print_config(FILE *out, const struct pprof *profile,
			const char *kind)
{
	char before = '{';

	for (size_t i = 0; i < profile->type_count; i++) {
		const char *type = profile->type[i].type;
		const struct type_config *one = g_types;

		while (one->type && (strcmp(one->type, type) ||
				     (one->kind && strcmp(one->kind, kind))))
			one++;

		/* perfrec's own names need no escape. The server decides about
		 * all others. */
		if (strspn(type, "abcdefghijklmnopqrstuvwxyz_") != strlen(type))
			continue;
		fprintf(out,
			"%c\"%s\":{\"units\":\"%s\",\"display-name\":\"%s\","
			"\"aggregation\":\"%s\",\"cumulative\":false,"
			"\"sampled\":%s}",
			before, type, one->units,
			one->display ? one->display : type, one->aggregation,
			one->is_sampled ? "true" : "false");
		before = ',';
	}
	fputs(before == '{' ? "{}" : "}", out);
	return ferror(out) ? -ENOMEM : 0;
}

/* --- the name ------------------------------------------------------------ */

/* Writes @text; each character that is neither alphanumeric nor in @others
 * becomes '_'. */
static void print_plain(FILE *out, const char *text, const char *others)
{
	for (; *text; text++)
		fputc(isalnum((unsigned char)*text) || strchr(others, *text)
			      ? *text
			      : '_',
		      out);
}

/* Writes a value of a label, without the characters that end one. */
static void print_value(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(strchr("{},=\"", *text) || iscntrl((unsigned char)*text)
			      ? '_'
			      : *text,
		      out);
}

static void print_name(FILE *out, const struct push_window *window,
		       const struct labels *labels)
{
	bool first = true;

	print_plain(out, window->service, "_.-/");
	for (size_t i = 0; i < labels->count; i++) {
		const struct push_label *label = &labels->list[i];

		if (!strncmp(label->name, "__", 2) ||
		    !strcmp(label->name, "service_name"))
			continue;
		fputc(first ? '{' : ',', out);
		first = false;
		fprintf(out, "%s=", label->name);
		print_value(out, label->value);
	}
	if (!first)
		fputc('}', out);
}

/* The value of the parameter "name", escaped: the caller frees it by
 * curl_free(). NULL: no memory. */
static char *make_name(const struct push_window *window,
		       const struct labels *labels)
{
	char *text = NULL, *escaped = NULL;
	size_t count;
	FILE *out = open_memstream(&text, &count);

	if (!out)
		return NULL;
	print_name(out, window, labels);
	if (!fclose(out))
		escaped = curl_easy_escape(NULL, text, (int)count);
	free(text);
	return escaped;
}

static int set_query(struct message *message, const struct push_window *window,
		     const struct push_kind *kind)
{
	struct labels labels;
	char *name;
	int err = window_labels(window, kind, true, &labels);

	if (err)
		return err;
	name = make_name(window, &labels);
	message->labels_dropped += labels.dropped;
	labels_release(&labels);
	if (!name ||
	    asprintf(&message->query,
		     "?name=%s&from=%" PRIu64 "&until=%" PRIu64
		     "&format=pprof&spyName=perfrec&sampleRate=%" PRIu64,
		     name, window->start_ns,
		     window->start_ns + window->duration_ns,
		     window->hz ? window->hz : 100) < 0) {
		message->query = NULL;
		err = -ENOMEM;
	}
	curl_free(name);
	return err;
}

/* --- the body ------------------------------------------------------------ */

static void print_part(FILE *out, const char *boundary, const char *name,
		       const char *file)
{
	fprintf(out,
		"--%s\r\nContent-Disposition: form-data; name=\"%s\"; "
		"filename=\"%s\"\r\nContent-Type: application/octet-stream\r\n"
		"\r\n",
		boundary, name, file);
}

static int print_body(FILE *out, const char *boundary,
		      const struct bytes *profile, const struct pprof *from,
		      const char *kind)
{
	int err;

	print_part(out, boundary, "profile", "profile.pprof");
	fwrite(profile->at, 1, profile->count, out);
	fputs("\r\n", out);
	print_part(out, boundary, "sample_type_config",
		   "sample_type_config.json");
	err = print_config(out, from, kind);
	fprintf(out, "\r\n--%s--\r\n", boundary);
	return err;
}

static int put_body(struct message *message, const struct bytes *profile,
		    const struct pprof *from, const char *kind)
{
	char boundary[48], *text = NULL;
	size_t count = 0;
	FILE *out = open_memstream(&text, &count);
	int err = -ENOMEM;

	snprintf(boundary, sizeof(boundary), "perfrec%016" PRIx64 "%016" PRIx64,
		 random_u64(), random_u64());
	snprintf(message->content_type, sizeof(message->content_type),
		 "multipart/form-data; boundary=%s", boundary);
	if (out) {
		err = print_body(out, boundary, profile, from, kind);
		if (fclose(out))
			err = -ENOMEM;
	}
	if (!err)
		bytes_put(&message->body, text, count);
	free(text);
	return message->body.failed ? -ENOMEM : err;
}

static int add_ingest_profile(struct message *message,
			      const struct push_window *window, size_t kind)
{
	struct pprof *from = window->profiles[kind];
	struct bytes profile = { 0 };
	int err = set_query(message, window, &window_kinds[kind]);

	if (!err)
		err = pprof_pack_to_fit(from, message->with_pid, &profile,
					&message->fitted);
	if (!err)
		err = put_body(message, &profile, from,
			       window_kinds[kind].name);
	bytes_release(&profile);
	return err;
}

static int finish_ingest(struct message *message)
{
	return message->body.failed ? -ENOMEM : 0;
}

const struct protocol protocol_ingest = {
	.scheme = "pyroscope-ingest",
	.server = "Pyroscope",
	.path = "/ingest",
	.batch_max = 1,
	.batch_bytes = 4u << 20,
	.age_max_ns = UINT64_C(3600000000000),
	.one_by_one = true,
	.add = add_ingest_profile,
	.finish = finish_ingest,
};
