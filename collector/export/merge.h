/* SPDX-License-Identifier: Apache-2.0
 *
 * merge - several traces as one for Perfetto (v58): an archive of the unchanged
 * traces and a manifest with their offsets on one timeline.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_MERGE_H
#define PERFREC_COLLECTOR_EXPORT_MERGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/export/archive.h"
#include "collector/read/trace_origin.h"

#define MERGE_MACHINE_BYTES (TRACE_ORIGIN_TEXT + ARCHIVE_NAME_MAX + 32)

struct merge_file {
	/* Set by the caller: */
	const char *name; /* a folder or a trace, as given by the user */
	const char *path;
	int64_t rank; /* of its processes; -1: none or several */
	struct trace_origin origin;
	/* Set by merge_plan(): */
	char member[ARCHIVE_NAME_MAX + 1]; /* name in the archive */
	char machine[MERGE_MACHINE_BYTES]; /* machine name for Perfetto */
	/* Lag of its CLOCK_BOOTTIME behind the reference. */
	uint64_t offset_ns;
};

struct merge {
	struct merge_file *files;
	size_t count;
	size_t reference; /* file whose clock is the timeline */
	size_t boots; /* distinct boots, of all machines */
};

/* Names members and machines and aligns the files. Pure. */
void merge_plan(struct merge *merge);

/* Writes the archive with @manifest. Returns 0, -ENOMEM, or another -errno of
 * reading the file *@which. Errors of @out show in ferror(). Logs nothing. */
int merge_write(const struct merge *merge, const char *manifest, FILE *out,
		size_t *which);

/* Returns the manifest of a planned @merge
 * (perfetto.dev/docs/reference/perfetto-manifest, version 1) for the caller to
 * free, or NULL without memory. */
char *merge_manifest(const struct merge *merge);

#endif
