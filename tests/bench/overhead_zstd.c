/* SPDX-License-Identifier: Apache-2.0
 *
 * overhead_zstd - packs a file with zstd's library and unpacks it again, in
 * memory, with the streaming functions that most programs use.
 *
 * usage: overhead_zstd FILE ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zstd.h"

#define PIECE 4096

static char *g_text, *g_packed, *g_back;
static size_t g_size, g_room;

static void die(const char *what)
{
	fprintf(stderr, "overhead_zstd: %s\n", what);
	exit(1);
}

static void load(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file)
		die(path);
	fseek(file, 0, SEEK_END);
	g_size = (size_t)ftell(file);
	rewind(file);
	g_room = ZSTD_compressBound(g_size);
	g_text = malloc(g_size);
	g_back = malloc(g_size);
	g_packed = malloc(g_room);
	if (!g_text || !g_back || !g_packed ||
	    fread(g_text, 1, g_size, file) != g_size)
		die("cannot read the file");
	fclose(file);
}

static size_t pack(ZSTD_CCtx *cctx)
{
	ZSTD_outBuffer out = { g_packed, g_room, 0 };

	for (size_t at = 0; at < g_size; at += PIECE) {
		size_t size = g_size - at < PIECE ? g_size - at : PIECE;
		ZSTD_inBuffer in = { g_text + at, size, 0 };

		while (in.pos < in.size)
			if (ZSTD_isError(ZSTD_compressStream2(cctx, &out, &in,
							      ZSTD_e_continue)))
				die("cannot pack");
	}
	if (ZSTD_compressStream2(cctx, &out, &(ZSTD_inBuffer){ 0 },
				 ZSTD_e_end) != 0)
		die("cannot pack the end");
	return out.pos;
}

static void unpack(ZSTD_DCtx *dctx, size_t packed)
{
	ZSTD_outBuffer out = { g_back, g_size, 0 };

	for (size_t at = 0; at < packed; at += PIECE) {
		size_t size = packed - at < PIECE ? packed - at : PIECE;
		ZSTD_inBuffer in = { g_packed + at, size, 0 };

		while (in.pos < in.size)
			if (ZSTD_isError(
				    ZSTD_decompressStream(dctx, &out, &in)))
				die("cannot unpack");
	}
	if (out.pos != g_size || memcmp(g_text, g_back, g_size) != 0)
		die("unpacked something else");
}

int main(int argc, char **argv)
{
	ZSTD_CCtx *cctx = ZSTD_createCCtx();
	ZSTD_DCtx *dctx = ZSTD_createDCtx();
	size_t packed = 0;

	if (argc < 3 || !cctx || !dctx)
		die("usage: overhead_zstd FILE ROUNDS");
	load(argv[1]);
	for (int i = atoi(argv[2]); i > 0; i--) {
		packed = pack(cctx);
		unpack(dctx, packed);
	}
	printf("%zu -> %zu\n", g_size, packed);
	return 0;
}
