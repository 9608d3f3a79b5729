/* SPDX-License-Identifier: Apache-2.0
 *
 * wrap_preload - a library of wrappers around malloc(), like heap checkers. It
 * follows perfrec's shim in LD_PRELOAD and puts 16 bytes in front of each
 * block, so freeing one with another allocator crashes. No locks.
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MARK 0x5a17c0de5a17c0deULL

void *__libc_malloc(size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void __libc_free(void *block);

struct head {
	uint64_t mark, bytes;
};

void *malloc(size_t bytes)
{
	struct head *head;

	if (bytes > SIZE_MAX - sizeof(*head)) {
		errno = ENOMEM;
		return NULL;
	}
	head = __libc_malloc(sizeof(*head) + bytes);
	if (!head)
		return NULL;
	*head = (struct head){ MARK, bytes };
	return head + 1;
}

/* NULL: allocated by memalign() and the like, which have no wrapper. At least
 * the allocator's head precedes each block. */
static struct head *head_of(void *block)
{
	struct head *head = (struct head *)block - 1;

	return head->mark == MARK ? head : NULL;
}

void free(void *block)
{
	struct head *head = block ? head_of(block) : NULL;

	if (!head) {
		__libc_free(block);
		return;
	}
	head->mark = 0;
	__libc_free(head);
}

size_t malloc_usable_size(void *block)
{
	struct head *head = block ? head_of(block) : NULL;

	return head ? head->bytes : 0;
}

void *calloc(size_t count, size_t bytes)
{
	void *block;

	if (bytes && count > SIZE_MAX / bytes) {
		errno = ENOMEM;
		return NULL;
	}
	block = malloc(count * bytes);
	return block ? memset(block, 0, count * bytes) : NULL;
}

void *realloc(void *block, size_t bytes)
{
	struct head *head = block ? head_of(block) : NULL;
	void *fresh;

	if (block && !head)
		return __libc_realloc(block, bytes);
	fresh = malloc(bytes);
	if (!head || !fresh)
		return fresh;
	memcpy(fresh, block, head->bytes < bytes ? head->bytes : bytes);
	free(block);
	return fresh;
}
