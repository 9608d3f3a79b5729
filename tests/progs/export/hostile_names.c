/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices whose names are hostile to what shows them, each once; and a function
 * that calls itself: 177 calls of fib().
 */
#include <perfrec.h>
#include <string.h>

/* Separate lines: a site has one name. */
static void name_all(void)
{
	static char name[4097];

	memset(name, 'x', sizeof(name) - 1);
	memcpy(name, "long:", 5);
	{
		PERFREC_SCOPE("</script><b>&amp;");
	}
	{
		PERFREC_SCOPE("a;b \"q\" 'p' \\");
	}
	{
		PERFREC_SCOPE("line\nend\r\ttab");
	}
	{
		PERFREC_SCOPE("=cmd|' /C calc'!A0");
	}
	{
		PERFREC_SCOPE("@sum(1,2)");
	}
	{
		PERFREC_SCOPE("\033[31mred\007");
	}
	{
		PERFREC_SCOPE("right\xe2\x80\xae"
			      "left");
	}
	{
		PERFREC_SCOPE("bad\xff\xfeutf");
	}
	{
		PERFREC_SCOPE("]]>");
	}
	{
		PERFREC_SCOPE("(1) x");
	}
	{
		PERFREC_SCOPE("dynamic", PERFREC_NAME, name);
	}
	{
		PERFREC_SCOPE("arguments", "text", "</script>\n\"\xff",
			      "number", -7, "real", 2.5);
	}
	PERFREC_INSTANT("</script>;instant");
}

__attribute__((noinline)) int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(void)
{
	volatile int sum = fib(10);

	name_all();
	return sum == 0;
}
