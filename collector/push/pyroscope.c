/* SPDX-License-Identifier: Apache-2.0
 *
 * pyroscope - push.v1.PusherService/Push by the Connect protocol.
 *
 * A protobuf message may be written as several that follow each other: each
 * series is packed as a PushRequest of its own. Small profiles are not gzipped:
 * Pyroscope takes both, and the whole request is.
 */
#include "collector/push/protocol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/push/pprof_pack.h"
#include "proto/push.pb-c.h"

#define ID_TEXT 37 /* 8-4-4-4-12 and a NUL */

static void format_id(const uint8_t id[16], char text[ID_TEXT])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*text++ = '-';
		*text++ = digits[id[i] >> 4];
		*text++ = digits[id[i] & 15];
	}
	*text = 0;
}

static int put_push_series(struct bytes *body, const struct labels *labels,
			   const struct push_file *profile, char *id)
{
	Push__V1__LabelPair pairs[LABELS_MAX], *pair_list[LABELS_MAX];
	Push__V1__RawSample sample = PUSH__V1__RAW_SAMPLE__INIT;
	Push__V1__RawSample *sample_list = &sample;
	Push__V1__RawProfileSeries series = PUSH__V1__RAW_PROFILE_SERIES__INIT;
	Push__V1__RawProfileSeries *series_list = &series;
	Push__V1__PushRequest request = PUSH__V1__PUSH_REQUEST__INIT;
	uint8_t *to;

	for (size_t i = 0; i < labels->count; i++) {
		push__v1__label_pair__init(&pairs[i]);
		pairs[i].name = labels->list[i].name;
		pairs[i].value = labels->list[i].value;
		pair_list[i] = &pairs[i];
	}
	sample.id = id;
	sample.has_raw_profile = 1;
	/* protobuf-c's type lacks a const. */
	sample.raw_profile.data = (uint8_t *)(uintptr_t)profile->at;
	sample.raw_profile.len = profile->count;
	series.labels = pair_list;
	series.n_labels = labels->count;
	series.samples = &sample_list;
	series.n_samples = 1;
	request.series = &series_list;
	request.n_series = 1;
	to = bytes_add(body, push__v1__push_request__get_packed_size(&request));
	if (!to)
		return -ENOMEM;
	push__v1__push_request__pack(&request, to);
	return 0;
}

static int add_push_profile(struct message *message,
			    const struct push_window *window, size_t kind)
{
	struct push_file file = window->files[kind];
	struct bytes profile = { 0 };
	char text[ID_TEXT];
	struct labels labels;
	uint8_t id[16];
	int err;

	err = window_labels(window, &window_kinds[kind], true, &labels);
	if (err)
		return err;
	window_id(window, kind, 0, id);
	format_id(id, text);
	if (window->profiles[kind])
		err = pprof_pack_to_fit(window->profiles[kind],
					message->with_pid, &profile,
					&message->fitted);
	if (profile.count)
		file = (struct push_file){ profile.at, profile.count };
	if (!err)
		err = put_push_series(&message->body, &labels, &file, text);
	message->labels_dropped += labels.dropped;
	labels_release(&labels);
	bytes_release(&profile);
	return err;
}

static int finish_push(struct message *message)
{
	snprintf(message->content_type, sizeof(message->content_type),
		 "application/proto");
	return message->body.failed ? -ENOMEM : 0;
}

const struct protocol protocol_pyroscope = {
	.scheme = "pyroscope",
	.server = "Pyroscope",
	.path = "/push.v1.PusherService/Push",
	.batch_max = 512,
	.batch_bytes = 4u << 20,
	.age_max_ns = UINT64_C(3600000000000),
	.gzip = true,
	.takes_files = true,
	.add = add_push_profile,
	.finish = finish_push,
};
