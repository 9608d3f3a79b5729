/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_reindex - the input is a trace. An index is made from it, which the
 * reader must accept and which must not exceed the trace. A reader jumps into
 * the trace by it, with and without chunks: begins and ends must balance.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "collector/cut/trace_reindex.h"
#include "collector/output/own_files.h"
#include "collector/read/trace_index.h"
#include "collector/read/trace_parts.h"
#include "collector/read/trace_read.h"
#include "collector/trace/trace_index.h"
#include "tests/fuzz/fuzz.h"

static char g_dir[] = "/tmp/fuzz_reindex.XXXXXX";
static int g_dir_fd = -1;

static void remove_folder(void)
{
	unlinkat(g_dir_fd, INDEX_NAME, 0);
	rmdir(g_dir);
}

static void make_folder(void)
{
	if (g_dir_fd >= 0)
		return;
	fuzz_must(mkdtemp(g_dir), "no folder");
	g_dir_fd = open(g_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fuzz_must(g_dir_fd >= 0, "no folder");
	atexit(remove_folder);
}

static void read_range(const char *path, const struct trace_index *index,
		       uint64_t from_ns, uint64_t to_ns, bool skips)
{
	const struct time_range range = { from_ns, to_ns };
	const struct parts_choice choice = {
		.ranges = &range,
		.range_count = 1,
		.calls_only = true,
		.skips = skips ? PARTS_SKIP_CHUNKS : PARTS_SKIP_NONE,
	};
	uint64_t begins = 0, ends = 0;
	struct trace_reader *reader;
	struct trace_event event;

	if (trace_reader_open_parts(path, index, &choice, &reader))
		return;
	while (trace_reader_next(reader, &event) > 0) {
		begins += event.kind == TRACE_BEGIN;
		ends += event.kind == TRACE_END;
	}
	fuzz_must(begins == ends, "begins and ends differ");
	trace_reader_close(&reader);
}

static void read_back(const char *path,
		      const struct trace_reindex_result *result)
{
	struct trace_index *index = NULL;
	char index_path[64];
	enum index_fault fault;

	snprintf(index_path, sizeof(index_path), "%s/" INDEX_NAME, g_dir);
	fault = trace_index_read(index_path, path, &index);
	/* Without items the index has no batch. */
	fuzz_must(!fault || !result->at, "the index is refused");
	if (fault)
		return;
	fuzz_must(index->trace_bytes <= result->at,
		  "the index exceeds the trace");
	read_range(path, index, 0, UINT64_MAX, false);
	read_range(path, index, 1000, 2000, false);
	read_range(path, index, 1000, 1ULL << 60, true);
	trace_index_free(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_reindex_result result;
	struct trace_index_to index;
	int err, fd = fuzz_file(data, size);
	char path[32];

	make_folder();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fuzz_must(!trace_index_open(g_dir_fd, INDEX_NAME, &index),
		  "cannot make an index");
	err = trace_reindex(path, &index, NULL, &result);
	fuzz_must(!err || err == -EPROTO || err == -ENOMEM,
		  "an unexpected error");
	trace_index_close(&index, !err);
	if (!err)
		read_back(path, &result);
	own_files_discard(g_dir_fd, INDEX_NAME);
	close(fd);
	return 0;
}
