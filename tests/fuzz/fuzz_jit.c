/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_jit FILE... - reads each file as a perf map and as a jitdump, and
 * changed copies of it: FUZZ_ROUNDS (20) of them, from FUZZ_SEED (1) on. Exit
 * status 0 whatever they contain; a crash is a finding.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/jit_map.h"

#define FILE_BYTES_MAX (1 << 20)

static unsigned long number_of(const char *variable, unsigned long usual)
{
	const char *value = getenv(variable);

	return value ? strtoul(value, NULL, 10) : usual;
}

static void use(int fd)
{
	struct jit_map *map = NULL;
	uint64_t address = 1;

	if (jit_map_new(&map))
		abort();
	jit_map_read_text(map, fd);
	jit_map_read_dump(map, fd);
	if (jit_map_settle(map))
		abort();
	for (int i = 0; i < 64; i++, address = address * 2 + 1) {
		const char *name = jit_map_find(map, address);

		if (name && strlen(name) > 4096)
			abort();
	}
	jit_map_free(&map);
}

static void use_bytes(const unsigned char *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	use(fd);
	close(fd);
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
		use_bytes(bytes, (size_t)size);
		for (unsigned long k = 0; k < rounds; k++) {
			memcpy(copy, bytes, (size_t)size);
			change(copy, (size_t)size);
			use_bytes(copy, (size_t)rand() % ((size_t)size + 1));
		}
	}
	return 0;
}
