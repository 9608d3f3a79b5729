/* SPDX-License-Identifier: Apache-2.0
 *
 * Each protocol has a rule of its own. Every form of answer that real servers
 * use must count as success, because a server that receives a window again
 * counts it twice.
 *
 * - Push of Pyroscope answers with PushResponse, a message without fields; a
 *   later version may have some.
 * - OTLP over HTTP answers with ExportProfilesServiceResponse; an empty one
 *   means success. Some servers answer in JSON, against the specification.
 * - WriteRaw of Parca answers with an object of JSON (grpc-gateway).
 * - /ingest answers with nothing, of any type.
 */
#include "collector/push/answer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "collector/base/protobuf.h"
#include "shared/compiler.h"

static bool has_type(const struct sender_answer *answer, const char *type)
{
	const size_t length = strcspn(answer->type, "; ");

	return length == strlen(type) &&
	       !strncasecmp(answer->type, type, length);
}

static bool is_protobuf(const struct sender_answer *answer)
{
	struct wire wire = { answer->body, answer->body + answer->count };
	struct wire_field field;

	while (wire.at < wire.end)
		if (!wire_next(&wire, &field))
			return false;
	return true;
}

static json_t *read_object(const struct sender_answer *answer)
{
	json_t *object =
		json_loadb((const char *)answer->body, answer->count, 0, NULL);

	if (json_is_object(object))
		return object;
	json_decref(object);
	return NULL;
}

static bool read_otlp_json(const struct sender_answer *answer,
			   struct answer_partial *out)
{
	json_t *object = read_object(answer);
	const json_t *partial = json_object_get(object, "partialSuccess");
	const char *text =
		json_string_value(json_object_get(partial, "errorMessage"));
	const json_t *value = json_object_get(partial, "rejectedProfiles");
	json_int_t number = json_integer_value(value);

	/* protobuf's form of JSON puts 64-bit numbers in quotes. */
	if (json_is_string(value))
		number = strtoll(json_string_value(value), NULL, 10);
	out->rejected = (uint64_t)MAX(number, 0);
	if (text)
		snprintf(out->text, sizeof(out->text), "%s", text);
	json_decref(object);
	return object;
}

bool answer_read(const struct protocol *protocol,
		 const struct sender_answer *answer, struct answer_partial *out)
{
	*out = (struct answer_partial){ 0 };
	if (answer->cut)
		return false;
	if (protocol == &protocol_otlp) {
		if (!answer->count)
			return true;
		if (has_type(answer, "application/json"))
			return read_otlp_json(answer, out);
		return (has_type(answer, "application/x-protobuf") ||
			has_type(answer, "application/protobuf")) &&
		       otlp_rejected(answer->body, answer->count,
				     &out->rejected, out->text,
				     sizeof(out->text));
	}
	if (protocol == &protocol_parca) {
		json_t *object;

		if (!has_type(answer, "application/json") && *answer->type)
			return false;
		if (!answer->count)
			return true;
		object = read_object(answer);
		json_decref(object);
		return object;
	}
	if (protocol == &protocol_ingest)
		return !answer->count;
	return (!*answer->type || has_type(answer, "application/proto")) &&
	       is_protobuf(answer);
}
