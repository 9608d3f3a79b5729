/* SPDX-License-Identifier: Apache-2.0
 *
 * code_pieces - formats: LSB 5.0 core, 10.6 for .eh_frame. libgcc's unwind-c.c
 * describes the tables of landing pads (.gcc_except_table) best.
 */
#include "collector/code/code_pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/code/code_file.h"
#include "collector/names/elf_read.h"
#include "collector/names/unwind_cfi.h"
#include "shared/compiler.h"

#define PIECES_MAX (4u << 20)
#define LANDINGS_MAX (1u << 17)

#define ENCODING_NONE 0xffu
#define ENCODING_INDIRECT 0x80u
#define ENCODING_PCREL 0x10u

/* --- a cursor ------------------------------------------------------------- */

struct cursor {
	const struct code_file *file;
	uint64_t at;
	bool failed;
};

static uint64_t take_unsigned(struct cursor *cursor, unsigned int bytes)
{
	const uint8_t *at = code_file_at(cursor->file, cursor->at, bytes);
	uint64_t value = 0;

	if (!at) {
		cursor->failed = true;
		return 0;
	}
	memcpy(&value, at, bytes);
	cursor->at += bytes;
	return value;
}

static uint64_t take_leb(struct cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)take_unsigned(cursor, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !cursor->failed && shift < 70);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= ~0ull << shift;
	return value;
}

static uint64_t take_encoded(struct cursor *cursor, uint8_t encoding)
{
	uint64_t from = cursor->at, value;

	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = take_unsigned(cursor, 8);
		break;
	case 0x01:
		value = take_leb(cursor, false);
		break;
	case 0x02:
		value = take_unsigned(cursor, 2);
		break;
	case 0x03:
		value = take_unsigned(cursor, 4);
		break;
	case 0x09:
		value = take_leb(cursor, true);
		break;
	case 0x0a:
		value = (uint64_t)(int16_t)take_unsigned(cursor, 2);
		break;
	case 0x0b:
		value = (uint64_t)(int32_t)take_unsigned(cursor, 4);
		break;
	default:
		cursor->failed = true;
		return 0;
	}
	if ((encoding & 0x70) == ENCODING_PCREL)
		return value ? value + from : 0;
	if (encoding & (0x70 | ENCODING_INDIRECT))
		cursor->failed = true;
	return value;
}

/* --- .eh_frame ------------------------------------------------------------ */

struct common {
	uint8_t encoding;
	uint8_t lsda_encoding;
	bool has_length; /* entries have augmentation data */
};

static bool read_common(const struct code_file *file, uint64_t vaddr,
			struct common *out)
{
	struct cursor cursor = { file, vaddr, false };
	char letter[8];
	size_t letters = 0;
	uint8_t version;

	*out = (struct common){ 0, ENCODING_NONE, false };
	if (take_unsigned(&cursor, 4) >= 0xfffffff0 ||
	    take_unsigned(&cursor, 4))
		return false;
	version = (uint8_t)take_unsigned(&cursor, 1);
	if (version != 1 && version != 3)
		return false;
	while (letters < sizeof(letter) &&
	       (letter[letters] = (char)take_unsigned(&cursor, 1)))
		letters++;
	if (letters == sizeof(letter))
		return false;
	take_leb(&cursor, false);
	take_leb(&cursor, true);
	if (version == 1)
		take_unsigned(&cursor, 1);
	else
		take_leb(&cursor, false);
	if (letters && letter[0] != 'z')
		return false;
	if (letters) {
		out->has_length = true;
		take_leb(&cursor, false);
	}
	for (size_t i = 1; i < letters; i++) {
		uint8_t encoding;

		if (letter[i] == 'S' || letter[i] == 'B')
			continue;
		encoding = (uint8_t)take_unsigned(&cursor, 1);
		if (letter[i] == 'R')
			out->encoding = encoding;
		else if (letter[i] == 'L')
			out->lsda_encoding = encoding;
		else if (letter[i] == 'P') /* personality routine */
			take_encoded(&cursor,
				     encoding & ~ENCODING_INDIRECT & 0xff);
		else
			return false;
	}
	return !cursor.failed;
}

static int add_piece(struct code_pieces *pieces, struct code_file *file,
		     const struct code_piece *piece)
{
	const struct code_segment *text = code_file_text(file, piece->start);

	if (!text || pieces->count == PIECES_MAX || !piece->bytes ||
	    piece->bytes > text->bytes - (piece->start - text->vaddr))
		return 0;
	if (grow_array_from(&file->budget, pieces->list, pieces->room,
			    pieces->count + 1))
		return -ENOMEM;
	pieces->list[pieces->count++] = *piece;
	return 0;
}

static bool read_frame(const struct code_file *file, uint64_t fde,
		       struct code_piece *out)
{
	struct cursor cursor = { file, fde, false };
	struct common common;
	uint64_t length = take_unsigned(&cursor, 4), at = cursor.at;
	uint64_t back = take_unsigned(&cursor, 4), bytes;

	if (cursor.failed || !length || length >= 0xfffffff0 || !back ||
	    !read_common(file, at - back, &common))
		return false;
	out->frame = fde;
	out->start = take_encoded(&cursor, common.encoding);
	bytes = take_encoded(&cursor, common.encoding & 0x0f);
	if (cursor.failed || bytes > UINT32_MAX)
		return false;
	out->bytes = (uint32_t)bytes;
	if (common.has_length && take_leb(&cursor, false) &&
	    common.lsda_encoding != ENCODING_NONE)
		out->lsda = take_encoded(&cursor, common.lsda_encoding);
	if (cursor.failed)
		out->lsda = 0;
	return true;
}

static int add_frame_pieces(struct code_pieces *pieces, struct code_file *file)
{
	const struct cfi_reader reader = { code_file_copy, file };
	struct cfi_table table;
	int err = 0;

	if (!file->eh_frame_hdr ||
	    !unwind_cfi_table(&reader, file->eh_frame_hdr, &table))
		return 0;
	for (uint64_t i = 0; !err && i < table.count; i++) {
		struct code_piece piece = { 0 };
		int32_t entry[2];

		if (!code_file_copy(file, table.vaddr + i * sizeof(entry),
				    entry, sizeof(entry)))
			break;
		if (read_frame(file,
			       file->eh_frame_hdr + (uint64_t)(int64_t)entry[1],
			       &piece))
			err = add_piece(pieces, file, &piece);
	}
	return err;
}

/* --- pieces --------------------------------------------------------------- */

static int compare_pieces(const void *left, const void *right)
{
	const struct code_piece *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* Drops pieces that start inside another. */
static void settle(struct code_pieces *pieces)
{
	size_t kept = 0;
	uint64_t end = 0;

	if (pieces->count)
		qsort(pieces->list, pieces->count, sizeof(*pieces->list),
		      compare_pieces);
	for (size_t i = 0; i < pieces->count; i++) {
		struct code_piece piece = pieces->list[i];

		if (piece.start < end)
			continue;
		end = piece.start + piece.bytes;
		pieces->list[kept++] = piece;
	}
	pieces->count = kept;
}

struct code_piece *code_pieces_at(const struct code_pieces *pieces,
				  uint64_t vaddr)
{
	size_t low =
		search_first(i, pieces->count, pieces->list[i].start > vaddr);

	if (!low ||
	    vaddr - pieces->list[low - 1].start >= pieces->list[low - 1].bytes)
		return NULL;
	return &pieces->list[low - 1];
}

/* Adds functions that .eh_frame lacks. Marks others as entries, except .cold
 * parts. */
static int add_symbols(struct code_pieces *pieces, struct code_file *file,
		       const struct elf_functions *functions)
{
	const size_t framed = pieces->count;
	struct code_pieces known = { pieces->list, framed, 0 };
	int err = 0;

	for (size_t i = 0; !err && i < functions->count; i++) {
		const struct elf_function *function = &functions->list[i];
		struct code_piece *piece;
		struct code_piece fresh = { .start = function->start,
					    .bytes = function->size,
					    .is_entry = true };

		/* Stubs have nothing to patch. Labels need not be called. */
		if (function->rank & ELF_RANK_IMPORT)
			continue;
		known.list = pieces->list;
		piece = code_pieces_at(&known, function->start);
		if (piece && piece->start != function->start &&
		    function->start - piece->start < CODE_ENTERED_BYTES)
			piece->entered |= 1u
					  << (function->start - piece->start);
		if (function->rank & ELF_RANK_LABEL)
			continue;
		if (!piece)
			err = add_piece(pieces, file, &fresh);
		else if (piece->start != function->start)
			continue;
		else if (strstr(functions->strings + function->name, ".cold"))
			piece->is_cold = true;
		else
			piece->is_entry = true;
	}
	return err;
}

int code_pieces_find(struct code_pieces *pieces, struct code_file *file,
		     const struct elf_functions *functions)
{
	int err = add_frame_pieces(pieces, file);

	if (err)
		return err;
	settle(pieces);
	err = add_symbols(pieces, file, functions);
	settle(pieces);
	return err;
}

void code_pieces_release(struct code_pieces *pieces)
{
	free(pieces->list);
	*pieces = (struct code_pieces){ 0 };
}

/* --- landing pads --------------------------------------------------------- */

int code_piece_landings(const struct code_piece *piece, struct code_file *file,
			struct code_landings *landings)
{
	struct cursor cursor = { file, piece->lsda, false };
	uint64_t base = piece->start, end;
	uint8_t encoding;
	size_t count = 0;

	if (!piece->lsda)
		return 0;
	encoding = (uint8_t)take_unsigned(&cursor, 1);
	if (encoding != ENCODING_NONE)
		base = take_encoded(&cursor, encoding);
	if (take_unsigned(&cursor, 1) != ENCODING_NONE)
		take_leb(&cursor, false);
	encoding = (uint8_t)take_unsigned(&cursor, 1) & 0x0f;
	end = take_leb(&cursor, false);
	end += cursor.at;
	while (!cursor.failed && cursor.at < end && count++ < LANDINGS_MAX) {
		struct code_landing landing = { 0 };
		uint64_t pad;

		landing.start = piece->start + take_encoded(&cursor, encoding);
		landing.end = landing.start + take_encoded(&cursor, encoding);
		pad = take_encoded(&cursor, encoding);
		take_leb(&cursor, false);
		if (cursor.failed || !pad)
			continue;
		landing.landing = base + pad;
		if (grow_array_from(&file->budget, landings->list,
				    landings->room, landings->count + 1))
			return -ENOMEM;
		landings->list[landings->count++] = landing;
	}
	return 0;
}
