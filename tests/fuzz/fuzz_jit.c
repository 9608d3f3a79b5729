/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_jit FILE... - reads each file, and changed copies of it (changed.h), as
 * a perf map and as a jitdump. Exit status 0 whatever they contain; a crash is
 * a finding.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/names/jit_map.h"
#include "tests/fuzz/changed.h"

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

int main(int argc, char **argv)
{
	const struct changed_plan plan = { .use = use_bytes, .cut = true };

	changed_files(argc, argv, &plan);
	return 0;
}
