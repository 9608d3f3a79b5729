/* SPDX-License-Identifier: Apache-2.0
 *
 * Without memory, trace_index_open() must not free tracks that it did not make.
 * Remaking the index of a recording with --keep last crashed.
 */
#include "collector/trace/trace_index.h"

#include <errno.h>
#include <fcntl.h>

#include "tests/suite.h"

/* A sanitizer brings its own allocator. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static bool g_fail;

void *__libc_calloc(size_t count, size_t size);

void *calloc(size_t count, size_t size)
{
	if (!g_fail)
		return __libc_calloc(count, size);
	errno = ENOMEM;
	return NULL;
}

TEST(index_without_memory_is_not_opened, UNLESS(HAS_ASAN || HAS_TSAN))
{
	struct trace_index_to to;

	memset(&to, 0x5a, sizeof(to));
	g_fail = true;
	ck_assert_int_eq(trace_index_open(AT_FDCWD, "/nowhere", &to), -ENOMEM);
	g_fail = false;
	ck_assert_int_eq(trace_index_close(&to, false), 0);
}
#endif

/* The tracks were made, so close frees them. */
TEST(index_without_a_folder_is_not_opened)
{
	struct trace_index_to to;

	memset(&to, 0x5a, sizeof(to));
	ck_assert_int_lt(trace_index_open(AT_FDCWD, "/nowhere/index", &to), 0);
	ck_assert_int_eq(trace_index_close(&to, false), 0);
}
