/* SPDX-License-Identifier: Apache-2.0
 *
 * no_memory - allocations of the whole program fail when a test says so, by g_blocks.
 * For a program in unit/alone. libcheck allocates as well, so a test sets g_blocks back
 * before it asserts. A sanitizer brings its own allocator: there nothing fails.
 */
#ifndef PERFREC_TESTS_UNIT_NO_MEMORY_H
#define PERFREC_TESTS_UNIT_NO_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Allocations before a failure. SIZE_MAX: none fails. */
static size_t g_blocks = SIZE_MAX;
/* Only one allocation fails, not all from there on. */
static bool g_once __attribute__((unused));

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static bool is_refused(void)
{
	if (g_blocks == SIZE_MAX || g_blocks--)
		return false;
	g_blocks = g_once ? SIZE_MAX : 0;
	errno = ENOMEM;
	return true;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size)
{
	return is_refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return is_refused() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
	return is_refused() ? NULL : __libc_realloc(block, size);
}
#endif

#endif
