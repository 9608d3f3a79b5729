/* SPDX-License-Identifier: Apache-2.0
 *
 * table - a growing hash table from uint64_t to uint64_t, and one of strings
 * to small numbers. Out of memory ends the program: these are tests' tools.
 */
#ifndef PERFREC_TESTS_TABLE_H
#define PERFREC_TESTS_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table {
	struct table_entry {
		uint64_t key, value;
		int used;
	} * entries;
	size_t room, count;
};

/* The value of @key, 0 when it is new; valid until the next call. */
uint64_t *table_at(struct table *table, uint64_t key);
/* The same; NULL when it is not there. */
const uint64_t *table_find(const struct table *table, uint64_t key);
void table_release(struct table *table);

struct strings {
	char **texts; /* by number */
	size_t *lengths;
	uint32_t count, room;
	uint32_t *slots; /* number + 1, 0: free */
	size_t slot_room;
};

/* The number of this text, the same for the same text; from 0 upwards. */
uint32_t strings_add(struct strings *strings, const void *text, size_t length);
void strings_release(struct strings *strings);

/* realloc to @count elements of @size bytes, or the end of the program. */
void *table_grow(void *memory, size_t count, size_t size);

#endif
