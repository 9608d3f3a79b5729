/* SPDX-License-Identifier: Apache-2.0
 *
 * test_cut_file - packets written into the file of a cut come back in their
 * order, with any number of compressing threads.
 */
#include "collector/cut/cut_file.h"

#include <errno.h>
#include <zlib.h>

#include "collector/base/protobuf.h"
#include "tests/suite.h"

#define PACKETS 40000
#define LARGE_BYTES 700000

static uint32_t g_random;

static uint32_t any(uint32_t below)
{
	g_random = g_random * 1664525u + 1013904223u;
	return (g_random >> 8) % below;
}

/* One of the packets is large. @put receives their plain bytes. */
static void fill(struct cut_file *file, uint32_t packets, struct bytes *put)
{
	static uint8_t fields[LARGE_BYTES];

	g_random = 5;
	for (uint32_t i = 0; i < packets; i++) {
		size_t count = 8 + any(300);

		if (i == PACKETS / 2)
			count = LARGE_BYTES;
		for (size_t j = 8; j < count; j++)
			fields[j] = (uint8_t)any(16);
		fields[0] = 8; /* keeps it from being a bundle */
		memcpy(fields + 1, &i, sizeof(i));
		bytes_field(put, TAG_TRACE_PACKET, count);
		bytes_put(put, fields, count);
		cut_file_packet(file, fields, count);
	}
}

static void unpack(const struct wire_field *zipped, struct bytes *out)
{
	uLongf bytes = 1 << 20;
	uint8_t *at = bytes_add(out, bytes);

	ck_assert_ptr_nonnull(at);
	ck_assert_int_eq(uncompress(at, &bytes, zipped->bytes, zipped->value),
			 Z_OK);
	out->count -= (1 << 20) - bytes;
}

/* Returns the number of bundles. */
static uint32_t read_all(const char *text, size_t bytes, struct bytes *out)
{
	struct wire left = { .at = (const uint8_t *)text,
			     .end = (const uint8_t *)text + bytes };
	struct wire_field packet, field;
	const uint8_t *from = left.at;
	uint32_t bundles = 0;

	for (; wire_next(&left, &packet); from = left.at) {
		struct wire fields = wire_of(&packet);

		if (wire_next(&fields, &field) &&
		    field.tag == TAG_TRACE_PACKET_COMPRESSED_PACKETS) {
			unpack(&field, out);
			bundles++;
		} else {
			bytes_put(out, from, (size_t)(left.at - from));
		}
	}
	ck_assert_ptr_eq(from, left.end);
	return bundles;
}

static uint32_t check(uint32_t packets, bool compress)
{
	struct bytes put = { 0 }, got = { 0 };
	struct cut_file file;
	uint32_t bundles;
	size_t bytes;
	char *text;
	FILE *out = open_memstream(&text, &bytes);

	ck_assert_int_eq(cut_file_begin(&file, out, compress), 0);
	fill(&file, packets, &put);
	ck_assert_int_eq(cut_file_end(&file), 0);
	fclose(out);
	ck_assert_uint_eq(file.bytes, bytes);
	bundles = read_all(text, bytes, &got);
	ck_assert_uint_eq(got.count, put.count);
	ck_assert_mem_eq(got.at, put.at, put.count);
	bytes_release(&got);
	bytes_release(&put);
	free(text);
	return bundles;
}

TEST(file_has_what_was_put, SLOW)
{
	ck_assert_uint_eq(check(PACKETS, false), 0);
	ck_assert_uint_gt(check(PACKETS, true), 10);
	ck_assert_uint_eq(check(100, true), 1);
	ck_assert_uint_eq(check(1, true), 1);
}

TEST(file_on_a_full_disk_says_so, SLOW)
{
	struct bytes put = { 0 };
	struct cut_file file;
	FILE *out = fopen("/dev/full", "w");

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(cut_file_begin(&file, out, true), 0);
	fill(&file, PACKETS, &put);
	ck_assert_int_eq(cut_file_end(&file), -ENOSPC);
	fclose(out);
	bytes_release(&put);
}
