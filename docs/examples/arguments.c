/* SPDX-License-Identifier: Apache-2.0
 *
 * arguments - values of every type, at the start and at the end of a slice.
 * A value is a bool or an int as in C: true is an int.
 */
#include <math.h>
#include <perfrec.h>
#include <string.h>

static char g_long[64 * 1024 + 1];

static void numbers(void)
{
	bool yes = true;
	unsigned char byte = 255;
	short small = -32768;
	float single = 1.5f;

	PERFREC_SCOPE("numbers", "yes", yes, "byte", byte, "small", small,
		      "int64 min", INT64_MIN, "uint64 max", UINT64_MAX,
		      "single", single, "double", 0.1, "nan", (double)NAN,
		      "infinity", (double)INFINITY, "minus infinity",
		      -(double)INFINITY, "pointer", (void *)0x1234);
}

static void texts(void)
{
	PERFREC_SCOPE("texts", "empty", "", "null", (const char *)NULL,
		      "15 bytes", "123456789012345", "16 bytes",
		      "1234567890123456", "17 bytes", "12345678901234567",
		      "a NUL inside", perfrec_bytes("a\0b", 3), "not UTF-8",
		      "\xff\xfe", "64 KiB", g_long);
}

int main(void)
{
	const struct perfrec_pair pairs[] = {
		{ "key made at run time", PERFREC_VALUE(1) },
		{ "another", PERFREC_VALUE("text") },
	};
	perfrec_span span;

	memset(g_long, 'x', sizeof(g_long) - 1);
	numbers();
	texts();
	span = PERFREC_BEGIN("pairs", "first", 0, PERFREC_PAIRS,
			     perfrec_pairs(pairs, 2));
	PERFREC_END(span, "result", "ok", "bytes", 42u);
	return 0;
}
