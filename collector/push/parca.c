/* SPDX-License-Identifier: Apache-2.0
 *
 * parca - ProfileStoreService/WriteRaw in the JSON of grpc-gateway over HTTP,
 * where bytes are base64.
 */
#include "collector/push/protocol.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/base64.h"
#include "collector/base/json_text.h"
#include "collector/push/gzip.h"
#include "collector/push/pprof_pack.h"

static int put_parca_series(struct bytes *body, const struct labels *labels,
			    const struct push_file *profile)
{
	static const char begin[] = "{\"series\":[";
	char *base64 = base64_text(profile->at, profile->count), *text = NULL;

	/* Without memory jansson inserts NULL silently. */
	json_text_watch();
	if (base64) {
		json_t *series = json_object(), *set = json_object();
		json_t *samples = json_array(), *sample = json_object();
		json_t *list = json_array();

		for (size_t i = 0; i < labels->count; i++) {
			json_t *pair = json_object();

			json_object_set_new(pair, "name",
					    json_text(labels->list[i].name));
			json_object_set_new(pair, "value",
					    json_text(labels->list[i].value));
			json_array_append_new(list, pair);
		}
		json_object_set_new(set, "labels", list);
		json_object_set_new(series, "labels", set);
		json_object_set_new(sample, "rawProfile", json_string(base64));
		json_array_append_new(samples, sample);
		json_object_set_new(series, "samples", samples);
		text = json_dumps(series, JSON_COMPACT);
		json_decref(series);
	}
	if (text && !json_text_lacked()) {
		bytes_put(body, body->count ? "," : begin,
			  body->count ? 1 : sizeof(begin) - 1);
		bytes_put(body, text, strlen(text));
	} else {
		body->failed = true;
	}
	free(text);
	free(base64);
	return body->failed ? -ENOMEM : 0;
}

static int add_parca_profile(struct message *message,
			     const struct push_window *window, size_t kind)
{
	struct push_file file = window->files[kind];
	struct bytes profile = { 0 };
	struct labels labels;
	int err = window_labels(window, &window_kinds[kind], false, &labels);

	if (err)
		return err;
	if (window->profiles[kind])
		err = pprof_pack_to_fit(window->profiles[kind],
					message->with_pid, &profile,
					&message->fitted);
	else if (!window_file_is_gzipped(&file))
		err = gzip_put(file.at, file.count, GZIP_USUAL, &profile);
	if (profile.count)
		file = (struct push_file){ profile.at, profile.count };
	if (!err)
		err = put_parca_series(&message->body, &labels, &file);
	message->labels_dropped += labels.dropped;
	labels_release(&labels);
	bytes_release(&profile);
	return err;
}

static int finish_parca(struct message *message)
{
	bytes_put(&message->body, "]}", 2);
	snprintf(message->content_type, sizeof(message->content_type),
		 "application/json");
	return message->body.failed ? -ENOMEM : 0;
}

/* grpc-gateway unpacks no body, so profiles are gzipped. */
const struct protocol protocol_parca = {
	.scheme = "parca",
	.server = "Parca",
	.path = "/profiles/writeraw",
	.batch_max = 512,
	.batch_bytes = 3u << 20,
	.takes_files = true,
	.add = add_parca_profile,
	.finish = finish_parca,
};
