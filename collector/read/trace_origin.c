/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/trace_origin.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "collector/base/utf8.h"
#include "collector/read/sequence_start.h"
#include "collector/read/trace_packets.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* perfrec writes both packets first; other writers need some more. */
#define PACKETS_MAX 1000
/* Sums and differences of times up to this do not overflow. */
#define NS_MAX ((uint64_t)INT64_MAX / 2)

/* The first snapshot with both clocks counts, as in Perfetto. */
static void take_snapshot(struct wire snapshot, struct trace_origin *out)
{
	uint64_t boottime = 0, realtime = 0;
	struct snapshot_clock clock;

	while (snapshot_clock_next(&snapshot, &clock))
		if (clock.id == CLOCK_BOOTTIME_ID)
			boottime = clock.ns;
		else if (clock.id == CLOCK_REALTIME_ID)
			realtime = clock.ns;
	if (!boottime || !realtime || boottime > NS_MAX || realtime > NS_MAX)
		return;
	out->boottime_ns = boottime;
	out->realtime_ns = realtime;
}

static void copy_origin_text(const struct wire_field *from,
			     char to[TRACE_ORIGIN_TEXT])
{
	size_t count = MIN(from->value, (uint64_t)TRACE_ORIGIN_TEXT - 1);
	const char *text = (const char *)from->bytes;

	count = utf8_valid_bytes(text, strnlen(text, count));
	memcpy(to, text, count);
	to[count] = '\0';
}

static bool has_key(const struct wire_field *key, const char *name)
{
	return key->bytes && key->value == strlen(name) &&
	       !memcmp(key->bytes, name, key->value);
}

static void read_origin_attributes(struct wire attributes,
				   struct trace_origin *out)
{
	struct wire_field field;

	while (wire_next(&attributes, &field)) {
		struct wire attribute = wire_of(&field);
		struct wire_field key = { 0 }, text = { 0 };

		if (field.tag != TAG_TRACE_ATTRIBUTES_ATTRIBUTE)
			continue;
		while (wire_next(&attribute, &field))
			if (field.tag == TAG_TRACE_ATTRIBUTES_ATTRIBUTE_KEY)
				key = field;
			else if (field.tag ==
				 TAG_TRACE_ATTRIBUTES_ATTRIBUTE_STRING_VALUE)
				text = field;
		if (text.bytes && has_key(&key, "perfrec.host"))
			copy_origin_text(&text, out->host);
		else if (text.bytes && has_key(&key, "perfrec.boot"))
			copy_origin_text(&text, out->boot);
	}
}

/* Returns true if the packets up to @packet have everything. */
static bool read_origin_packet(struct wire packet, struct trace_origin *out)
{
	struct wire_field field;

	while (wire_next(&packet, &field))
		if (field.tag == TAG_TRACE_PACKET_CLOCK_SNAPSHOT &&
		    !out->boottime_ns)
			take_snapshot(wire_of(&field), out);
		else if (field.tag == TAG_TRACE_PACKET_TRACE_ATTRIBUTES)
			read_origin_attributes(wire_of(&field), out);
	return out->boottime_ns && out->boot[0];
}

int trace_origin_read(const char *path, struct trace_origin *out)
{
	struct trace_packets *packets;
	struct trace_packet_bytes bytes;
	int err = trace_packets_open(path, &packets), got = 0;

	*out = (struct trace_origin){ 0 };
	if (err)
		return err;
	for (int i = 0; i < PACKETS_MAX; i++) {
		struct wire fields;

		got = trace_packets_next(packets, &bytes);
		if (got <= 0)
			break;
		fields = (struct wire){ bytes.at, bytes.at + bytes.count };
		if (read_origin_packet(fields, out))
			break;
	}
	trace_packets_close(&packets);
	if (out->boottime_ns)
		return 0;
	return got < 0 ? got : -ENODATA;
}
