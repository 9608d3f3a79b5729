/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_elf FILE... - asks everything of each file that perfrec asks of an
 * ELF file. Exit status 0 whatever they contain; a crash is a finding.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "collector/names/symbols.h"

static int look_up(void *context, uint64_t vaddr, const char *name)
{
	uint64_t start;

	(void)name;
	symbol_file_lookup(context, vaddr, &start);
	symbol_file_lookup(context, vaddr + 1, &start);
	return 0;
}

static void ask_all(struct symbol_file *file)
{
	const char *soname;
	uint64_t vaddr;

	symbol_file_build_id(file);
	symbol_file_instrumented(file);
	symbol_file_needs_asan(file, &soname);
	for (uint64_t offset = 0; offset < 1 << 16; offset += 1 << 10) {
		symbol_file_vaddr(file, offset, &vaddr);
		symbol_file_bounds(file, offset, &vaddr);
	}
	symbol_file_each(file, look_up, file);
	symbol_file_error(file);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		struct symbol_cache *cache = NULL;
		struct symbol_file *file;

		if (fd < 0 || symbol_cache_new(&cache)) {
			perror(argv[i]);
			return 1;
		}
		file = symbol_cache_file(cache, getuid(), fd, argv[i]);
		close(fd);
		if (file)
			ask_all(file);
		symbol_file_put(&file);
		symbol_cache_free(&cache);
	}
	return 0;
}
