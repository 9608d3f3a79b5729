/* SPDX-License-Identifier: Apache-2.0
 *
 * merge - the timeline of several traces.
 *
 * Traces of one boot share CLOCK_BOOTTIME and are aligned exactly. Boots are
 * aligned by CLOCK_REALTIME: the first trace of each boot has its offset from
 * CLOCK_BOOTTIME. The reference is the earliest boot, because Perfetto drops
 * events before time zero.
 *
 * Each trace is a separate machine for Perfetto, even on the same host.
 * Perfetto aligns only the first trace of a machine by the manifest, and others
 * by CLOCK_REALTIME. Besides, containers on one host may have equal process
 * ids.
 */
#include "collector/export/merge.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/output/kept_trace.h"
#include "shared/compiler.h"

#define MANIFEST_NAME "perfetto_manifest.json"
#define SUFFIX ".pftrace"
#define STEM_MAX 80

/* --- names --------------------------------------------------------------- */

/* Makes a member name from the last component of @name. Perfetto ignores
 * members that begin with a dot. */
static void make_stem(const char *name, char stem[STEM_MAX + 1])
{
	size_t length = strlen(name), from, count = 0;

	while (length > 1 && name[length - 1] == '/')
		length--;
	for (from = length; from && name[from - 1] != '/';)
		from--;
	if (length - from > strlen(SUFFIX) &&
	    !memcmp(name + length - strlen(SUFFIX), SUFFIX, strlen(SUFFIX)))
		length -= strlen(SUFFIX);
	while (from < length && name[from] == '.')
		from++;
	for (; from < length && count < STEM_MAX; from++) {
		unsigned char c = (unsigned char)name[from];

		stem[count++] = isalnum(c) || strchr("._-+", c) ? (char)c : '_';
	}
	stem[count] = '\0';
	if (!count)
		strcpy(stem, "trace");
}

static bool has_member(const struct merge *merge, size_t count,
		       const char *member)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(merge->files[i].member, member))
			return true;
	return false;
}

/* The name of a machine is its host. Equal names get the rank, and if necessary
 * the name of the trace, which is unique. Without a host it has the name of the
 * trace. */
enum detail { DETAIL_HOST, DETAIL_RANK, DETAIL_TRACE };

static void name_machine(struct merge_file *file, enum detail detail)
{
	int stem = (int)(strlen(file->member) - strlen(SUFFIX));
	const char *host = file->origin.host;
	char rank[32] = "";

	if (file->rank >= 0 && detail >= DETAIL_RANK)
		snprintf(rank, sizeof(rank), " rank %" PRId64, file->rank);
	if (!host[0])
		snprintf(file->machine, sizeof(file->machine), "%.*s", stem,
			 file->member);
	else if (detail < DETAIL_TRACE)
		snprintf(file->machine, sizeof(file->machine), "%s%s", host,
			 rank);
	else
		snprintf(file->machine, sizeof(file->machine), "%s%s %.*s",
			 host, rank, stem, file->member);
}

static bool name_all(struct merge *merge, enum detail detail)
{
	bool differ = true;

	for (size_t i = 0; i < merge->count; i++) {
		name_machine(&merge->files[i], detail);
		for (size_t k = 0; k < i && differ; k++)
			differ = strcmp(merge->files[i].machine,
					merge->files[k].machine) != 0;
	}
	return differ;
}

/* --- clocks -------------------------------------------------------------- */

static size_t first_of_boot(const struct merge *merge, size_t i)
{
	const char *boot = merge->files[i].origin.boot;

	for (size_t k = 0; boot[0] && k < i; k++)
		if (!strcmp(merge->files[k].origin.boot, boot))
			return k;
	return i;
}

static int64_t booted_ns(const struct merge_file *file)
{
	return (int64_t)file->origin.realtime_ns -
	       (int64_t)file->origin.boottime_ns;
}

void merge_plan(struct merge *merge)
{
	enum detail detail = DETAIL_HOST;
	int64_t first;

	for (size_t i = 0; i < merge->count; i++) {
		char *member = merge->files[i].member, stem[STEM_MAX + 1];

		make_stem(merge->files[i].name, stem);
		snprintf(member, ARCHIVE_NAME_MAX + 1, "%s" SUFFIX, stem);
		for (int n = 2; has_member(merge, i, member); n++)
			snprintf(member, ARCHIVE_NAME_MAX + 1, "%s-%d" SUFFIX,
				 stem, n);
	}
	while (!name_all(merge, detail) && detail < DETAIL_TRACE)
		detail++;
	merge->reference = merge->boots = 0;
	for (size_t i = 0; i < merge->count; i++) {
		if (first_of_boot(merge, i) != i)
			continue;
		merge->boots++;
		if (booted_ns(&merge->files[i]) <
		    booted_ns(&merge->files[merge->reference]))
			merge->reference = i;
	}
	first = booted_ns(&merge->files[merge->reference]);
	for (size_t i = 0; i < merge->count; i++)
		merge->files[i].offset_ns =
			(uint64_t)booted_ns(
				&merge->files[first_of_boot(merge, i)]) -
			(uint64_t)first;
}

/* --- the archive --------------------------------------------------------- */

static int copy_trace(const struct merge_file *file, FILE *out)
{
	struct kept_trace trace;
	struct stat status = { 0 };
	int err = kept_trace_open(file->path, &trace);

	if (err)
		return err;
	if (fstat(trace.fd, &status) < 0)
		err = -errno;
	if (!err) {
		archive_begin(file->member, trace.bytes, status.st_mtime, out);
		err = kept_trace_copy(&trace, trace.bytes, out);
		archive_end(trace.bytes, out);
	}
	kept_trace_close(&trace);
	return err;
}

int merge_write(const struct merge *merge, const char *manifest, FILE *out,
		size_t *which)
{
	int err = 0;
	size_t bytes = strlen(manifest);

	archive_begin(MANIFEST_NAME, bytes, time(NULL), out);
	fwrite(manifest, bytes, 1, out);
	archive_end(bytes, out);
	for (*which = 0; *which < merge->count; ++*which) {
		err = copy_trace(&merge->files[*which], out);
		if (err)
			break;
	}
	archive_finish(out);
	return err;
}
