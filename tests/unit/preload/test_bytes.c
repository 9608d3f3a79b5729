/* SPDX-License-Identifier: Apache-2.0
 *
 * The shim's memcpy() and its relatives, compared with those of the C library.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h> /* suite.h needs it: bytes.c hides later declarations */

#define memcpy own_memcpy
#define memmove own_memmove
#define memset own_memset
#define memcmp own_memcmp
#define bcmp own_bcmp
#define strlen own_strlen
#define strnlen own_strnlen
#define strcmp own_strcmp
#define strncmp own_strncmp
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *at, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
int bcmp(const void *a, const void *b, size_t bytes);
size_t strlen(const char *text);
size_t strnlen(const char *text, size_t most);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t most);
#include "preload/core/bytes.c"
#include "tests/suite.h"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef bcmp
#undef strlen
#undef strnlen
#undef strcmp
#undef strncmp

#define SIZE 64

static void fill(unsigned char bytes[SIZE])
{
	int i;

	for (i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(i * 7 + 1);
}

/* Tries all lengths and alignments; the bytes around must not change. */
TEST(bytes_move_set_and_copy_as_libc_does)
{
	unsigned char own[SIZE], libc[SIZE];
	size_t from, to, bytes;

	for (from = 0; from < 12; from++)
		for (to = 0; to < 12; to++)
			for (bytes = 0; bytes < 40; bytes++) {
				fill(own);
				fill(libc);
				ck_assert_ptr_eq(own_memmove(own + to,
							     own + from, bytes),
						 own + to);
				memmove(libc + to, libc + from, bytes);
				ck_assert_mem_eq(own, libc, SIZE);
				own_memset(own + to, 0x1a5, bytes);
				memset(libc + to, 0xa5, bytes);
				ck_assert_mem_eq(own, libc, SIZE);
				fill(libc);
				own_memcpy(own + to, libc + from, bytes);
				ck_assert_mem_eq(own + to, libc + from, bytes);
			}
}

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

TEST(bytes_compare_as_libc_does)
{
	static const char *const texts[] = { "",      "a",	"b",
					     "ab",    "ab\xff", "abc",
					     "abcde", "\x80",	"abcdefghij" };
	size_t i, j, most;

	for (i = 0; i < 9; i++)
		for (j = 0; j < 9; j++) {
			const char *a = texts[i], *b = texts[j];

			ck_assert_int_eq(sign(own_strcmp(a, b)),
					 sign(strcmp(a, b)));
			for (most = 0; most < 12; most++)
				ck_assert_int_eq(sign(own_strncmp(a, b, most)),
						 sign(strncmp(a, b, most)));
			most = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
			ck_assert_int_eq(sign(own_memcmp(a, b, most)),
					 sign(memcmp(a, b, most)));
			ck_assert_int_eq(!own_bcmp(a, b, most),
					 !memcmp(a, b, most));
		}
}

TEST(bytes_lengths_end_at_zero_or_the_most)
{
	ck_assert_uint_eq(own_strlen(""), 0);
	ck_assert_uint_eq(own_strlen("abc\0def"), 3);
	ck_assert_uint_eq(own_strnlen("abc", 2), 2);
	ck_assert_uint_eq(own_strnlen("abc", 9), 3);
}
