/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/size.h"
#include "tests/suite.h"

#include <errno.h>

TEST(size_format_text_agrees_with_the_number)
{
	static const char form[] = "# {block was|blocks were} {its|their} x";
	char text[64];

	size_format_text(form, "1", text, sizeof(text));
	ck_assert_str_eq(text, "1 block was its x");
	size_format_text(form, "0", text, sizeof(text));
	ck_assert_str_eq(text, "0 blocks were their x");
	size_format_text(form, "1,001", text, sizeof(text));
	ck_assert_str_eq(text, "1,001 blocks were their x");
	size_format_text(form, "12", text, 6);
	ck_assert_str_eq(text, "12 bl");
	size_format_text(form, "12", text, 2);
	ck_assert_str_eq(text, "1");
}

TEST(size_parse_bytes_with_unit_gives_bytes)
{
	uint64_t bytes;

	ck_assert_int_eq(size_parse_bytes("0", &bytes), 0);
	ck_assert_uint_eq(bytes, 0);
	ck_assert_int_eq(size_parse_bytes("4097", &bytes), 0);
	ck_assert_uint_eq(bytes, 4097);
	ck_assert_int_eq(size_parse_bytes("64k", &bytes), 0);
	ck_assert_uint_eq(bytes, 65536);
	ck_assert_int_eq(size_parse_bytes("3M", &bytes), 0);
	ck_assert_uint_eq(bytes, 3u << 20);
	ck_assert_int_eq(size_parse_bytes("5G", &bytes), 0);
	ck_assert_uint_eq(bytes, 5ULL << 30);
	ck_assert_int_eq(size_parse_bytes("16777215T", &bytes), 0);
	ck_assert_uint_eq(bytes, 16777215ULL << 40);
}

TEST(size_parse_bytes_of_nonsense_is_refused)
{
	static const char *const bad[] = { "",	  "M",	  "-1",	  "+1",
					   " 1",  "0x10", "1.5G", "64MB",
					   "1 M", "1MM",  "1Q",	  "64m " };
	uint64_t bytes = 42;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(size_parse_bytes(bad[i], &bytes) == -EINVAL,
			      "'%s' is taken", bad[i]);
	ck_assert_uint_eq(bytes, 42);
}

TEST(size_parse_bytes_beyond_64_bits_is_out_of_range)
{
	uint64_t bytes = 42;

	ck_assert_int_eq(size_parse_bytes("16777216T", &bytes), -ERANGE);
	ck_assert_int_eq(size_parse_bytes("18446744073709551616", &bytes),
			 -ERANGE);
	ck_assert_uint_eq(bytes, 42);
}

TEST(size_parse_count_keeps_to_its_range)
{
	uint64_t count = 42;

	ck_assert_int_eq(size_parse_count("0", 1, 9, &count), -ERANGE);
	ck_assert_int_eq(size_parse_count("10", 1, 9, &count), -ERANGE);
	ck_assert_int_eq(size_parse_count("0x", 0, 9, &count), -EINVAL);
	ck_assert_int_eq(size_parse_count("9M", 0, 9, &count), -EINVAL);
	ck_assert_uint_eq(count, 42);
	ck_assert_int_eq(size_parse_count("9", 1, 9, &count), 0);
	ck_assert_uint_eq(count, 9);
}

TEST(size_parse_ns_wants_a_unit)
{
	static const char *const bad[] = { "",	 "10",	"s",   "1.5s", "-1s",
					   "1S", "1 s", "1us", "1ms ", "1sm" };
	uint64_t ns = 42;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(size_parse_ns(bad[i], &ns) == -EINVAL,
			      "'%s' is taken", bad[i]);
	ck_assert_int_eq(size_parse_ns("18446744073710s", &ns), -ERANGE);
	ck_assert_uint_eq(ns, 42);
	ck_assert_int_eq(size_parse_ns("0ms", &ns), 0);
	ck_assert_uint_eq(ns, 0);
	ck_assert_int_eq(size_parse_ns("500ms", &ns), 0);
	ck_assert_uint_eq(ns, 500000000);
	ck_assert_int_eq(size_parse_ns("10s", &ns), 0);
	ck_assert_uint_eq(ns, 10000000000);
	ck_assert_int_eq(size_parse_ns("5m", &ns), 0);
	ck_assert_uint_eq(ns, 300000000000);
	ck_assert_int_eq(size_parse_ns("24h", &ns), 0);
	ck_assert_uint_eq(ns, 86400000000000);
}

TEST(size_format_bytes_has_three_digits)
{
	char text[SIZE_TEXT];

	ck_assert_str_eq(size_format_bytes(0, text), "0 B");
	ck_assert_str_eq(size_format_bytes(1023, text), "1023 B");
	ck_assert_str_eq(size_format_bytes(1536, text), "1.50 KiB");
	ck_assert_str_eq(size_format_bytes(10234, text), "9.99 KiB");
	ck_assert_str_eq(size_format_bytes(10238, text), "10.0 KiB");
	ck_assert_str_eq(size_format_bytes(123u << 20, text), "123 MiB");
	ck_assert_str_eq(size_format_bytes((1u << 20) - 1, text), "1.00 MiB");
	ck_assert_str_eq(size_format_bytes(UINT64_MAX, text), "16.0 EiB");
}

TEST(size_format_ns_picks_the_unit)
{
	char text[SIZE_TEXT];

	ck_assert_str_eq(size_format_ns(0, text), "0 ns");
	ck_assert_str_eq(size_format_ns(999, text), "999 ns");
	ck_assert_str_eq(size_format_ns(1240, text), "1.24 us");
	ck_assert_str_eq(size_format_ns(999999, text), "1.00 ms");
	ck_assert_str_eq(size_format_ns(15300000, text), "15.3 ms");
	ck_assert_str_eq(size_format_ns(2310000000, text), "2.31 s");
	ck_assert_str_eq(size_format_ns(599400000000, text), "599 s");
	ck_assert_str_eq(size_format_ns(725000000000, text), "12 min 05 s");
	ck_assert_str_eq(size_format_ns(11100000000000, text), "3 h 05 min");
	size_format_ns(UINT64_MAX, text);
}

TEST(size_format_ns_within_does_not_pretend)
{
	char text[SIZE_TEXT];

	ck_assert_str_eq(size_format_ns_within(300, 300, text), "300 ns");
	ck_assert_str_eq(size_format_ns_within(0, 0, text), "0 ns");
	ck_assert_str_eq(size_format_ns_within(0, 286000, text), "< 300 us");
	ck_assert_str_eq(size_format_ns_within(299, 300, text), "< 300 ns");
	ck_assert_str_eq(size_format_ns_within(0, 301, text), "< 400 ns");
	ck_assert_str_eq(size_format_ns_within(0, 950001, text), "< 1 ms");
	ck_assert_str_eq(size_format_ns_within(5, 4000000001, text), "< 5 s");
	ck_assert_str_eq(size_format_ns_within(5, 1000, text), "< 1 us");
	size_format_ns_within(0, UINT64_MAX, text);
}

TEST(size_format_count_groups_by_thousands)
{
	char text[SIZE_TEXT];

	ck_assert_str_eq(size_format_count(0, text), "0");
	ck_assert_str_eq(size_format_count(999, text), "999");
	ck_assert_str_eq(size_format_count(1000, text), "1,000");
	ck_assert_str_eq(size_format_count(1234567, text), "1,234,567");
	ck_assert_str_eq(size_format_count(UINT64_MAX, text),
			 "18,446,744,073,709,551,615");
}
