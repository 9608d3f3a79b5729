/* SPDX-License-Identifier: Apache-2.0
 *
 * count_file - what progs/count_preload.c writes and tools/count_names.c
 * reads: a header page, and for each thread a table of functions and one of
 * paths. The file is sparse; only tables and entries that are used take room.
 */
#ifndef PERFREC_TESTS_COUNT_FILE_H
#define PERFREC_TESTS_COUNT_FILE_H

#include <stdint.h>

#define COUNT_MAGIC 0x32746e756f637270ULL /* "prcount2" */
#define COUNT_TABLES 16384
#define COUNT_ENTRIES 16384 /* a power of two */
/* A power of two; a place in it, counted from 1, fits into 16 bits. */
#define COUNT_PATHS 32768
/* The limit of paths: a fuller table would be slow, and there may be millions.
 */
#define COUNT_PATHS_MAX (COUNT_PATHS / 4 * 3)

struct count_header {
	uint64_t magic;
	uint64_t pid;
	uint64_t tables; /* claimed; more than COUNT_TABLES: too many threads */
	uint64_t overflows; /* calls that found no room: the counts are wrong */
	uint8_t padding[4096 - 32];
};

struct count_entry {
	uint64_t key; /* 0: free */
	uint64_t calls;
};

/*
 * A path is a function and the path of its caller: its key has the function's
 * address, and above it where the caller's path lies in the table, counted from
 * 1; 0 if no function was open.
 */
#define COUNT_CALLER_SHIFT 48
#define COUNT_ADDRESS_MASK ((1ULL << COUNT_CALLER_SHIFT) - 1)

struct count_table {
	uint64_t tid;
	uint64_t path_count;
	uint64_t paths_overflow; /* there were more: they are not known */
	uint8_t padding[4096 - 24];
	struct count_entry entries[COUNT_ENTRIES]; /* by address */
	struct count_entry paths[COUNT_PATHS];
};

struct count_file {
	struct count_header header;
	struct count_table tables[COUNT_TABLES];
};

#endif
