/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/archive.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#define BLOCK 512
/* The largest number with 11 octal digits. */
#define OCTAL_MAX UINT64_C(077777777777)

struct header {
	char name[100];
	char mode[8], uid[8], gid[8];
	char size[12], changed[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[6], version[2];
	char user[32], group[32];
	char major[8], minor[8];
	char prefix[155];
	char pad[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static void put_octal(char *to, int digits, uint64_t number)
{
	for (to[digits] = '\0'; digits--; number >>= 3)
		to[digits] = (char)('0' + (number & 7));
}

/* Larger numbers are binary and big-endian, with the first bit set: a GNU
 * extension that Perfetto supports. */
static void put_number(char to[12], uint64_t number)
{
	uint64_t big = htobe64(number);

	if (number <= OCTAL_MAX) {
		put_octal(to, 11, number);
		return;
	}
	memset(to, 0, 4);
	to[0] = (char)0x80;
	memcpy(to + 4, &big, sizeof(big));
}

void archive_begin(const char *name, uint64_t bytes, time_t changed, FILE *out)
{
	struct header header = {
		.mode = "0000644",
		.uid = "0000000",
		.gid = "0000000",
		.type = '0',
		.magic = "ustar",
		.version = { '0', '0' },
	};
	size_t length = strlen(name);
	const uint8_t *byte;
	unsigned int sum;

	assert(length <= ARCHIVE_NAME_MAX);
	memcpy(header.name, name, length);
	put_number(header.size, bytes);
	put_number(header.changed, changed < 0 ? 0 : (uint64_t)changed);
	byte = (const uint8_t *)&header;
	sum = 0;
	memset(header.checksum, ' ', sizeof(header.checksum));
	for (size_t i = 0; i < sizeof(header); i++)
		sum += byte[i];
	put_octal(header.checksum, 6, sum);
	fwrite(&header, sizeof(header), 1, out);
}

void archive_end(uint64_t bytes, FILE *out)
{
	static const char zero[BLOCK];

	fwrite(zero, -bytes % BLOCK, 1, out);
}

void archive_finish(FILE *out)
{
	static const char zero[2 * BLOCK];

	fwrite(zero, sizeof(zero), 1, out);
}
