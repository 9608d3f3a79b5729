/* SPDX-License-Identifier: Apache-2.0
 *
 * count_file - what progs/count_preload.c writes and tools/count_names.c
 * reads: a header page and one table of functions for each thread. The file
 * is sparse; only tables and entries that are used take room.
 */
#ifndef PERFREC_TESTS_COUNT_FILE_H
#define PERFREC_TESTS_COUNT_FILE_H

#include <stdint.h>

#define COUNT_MAGIC 0x31746e756f637270ULL /* "prcount1" */
#define COUNT_TABLES 16384
#define COUNT_ENTRIES 16384 /* a power of two */

struct count_header {
	uint64_t magic;
	uint64_t pid;
	uint64_t tables; /* claimed; more than COUNT_TABLES: too many threads */
	uint64_t overflows; /* calls that found no room: the counts are wrong */
	uint8_t padding[4096 - 32];
};

struct count_entry {
	uint64_t address; /* 0: free */
	uint64_t calls;
};

struct count_table {
	uint64_t tid;
	uint8_t padding[4096 - 8];
	struct count_entry entries[COUNT_ENTRIES];
};

struct count_file {
	struct count_header header;
	struct count_table tables[COUNT_TABLES];
};

#endif
