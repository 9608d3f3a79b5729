/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/hash.h"

#include "tests/suite.h"

/* Test vectors of FNV's authors. */
TEST(hash_is_fnv_1a_of_64_bits)
{
	ck_assert_uint_eq(hash_text(HASH_START, ""), 0xcbf29ce484222325);
	ck_assert_uint_eq(hash_text(HASH_START, "a"), 0xaf63dc4c8601ec8c);
	ck_assert_uint_eq(hash_text(HASH_START, "foobar"), 0x85944171f73967e8);
	ck_assert_uint_eq(hash_bytes(HASH_START, "a\0", 2), 0x089be207b544f1e4);
}

TEST(hash_of_two_parts_is_that_of_the_whole)
{
	ck_assert_uint_eq(hash_bytes(hash_text(HASH_START, "foo"), "bar", 3),
			  hash_text(HASH_START, "foobar"));
}

TEST(hash_fold_mixes_high_bits_into_low_ones)
{
	ck_assert_uint_eq(hash_fold(0x1234567800000000) & 0xffffffff,
			  0x12345678);
	ck_assert_uint_eq(hash_fold(7), 7);
}

/* A hash that ignores a byte would degrade a table to a list. */
TEST(hash_words_differs_by_each_byte)
{
	char text[29] = "";
	uint64_t before = hash_words(HASH_START, text, sizeof(text));

	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = 1;
		ck_assert_uint_ne(hash_words(HASH_START, text, sizeof(text)),
				  before);
		text[i] = 0;
	}
	ck_assert_uint_ne(hash_words(HASH_START, text, sizeof(text) - 1),
			  before);
	ck_assert_uint_eq(hash_words(HASH_START, "a", 1), 0xaf63dc4c8601ec8c);
}

/* Names of @bytes that end in a number must spread over a table. */
static void check_numbered(int bytes)
{
	static bool used[1 << 16];
	uint32_t places = 0;
	char text[64];

	memset(used, 0, sizeof(used));
	for (int i = 0; i < 4096; i++) {
		uint64_t hash;

		snprintf(text, sizeof(text), "%0*d", bytes, i);
		hash = hash_fold(hash_words(HASH_START, text, (size_t)bytes));
		places += !used[hash % ARRAY_SIZE(used)];
		used[hash % ARRAY_SIZE(used)] = true;
	}
	ck_assert_msg(places > 3500, "%u of names of %d bytes", places, bytes);
}

TEST(hash_words_of_numbered_names_differ_in_low_bits)
{
	for (int bytes = 16; bytes < 40; bytes++)
		check_numbered(bytes);
}
