/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_image FILE... - takes each file, and changed copies of it (changed.h),
 * for a module that is loaded; makes an image of it and asks that for a name.
 * Exit status 0 whatever they contain; a crash is a finding.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/names/memory_image.h"
#include "collector/names/symbols.h"
#include "tests/fuzz/changed.h"

static void use(const unsigned char *bytes, size_t size)
{
	int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t at = (uint64_t)(uintptr_t)bytes, start;
	int fd = memory_image_open(proc, at, at + size, at);
	struct symbol_cache *cache = NULL;
	struct symbol_file *file;

	close(proc);
	if (fd < 0)
		return;
	if (symbol_cache_new(&cache))
		abort();
	file = symbol_cache_file(cache, getuid(), fd, "/image");
	close(fd);
	symbol_file_lookup(file, 0x1000, &start);
	symbol_file_bounds(file, 0x1000, &start);
	symbol_file_put(&file);
	symbol_cache_free(&cache);
}

int main(int argc, char **argv)
{
	/* Headers first. */
	const struct changed_plan plan = { .use = use, .head = 512 };

	changed_files(argc, argv, &plan);
	return 0;
}
