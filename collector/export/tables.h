/* SPDX-License-Identifier: Apache-2.0
 *
 * tables - a recording as Parquet tables, one file each, for DuckDB,
 * ClickHouse, pandas and similar tools. docs/JSON.md lists all columns. New
 * columns may be added; existing ones never change.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_TABLES_H
#define PERFREC_COLLECTOR_EXPORT_TABLES_H

#include <stdio.h>

#include "collector/read/pprof_read.h"
#include "collector/read/summary_read.h"
#include "collector/show/call_read.h"

enum tables_file {
	TABLE_RECORDINGS,
	TABLE_CALLS,
	TABLE_FUNCTIONS,
	TABLE_SAMPLES,
	TABLE_WAITS,
	TABLE_BLOCKED,
	TABLE_ALLOCATIONS,
	TABLES
};

/* Returns a file name such as "calls.parquet". */
const char *tables_file_name(enum tables_file table);

struct tables_source {
	const char *recording; /* its name, in every row */
	struct call_reader *reader; /* for calls, waits and samples */
	const struct summary *summary;
	const struct pprof *heap, *blocked; /* may be NULL */
};

/* Writes each table to its file of @out. Returns 0, -EIO with errno if a file
 * cannot be written, -ENOMEM, or the error of call_reader_next(), with all rows
 * before it written. */
int tables_write(const struct tables_source *source, FILE *const out[TABLES]);

#endif
