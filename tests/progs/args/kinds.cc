/* SPDX-License-Identifier: Apache-2.0
 *
 * kinds - functions with arguments of every kind that perfrec record --args
 * reads, each called with values that the test knows.
 */
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

#define CALLED __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" : : : "memory")
/* The compiler must store what @text points to before the call. */
#define KEEP_TEXT(text) __asm__ volatile("" : : "r"(text) : "memory")

enum color { RED, GREEN = 5, NEGATIVE = -3 };
enum class mode : unsigned char { OFF, ON };
struct point {
	int x, y;
};
struct large {
	long words[8];
};

extern "C" {
CALLED long ints(int a, unsigned b, long c, unsigned char d, short e)
{
	KEEP;
	return a + (long)b + c + d + e;
}
CALLED bool truth(bool yes)
{
	KEEP;
	return !yes;
}
CALLED color colors(color one, mode two)
{
	KEEP;
	return two == mode::ON ? NEGATIVE : one;
}
CALLED float halves(float f, int i, double d)
{
	KEEP;
	return f * (float)d + (float)i;
}
CALLED const int *pointers(void *p, const int *q)
{
	KEEP;
	return p ? NULL : q;
}
CALLED const char *texts(const char *name, int n)
{
	KEEP_TEXT(name);
	return n ? name : NULL;
}
CALLED long many(int a, int b, int c, int d, int e, int f, int g, long h, double x)
{
	KEEP;
	return a + b + c + d + e + f + g + h + (long)x;
}
CALLED long eight(double a, double b, double c, double d, double e, double f,
		  double g, double h, double i)
{
	KEEP;
	return (long)(a + b + c + d + e + f + g + h + i);
}
CALLED int record(point p, int behind)
{
	KEEP;
	return p.x + p.y + behind;
}
CALLED int words(large p, int behind)
{
	KEEP;
	return (int)p.words[7] + behind;
}
CALLED long double wide(long double x, int behind)
{
	KEEP;
	return x + behind;
}
CALLED void nothing(void)
{
	static volatile int calls;

	calls = calls + 1;
}
}

struct reader {
	int value = 4;
	CALLED unsigned long page(unsigned long size)
	{
		KEEP;
		return size + (unsigned long)value;
	}
};

CALLED size_t by_reference(const std::string &text)
{
	KEEP_TEXT(text.data());
	return text.size();
}
CALLED size_t by_value(std::string text)
{
	KEEP_TEXT(text.data());
	return text.size();
}
CALLED std::string result(int n)
{
	return std::string((size_t)n, 'r');
}
CALLED std::string_view view(std::string_view text, int from)
{
	KEEP_TEXT(text.data());
	return text.substr((size_t)from);
}
CALLED int unnamed(int, int, int last)
{
	KEEP;
	return last + 100000;
}
template <class... A> CALLED int pack(A... some, int last)
{
	KEEP;
	return (int)(some + ... + last);
}

int main()
{
	static const int number = 3;
	reader here;
	large many_words = {};
	long size = sysconf(_SC_PAGESIZE);
	char *pages = (char *)mmap(NULL, 2 * (size_t)size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = pages + size - 4;
	char seventy[71] = "";

	memset(seventy, '7', 70);
	munmap(pages + size, (size_t)size);
	ints(-7, 4000000000u, -1234567890123, 200, -2);
	ints(0x7fffffff, 1, 2, 3, 4);
	truth(true);
	truth(false);
	colors(RED, mode::OFF);
	colors((color)77, mode::ON);
	halves(1.5f, -10, -2.25);
	pointers((void *)0x1234, NULL);
	pointers(NULL, &number);
	texts("plain", 1);
	texts(NULL, 2);
	texts((char *)0x10, 3);
	texts((char *)0xdead000000000000, 4);
	texts(seventy, 5);
	texts("", 6);
	texts("a\x1b[31mred\n\xff\"quote", 7);
	memcpy(end, "abc", 4);
	texts(end, 8); /* ends with the page */
	memcpy(end, "abcd", 4);
	texts(end, 9); /* goes on in a page that is not there */
	many(1, 2, 3, 4, 5, 6, -7, 8, 9.5);
	eight(1, 2, 3, 4, 5, 6, 7, 8, -9.5);
	record(point{ 1, 2 }, 9);
	words(many_words, 8);
	wide(1.0L, 7);
	nothing();
	here.page(8192);
	by_reference("short");
	by_reference("a text that is longer than the room inside of its object");
	by_value("by value");
	result(20);
	result(70);
	view("a view", 2);
	view({}, 0);
	unnamed(1, 2, 3);
	pack<int, double>(-1, 2.5, 3);
	puts("done");
	return 0;
}
