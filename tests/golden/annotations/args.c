/* SPDX-License-Identifier: Apache-2.0
 *
 * args - arguments of every type, at their limits, at begin, end and instants.
 */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "preload/perfrec.h"

static char g_long[65536];

static void integers(void)
{
	PERFREC_SCOPE("integers", "i8", (signed char)-128, "u8",
		      (unsigned char)255, "i16", (short)-32768, "u16",
		      (unsigned short)65535, "i32", INT_MIN, "u32", UINT_MAX,
		      "i64", (int64_t)INT64_MIN, "u64", (uint64_t)UINT64_MAX,
		      "char", (char)'a', "long", LONG_MAX, "yes", true, "no",
		      (bool)false);
}

static void doubles(void)
{
	PERFREC_SCOPE("doubles", "nan", (double)NAN, "inf", (double)INFINITY,
		      "-inf", -(double)INFINITY, "zero", -0.0, "least", DBL_MIN,
		      "most", DBL_MAX, "float", 0.5f);
}

static void texts(void)
{
	const char *none = NULL;

	PERFREC_SCOPE("texts", "empty", "", "none", none, "15",
		      "123456789012345", "16", "1234567890123456", "17",
		      "12345678901234567", "64k", g_long, "nul",
		      perfrec_bytes("a\0b", 3), "dirty", "a\xff\xc3(", "utf8",
		      "\xc3\xa4\xe2\x82\xac");
}

static void ends(void)
{
	perfrec_span span = PERFREC_BEGIN("ends", "before", 1);

	PERFREC_INSTANT("moment", "pointer", (void *)0x1234, "text", "now");
	PERFREC_END(span, "after", 2, "result", "good");
}

static void named(int number)
{
	char name[32] = "request 0";

	name[8] = (char)('0' + number);
	PERFREC_SCOPE("request", PERFREC_NAME, name, "number", number);
}

int main(void)
{
	memset(g_long, 'x', sizeof(g_long) - 1);
	integers();
	doubles();
	texts();
	ends();
	named(1);
	named(2);
	named(1);
	return 0;
}
