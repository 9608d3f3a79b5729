/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8: valid characters, and replacements of invalid bytes.
 */
#include "collector/base/utf8.h"

#include "tests/suite.h"

#define LENGTH(text) utf8_length(text, sizeof(text) - 1)

TEST(utf8_length_counts_the_bytes_of_a_character)
{
	ck_assert_uint_eq(LENGTH("a"), 1);
	ck_assert_uint_eq(utf8_length("", 1), 1);
	ck_assert_uint_eq(LENGTH("\xc2\x80"), 2);
	ck_assert_uint_eq(LENGTH("\xdf\xbf"), 2);
	ck_assert_uint_eq(LENGTH("\xe0\xa0\x80"), 3);
	ck_assert_uint_eq(LENGTH("\xed\x9f\xbf"), 3);
	ck_assert_uint_eq(LENGTH("\xee\x80\x80"), 3);
	ck_assert_uint_eq(LENGTH("\xf0\x90\x80\x80"), 4);
	ck_assert_uint_eq(LENGTH("\xf4\x8f\xbf\xbf"), 4);
}

TEST(utf8_length_of_what_is_no_character_is_0)
{
	static const char *const bad[] = {
		"\x80", /* continuation byte */
		"\xbf",
		"\xc0\x80", /* overlong */
		"\xc1\xbf",
		"\xe0\x9f\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xed\xa0\x80", /* surrogates */
		"\xed\xbf\xbf",
		"\xf4\x90\x80\x80", /* above U+10FFFF */
		"\xf5\x80\x80\x80",
		"\xff",
		"\xc3(", /* truncated */
		"\xe2\x82(",
		"\xf0\x9f\x98(",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(utf8_length(bad[i], strlen(bad[i])) == 0,
			      "text %zu", i);
}

/* The bytes behind @left would complete the character. */
TEST(utf8_length_reads_no_more_than_is_left)
{
	for (size_t left = 1; left < 4; left++)
		ck_assert_uint_eq(utf8_length("\xf0\x9f\x98\x80", left), 0);
	ck_assert_uint_eq(utf8_length("\xe2\x82\xac", 2), 0);
	ck_assert_uint_eq(utf8_length("\xc3\xa4", 1), 0);
}

TEST(utf8_valid_bytes_end_in_front_of_the_first_bad_one)
{
	ck_assert_uint_eq(utf8_valid_bytes("", 0), 0);
	ck_assert_uint_eq(utf8_valid_bytes("a\xc3\xa4", 3), 3);
	ck_assert_uint_eq(utf8_valid_bytes("a\xc3\xa4", 2), 1);
	ck_assert_uint_eq(utf8_valid_bytes("a\xff\xc3\xa4", 4), 1);
}

TEST(utf8_copy_replaces_only_bytes_of_no_character)
{
	char to[16] = "";

	ck_assert_uint_eq(utf8_copy(to, "a\xff\xc3\xa4\xe2\x82", 6), 3);
	ck_assert_str_eq(to, "a?\xc3\xa4??");
	memset(to, 0, sizeof(to));
	ck_assert_uint_eq(utf8_copy(to, "\xe2\x82\xac\0b", 5), 0);
	ck_assert_mem_eq(to, "\xe2\x82\xac\0b", 6);
}

TEST(utf8_copy_onto_itself_repairs_in_place)
{
	char text[] = "x\xf0\x9f\x98\x80\x80";

	ck_assert_uint_eq(utf8_copy(text, text, strlen(text)), 1);
	ck_assert_str_eq(text, "x\xf0\x9f\x98\x80?");
}

TEST(utf8_plain_bytes_end_in_front_of_a_word_with_any_other_byte)
{
	char text[33];

	for (int byte = 0; byte < 256; byte++)
		for (size_t at = 0; at < 32; at++) {
			bool plain = byte >= ' ' && byte < 0x7f;

			memset(text, 'a', sizeof(text));
			text[at] = (char)byte;
			ck_assert_uint_eq(utf8_plain_bytes(text, 32),
					  plain ? 32 : at / 8 * 8);
		}
	ck_assert_uint_eq(utf8_plain_bytes("abcdefghij", 10), 8);
	ck_assert_uint_eq(utf8_plain_bytes("abcdefg", 7), 0);
}
