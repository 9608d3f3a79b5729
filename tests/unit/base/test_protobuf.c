/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/base/bytes.h"
#include "collector/base/protobuf.h"
#include "collector/base/search.h"
#include "tests/suite.h"

#define TAG_NUMBER (1 << 3)
#define TAG_FIXED64 (2 << 3 | 1)
#define TAG_BYTES (300 << 3 | 2) /* of two bytes */
#define TAG_FIXED32 (4 << 3 | 5)

TEST(protobuf_numbers_survive_and_end_at_the_end)
{
	uint8_t bytes[VARINT_BYTES_MAX];
	uint64_t value;

	for (unsigned int bit = 0; bit < 64; bit++)
		for (uint64_t less = 0; less < 2; less++) {
			uint64_t number = (UINT64_C(1) << bit) - less;
			const uint8_t *end = varint_put(bytes, number), *cut;

			ck_assert_ptr_eq(varint_get(bytes, end, &value), end);
			ck_assert_uint_eq(value, number);
			for (cut = bytes; cut < end; cut++)
				ck_assert_ptr_null(
					varint_get(bytes, cut, &value));
		}
}

TEST(protobuf_rejects_numbers_of_more_than_64_bits)
{
	uint8_t bytes[11];
	uint64_t value;

	memset(bytes, 0xff, sizeof(bytes));
	bytes[9] = 1;
	ck_assert_ptr_eq(varint_get(bytes, bytes + 11, &value), bytes + 10);
	ck_assert_uint_eq(value, UINT64_MAX);
	bytes[9] = 2;
	ck_assert_ptr_null(varint_get(bytes, bytes + 11, &value));
	bytes[9] = 0x81;
	bytes[10] = 0;
	ck_assert_ptr_null(varint_get(bytes, bytes + 11, &value));
}

static void expect(struct wire *wire, uint32_t tag, uint64_t value,
		   const char *text)
{
	struct wire_field field;

	ck_assert(wire_next(wire, &field));
	ck_assert_uint_eq(field.tag, tag);
	ck_assert_uint_eq(field.value, value);
	ck_assert_int_eq(!field.bytes, !text);
	if (text)
		ck_assert_mem_eq(field.bytes, text, value);
}

/* A message without its last bytes has one field less, at most. */
TEST(protobuf_reads_the_fields_that_it_writes)
{
	static const uint8_t fixed32[] = { TAG_FIXED32, 1, 2, 0, 0 };
	struct bytes out = { 0 };
	struct wire_field field;
	struct wire wire;
	uint8_t put[32];

	bytes_field(&out, TAG_NUMBER, UINT64_MAX);
	bytes_fixed64(&out, TAG_FIXED64, 5);
	bytes_part(&out, TAG_BYTES, "abc", 3);
	bytes_put(&out, fixed32, sizeof(fixed32));
	ck_assert_ptr_eq(wire_put_bytes(put, TAG_BYTES, "abc", 3), put + 6);
	ck_assert_mem_eq(put, out.at + 20, 6);
	ck_assert_uint_eq(bytes_field_size(TAG_BYTES, 3), 3);

	wire = (struct wire){ out.at, out.at + out.count };
	expect(&wire, TAG_NUMBER, UINT64_MAX, NULL);
	expect(&wire, TAG_FIXED64, 5, NULL);
	expect(&wire, TAG_BYTES, 3, "abc");
	expect(&wire, TAG_FIXED32, 513, NULL);
	ck_assert(!wire_next(&wire, &field));
	for (size_t count = 0; count < out.count; count++) {
		int fields = 0;

		wire = (struct wire){ out.at, out.at + count };
		while (wire_next(&wire, &field))
			fields++;
		ck_assert_int_eq(fields,
				 (count >= 11) + (count >= 20) + (count >= 26));
	}
	bytes_release(&out);
}

TEST(protobuf_ends_at_what_is_no_field)
{
	/* A group, and a tag of more than 32 bits. */
	static const uint8_t group[] = { 1 << 3 | 3, 1, 1 };
	static const uint8_t large[] = { 0x88, 0x80, 0x80, 0x80, 0x10, 1 };
	struct wire wire = { group, group + sizeof(group) };
	struct wire_field field = { .value = 7 };

	ck_assert(!wire_next(&wire, &field));
	wire = (struct wire){ large, large + sizeof(large) };
	ck_assert(!wire_next(&wire, &field));
	/* A number is no message. */
	wire = wire_of(&field);
	ck_assert(!wire_next(&wire, &field));
}

TEST(search_finds_the_first_of_equal_items)
{
	static const int items[] = { 1, 3, 3, 3, 7, 9, 9 };

	for (uint32_t count = 0; count <= 7; count++)
		for (int wanted = 0; wanted < 11; wanted++) {
			uint32_t first = 0;

			while (first < count && items[first] < wanted)
				first++;
			ck_assert_uint_eq(
				search_first(i, count, items[i] >= wanted),
				first);
		}
}
