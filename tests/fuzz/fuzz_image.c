/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_image - the input is a loaded module. Its image is read as the ELF file
 * that it should be.
 */
#include <fcntl.h>

#include "collector/names/elf_bounds.h"
#include "collector/names/elf_read.h"
#include "collector/names/memory_image.h"
#include "collector/names/reader.h"
#include "tests/fuzz/fuzz.h"

static struct readers *g_readers;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	uint64_t at = (uint64_t)(uintptr_t)data;
	struct elf_functions functions = { 0 };
	struct elf_headers headers = { 0 };
	struct elf_bounds bounds;
	const char *why;

	fuzz_must(g_readers || !readers_new(&g_readers), "no memory");
	fd = memory_image_open(g_readers, getuid(), proc, at, at + size, at);
	close(proc);
	if (fd < 0)
		return 0;
	elf_read_headers(fd, &headers, &why);
	free(headers.segments);
	elf_read_functions(fd, -1, &functions, &why);
	free(functions.list);
	free(functions.strings);
	elf_bounds_read(fd, &bounds);
	free(bounds.list);
	close(fd);
	return 0;
}
