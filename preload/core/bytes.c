/* SPDX-License-Identifier: Apache-2.0
 *
 * bytes - the functions of <string.h> that the shim calls, or that compilers
 * insert for assignments and loops. Hidden, so that neither the program's nor
 * the C library's are called. The Makefile keeps compilers from turning
 * memcpy() into a call of itself.
 */
#pragma GCC visibility push(hidden)
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* A word of an object of any type, at any alignment. */
struct word {
	uint64_t value;
} __attribute__((packed, may_alias));

#define WORD sizeof(struct word)

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	const char *source = from;
	char *target = to;

	for (; bytes >= WORD; bytes -= WORD, target += WORD, source += WORD)
		*(struct word *)target = *(const struct word *)source;
	while (bytes--)
		*target++ = *source++;
	return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	const char *source = from;
	char *target = to;

	if (target <= source || target >= source + bytes)
		while (bytes--)
			*target++ = *source++;
	else
		while (bytes--)
			target[bytes] = source[bytes];
	return to;
}

void *memset(void *at, int value, size_t bytes)
{
	const uint64_t pattern = (unsigned char)value * 0x0101010101010101ULL;
	char *target = at;

	for (; bytes >= WORD; bytes -= WORD, target += WORD)
		((struct word *)target)->value = pattern;
	while (bytes--)
		*target++ = (char)value;
	return at;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const unsigned char *x = a, *y = b;

	for (; bytes--; x++, y++)
		if (*x != *y)
			return *x < *y ? -1 : 1;
	return 0;
}

int bcmp(const void *a, const void *b, size_t bytes)
{
	return memcmp(a, b, bytes);
}

size_t strnlen(const char *text, size_t most)
{
	size_t length = 0;

	while (length < most && text[length])
		length++;
	return length;
}

size_t strlen(const char *text)
{
	return strnlen(text, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t most)
{
	for (; most; most--, a++, b++)
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}
