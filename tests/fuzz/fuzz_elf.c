/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_elf - reads the input like perfrec-reader reads an ELF file
 * (collector/names/reader_main.c), then uses the answers like the collector.
 */
#include <string.h>

#include "collector/names/elf_bounds.h"
#include "collector/names/elf_read.h"
#include "collector/names/mini_debug.h"
#include "tests/fuzz/fuzz.h"

static volatile size_t g_sink;

static void read_headers(int fd)
{
	struct elf_headers headers = { 0 };
	const char *why;

	if (elf_read_headers(fd, &headers, &why))
		return;
	for (size_t i = 0; i < headers.segment_count; i++)
		g_sink += headers.segments[i].bytes;
	g_sink += strlen(headers.build_id) + strlen(headers.asan);
	free(headers.segments);
}

/* Functions are sorted, distinct, and have valid names. */
static void check_functions(const struct elf_functions *functions)
{
	const struct elf_function *one = functions->list;

	for (size_t i = 0; i < functions->count; i++, one++) {
		fuzz_must(!i || one[-1].start < one->start, "not sorted");
		fuzz_must(one->size > 0, "an empty function");
		fuzz_must(one->name < functions->string_bytes &&
				  memchr(functions->strings + one->name, '\0',
					 functions->string_bytes - one->name),
			  "a name has no end");
	}
}

/* Adds the symbols of the file @debug unless it is -1. */
static void read_elf_names(int fd, int debug)
{
	struct elf_functions functions = { 0 };
	const char *why;

	if (!elf_read_functions(fd, debug, &functions, &why))
		check_functions(&functions);
	free(functions.list);
	free(functions.strings);
	functions = (struct elf_functions){ 0 };
	if (!elf_read_objects(fd, debug, &functions, &why))
		check_functions(&functions);
	free(functions.list);
	free(functions.strings);
}

static void read_debug(int fd)
{
	struct elf_debug debug = { 0 };
	const char *why;
	int mini;

	if (elf_read_debug(fd, &debug, &why))
		return;
	g_sink += strlen(debug.build_id) + strlen(debug.link) +
		  strlen(debug.alt) + strlen(debug.alt_build_id);
	if (!debug.mini_bytes)
		return;
	mini = mini_debug_open(fd, debug.mini_offset, debug.mini_bytes);
	if (mini < 0)
		return;
	read_elf_names(fd, mini);
	close(mini);
}

static void read_bounds(int fd)
{
	struct elf_bounds bounds;
	uint64_t start;

	if (elf_bounds_read(fd, &bounds)) {
		fuzz_must(!bounds.list && !bounds.count, "not empty");
		return;
	}
	for (size_t i = 0; i < bounds.count; i++) {
		fuzz_must(bounds.list[i].bytes > 0, "an empty function");
		g_sink +=
			elf_bounds_find(&bounds, bounds.list[i].start, &start);
	}
	free(bounds.list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);

	read_headers(fd);
	read_elf_names(fd, -1);
	read_debug(fd);
	read_bounds(fd);
	g_sink += elf_is_static(fd);
	g_sink += elf_is_of_other_libc(fd);
	close(fd);
	return 0;
}
