/* SPDX-License-Identifier: Apache-2.0
 *
 * process_context - a mapping with a special name has a header, which points to
 * a protobuf message (ProcessContext). The publication time is 0 while the
 * program changes either, and new afterwards. The reader checks it before and
 * after the message, as in a seqlock.
 */
#include "collector/drain/process_context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/base/protobuf.h"
#include "collector/names/maps.h"
#include "collector/record/attributes.h"
#include "collector/samples/wait_memory.h"
#include "shared/compiler.h"

#define VERSION 2
#define PAYLOAD_MAX (64u << 10)
#define TRIES 3
#define NUMBER_BYTES 32

struct header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_ns; /* BOOTTIME; 0: in change */
	uint64_t payload; /* address of the message */
};

_Static_assert(sizeof(struct header) == 32, "as OTEP 4719 has it");

/* opentelemetry.proto.processcontext.v1development.ProcessContext, .resource.v1
 * and .common.v1: number << 3 | type. */
enum {
	CONTEXT_RESOURCE = 1 << 3 | 2,
	RESOURCE_ATTRIBUTES = 1 << 3 | 2,
	KEY_VALUE_KEY = 1 << 3 | 2,
	KEY_VALUE_VALUE = 2 << 3 | 2,
	ANY_STRING = 1 << 3 | 2,
	ANY_BOOL = 2 << 3,
	ANY_INT = 3 << 3,
	ANY_DOUBLE = 4 << 3 | 1,
};

static bool read_header(pid_t pid, uint64_t address, struct header *out)
{
	return wait_memory_read(pid, address, out, sizeof(*out)) ==
		       sizeof(*out) &&
	       !memcmp(out->signature, "OTEL_CTX", sizeof(out->signature)) &&
	       out->version == VERSION;
}

static bool is_context_mapping(const char *path)
{
	static const char *const names[] = { "[anon_shmem:OTEL_CTX]",
					     "[anon:OTEL_CTX]",
					     "/memfd:OTEL_CTX" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(path, names[i], strlen(names[i])))
			return true;
	return false;
}

static uint64_t find_header(pid_t pid)
{
	struct maps_turn turn = { 0 };
	struct maps_line mapping;
	uint64_t found = 0;
	char path[64], *line = NULL;
	struct header header;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	while (file && !found && getline(&line, &size, file) > 0 &&
	       maps_turn_line(&turn))
		if (maps_parse(line, &mapping) &&
		    is_context_mapping(mapping.path) &&
		    read_header(pid, mapping.start, &header))
			found = mapping.start;
	maps_turn_end(&turn);
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* Returns 0, -EBADMSG, -ENOMEM, or -EAGAIN if the header changed meanwhile. */
static int read_payload(pid_t pid, uint64_t address,
			const struct header *header, struct bytes *payload)
{
	struct header again;
	uint8_t *at;

	if (!header->payload_size || header->payload_size > PAYLOAD_MAX)
		return -EBADMSG;
	bytes_clear(payload);
	at = bytes_add(payload, header->payload_size);
	if (!at)
		return -ENOMEM;
	if (wait_memory_read(pid, header->payload, at, header->payload_size) !=
	    header->payload_size)
		return -EBADMSG;
	if (!read_header(pid, address, &again) ||
	    memcmp(header, &again, sizeof(again)) != 0)
		return -EAGAIN;
	return 0;
}

int process_context_read(pid_t pid, struct process_context *known,
			 struct bytes *payload)
{
	struct header header;
	int err = -EAGAIN;

	if (!known->address || !read_header(pid, known->address, &header))
		*known =
			(struct process_context){ .address = find_header(pid) };
	if (!known->address)
		return -ENOENT;
	for (int i = 0; i < TRIES && err == -EAGAIN; i++) {
		if (!read_header(pid, known->address, &header))
			return -ENOENT;
		if (!header.published_ns)
			continue;
		if (header.published_ns == known->published_ns)
			return -EALREADY;
		err = read_payload(pid, known->address, &header, payload);
	}
	/* A malformed message is not read again until it changes. */
	if (err != -EAGAIN)
		known->published_ns = header.published_ns;
	return err;
}

/* Returns the value of an attribute as text, in @number or in the message. NULL
 * for arrays, bytes and other types. */
static const char *context_text(struct wire value, char number[NUMBER_BYTES],
				size_t *bytes)
{
	const char *text = NULL;
	struct wire_field field;
	double real;

	while (wire_next(&value, &field)) {
		text = number;
		switch (field.tag) {
		case ANY_STRING:
			text = (const char *)field.bytes;
			*bytes = field.value;
			continue;
		case ANY_BOOL:
			snprintf(number, NUMBER_BYTES, "%s",
				 field.value ? "true" : "false");
			break;
		case ANY_INT:
			snprintf(number, NUMBER_BYTES, "%" PRId64,
				 (int64_t)field.value);
			break;
		case ANY_DOUBLE:
			memcpy(&real, &field.value, sizeof(real));
			snprintf(number, NUMBER_BYTES, "%.15g", real);
			break;
		default:
			text = NULL;
		}
		*bytes = text ? strlen(text) : 0;
	}
	return text;
}

static void tell_attribute(struct wire attribute, struct who *who)
{
	struct wire value = { NULL, NULL };
	char number[NUMBER_BYTES];
	const char *key = NULL, *text;
	size_t key_bytes = 0, bytes = 0;
	struct wire_field field;

	while (wire_next(&attribute, &field))
		if (field.tag == KEY_VALUE_KEY) {
			key = (const char *)field.bytes;
			key_bytes = field.value;
		} else if (field.tag == KEY_VALUE_VALUE) {
			value = wire_of(&field);
		}
	text = context_text(value, number, &bytes);
	if (key && text)
		(void)who_set(who, true, key, key_bytes, text, bytes);
}

void process_context_tell(const struct bytes *payload, struct who *who)
{
	struct wire context;
	struct wire_field part, attribute;

	if (!payload->count)
		return;
	context = (struct wire){ payload->at, payload->at + payload->count };
	while (wire_next(&context, &part)) {
		struct wire resource = wire_of(&part);

		if (part.tag != CONTEXT_RESOURCE)
			continue;
		while (wire_next(&resource, &attribute))
			if (attribute.tag == RESOURCE_ATTRIBUTES)
				tell_attribute(wire_of(&attribute), who);
	}
}
