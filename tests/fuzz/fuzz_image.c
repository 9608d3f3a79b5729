/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_image FILE... - takes each file for a module that is loaded, as it is,
 * and changed copies of it: FUZZ_ROUNDS (20) of them, from FUZZ_SEED (1) on;
 * makes an image of it and asks that for a name. Exit status 0 whatever they
 * contain; a crash is a finding.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/memory_image.h"
#include "collector/symbols.h"

#define FILE_BYTES_MAX (1 << 20)

static unsigned long number_of(const char *variable, unsigned long usual)
{
	const char *value = getenv(variable);

	return value ? strtoul(value, NULL, 10) : usual;
}

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
	file = symbol_cache_file(cache, fd, "/image");
	close(fd);
	symbol_file_lookup(file, 0x1000, &start);
	symbol_file_bounds(file, 0x1000, &start);
	symbol_file_put(&file);
	symbol_cache_free(&cache);
}

static void change(unsigned char *bytes, size_t size)
{
	int times = rand() % 8 + 1;

	while (size && times--)
		bytes[(size_t)rand() % size] ^= (unsigned char)rand();
}

int main(int argc, char **argv)
{
	static unsigned char bytes[FILE_BYTES_MAX], copy[FILE_BYTES_MAX];
	unsigned long rounds = number_of("FUZZ_ROUNDS", 20);

	srand((unsigned int)number_of("FUZZ_SEED", 1));
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		ssize_t size = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

		if (size < 0) {
			perror(argv[i]);
			return 1;
		}
		close(fd);
		use(bytes, (size_t)size);
		for (unsigned long k = 0; k < rounds; k++) {
			memcpy(copy, bytes, (size_t)size);
			change(copy, k % 2 ? (size_t)size
					   : (size_t)(size < 512 ? size : 512));
			use(copy, (size_t)size);
		}
	}
	return 0;
}
