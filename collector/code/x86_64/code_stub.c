/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_stub.h"

#include <string.h>

#include "collector/code/code_file.h"

/* Skips an instruction of @all bytes if it starts with the @count bytes
 * @code. */
static void skip_code(const struct code_file *file, uint64_t *vaddr,
		      const void *code, uint64_t count, uint64_t all)
{
	const uint8_t *at = code_file_at(file, *vaddr, all);

	if (at && !memcmp(at, code, count))
		*vaddr += all;
}

bool code_file_stub(const struct code_file *file, uint64_t vaddr,
		    uint64_t *slot)
{
	const uint8_t *at;
	int32_t distance;

	skip_code(file, &vaddr, "\xf3\x0f\x1e\xfa", 4, 4);
	skip_code(file, &vaddr, "\x41\xbb", 2, 6);
	skip_code(file, &vaddr, "\xf2", 1, 1);
	at = code_file_at(file, vaddr, 6);
	if (!at || at[0] != 0xff || at[1] != 0x25)
		return false;
	memcpy(&distance, at + 2, sizeof(distance));
	*slot = vaddr + 6 + (uint64_t)(int64_t)distance;
	return true;
}
