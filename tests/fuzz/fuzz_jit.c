/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_jit - reads the input as a perf map, and as a jitdump.
 */
#include <string.h>

#include "collector/names/jit_map.h"
#include "tests/fuzz/fuzz.h"

#define NAME_MAX_BYTES 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	struct jit_map *map = NULL;
	uint64_t address = 1;

	fuzz_must(!jit_map_new(&map), "no memory");
	jit_map_read_text(map, fd);
	jit_map_read_dump(map, fd);
	fuzz_must(!jit_map_settle(map), "no memory");
	for (int i = 0; i < 64; i++, address = address * 2 + 1) {
		const char *name = jit_map_find(map, address);

		fuzz_must(!name || strlen(name) <= NAME_MAX_BYTES,
			  "a name is too long");
	}
	jit_map_free(&map);
	close(fd);
	return 0;
}
