/* SPDX-License-Identifier: Apache-2.0
 *
 * parquet - the part of the format that tables of recordings need, by
 * apache/parquet-format (README.md, Encodings.md, parquet.thrift):
 *
 *   "PAR1"
 *   for each row group, for each column: a dictionary page of texts, then one
 *   data page of version 1, both compressed as gzip does
 *   FileMetaData in Thrift's compact protocol, its length, "PAR1"
 *
 * Numbers are PLAIN, 8 bytes each. The footer has their minimum and maximum, so
 * readers skip row groups by time. Texts are indexes into the dictionary of the
 * row group: stacks and names repeat, and a column with a single text needs
 * almost no space.
 */
#include "collector/export/parquet.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/base/utf8.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define MAGIC "PAR1"
#define GROUP_ROWS 122880 /* of DuckDB's row groups */
#define GROUP_BYTES (64u << 20) /* texts and numbers of a row group */
#define GZIP_LEVEL 6
#define GZIP_BYTES_MAX (1u << 30) /* of a page: lengths have 32 bits */
#define PACKED 8 /* values of a bit-packed run */

/* Numbers of parquet.thrift. */
enum { TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { CODEC_GZIP = 2, CONVERTED_UTF8 = 0, OPTIONAL = 1 };

/* Types of Thrift's compact protocol. */
enum { T_I32 = 5, T_I64 = 6, T_BINARY = 8, T_LIST = 9, T_STRUCT = 12 };

struct dictionary {
	struct bytes values; /* PLAIN */
	uint32_t count;
	struct {
		uint32_t number; /* + 1; 0: free */
		size_t at; /* in values */
	} * slots;
	uint32_t slot_count; /* a power of two, or 0 */
};

struct column {
	struct bytes values; /* int64_t, or uint32_t into the dictionary */
	struct bytes levels; /* uint32_t, 0 is NULL; only of optional columns */
	struct dictionary dictionary;
	int64_t least, most;
	uint64_t nulls;
};

struct parquet {
	FILE *out;
	const struct parquet_column *columns;
	size_t column_count;
	struct column *column;
	uint32_t rows; /* of the row group */
	uint64_t all_rows;
	uint64_t at; /* bytes written */
	struct bytes page, packed, header, text; /* reused buffers */
	struct bytes groups; /* RowGroup structures */
	uint32_t group_count;
	struct libdeflate_compressor *gzip;
	bool failed;
};

/* --- Thrift -------------------------------------------------------------- */

struct thrift {
	struct bytes *to;
	int last; /* number of the last field in this structure */
};

static void put_zigzag(struct bytes *to, int64_t value)
{
	bytes_varint(to, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_field(struct thrift *thrift, int number, uint8_t type)
{
	uint8_t head = (uint8_t)((number - thrift->last) << 4 | type);

	bytes_put(thrift->to, &head, 1);
	thrift->last = number;
}

static void put_i32(struct thrift *thrift, int number, int64_t value)
{
	put_field(thrift, number, T_I32);
	put_zigzag(thrift->to, value);
}

static void put_i64(struct thrift *thrift, int number, uint64_t value)
{
	put_field(thrift, number, T_I64);
	put_zigzag(thrift->to, (int64_t)value);
}

static void put_binary(struct bytes *to, const void *at, size_t count)
{
	bytes_varint(to, count);
	if (count)
		bytes_put(to, at, count);
}

static void put_thrift_text(struct thrift *thrift, int number, const char *text)
{
	put_field(thrift, number, T_BINARY);
	put_binary(thrift->to, text, strlen(text));
}

static void put_list(struct thrift *thrift, int number, uint8_t type,
		     size_t count)
{
	uint8_t head = (uint8_t)(MIN(count, 15u) << 4 | type);

	put_field(thrift, number, T_LIST);
	bytes_put(thrift->to, &head, 1);
	if (count >= 15)
		bytes_varint(thrift->to, count);
}

static struct thrift put_struct(struct thrift *thrift, int number)
{
	put_field(thrift, number, T_STRUCT);
	return (struct thrift){ .to = thrift->to };
}

static void end_struct(struct thrift *thrift)
{
	bytes_put(thrift->to, "", 1);
}

/* --- runs ---------------------------------------------------------------- */

static uint32_t column_value(const struct bytes *values, size_t i)
{
	uint32_t value;

	memcpy(&value, values->at + i * sizeof(value), sizeof(value));
	return value;
}

/* Appends @count values of @width bits from index @i as a bit-packed run, the
 * first in the lowest bits. */
static void put_packed(struct bytes *to, const struct bytes *values, size_t i,
		       size_t count, uint32_t width)
{
	uint8_t bits[PACKED * sizeof(uint32_t)] = { 0 };

	for (size_t bit = 0; bit < count * width; bit++) {
		uint32_t value = column_value(values, i + bit / width);

		bits[bit / 8] |=
			(uint8_t)((value >> bit % width & 1) << bit % 8);
	}
	bytes_varint(to, 1 << 1 | 1);
	bytes_put(to, bits, width);
}

/* Appends all @values, uint32_t of @width bits, as runs of one value and
 * bit-packed runs. */
static void put_runs(struct bytes *to, const struct bytes *values,
		     uint32_t width)
{
	size_t count = values->count / sizeof(uint32_t), run;

	for (size_t i = 0; i < count; i += run) {
		uint32_t value = column_value(values, i);

		run = 1;
		while (i + run < count &&
		       column_value(values, i + run) == value)
			run++;
		if (run >= PACKED) {
			bytes_varint(to, run << 1);
			/* Little-endian, as the entire format. */
			bytes_put(to, &value, (width + 7) / 8);
			continue;
		}
		run = MIN(count - i, PACKED);
		put_packed(to, values, i, run, width);
	}
}

/* --- pages --------------------------------------------------------------- */

/* A column chunk, for the footer. */
struct chunk {
	uint64_t dictionary_at, data_at; /* dictionary_at 0: no dictionary */
	uint64_t bytes, unpacked_bytes;
};

static void write_and_count(struct parquet *parquet, const struct bytes *bytes)
{
	parquet->failed |= bytes->failed;
	fwrite(bytes->at, 1, bytes->count, parquet->out);
	parquet->at += bytes->count;
}

static void write_page(struct parquet *parquet, int type, int encoding,
		       uint32_t values, struct chunk *chunk)
{
	struct thrift thrift = { .to = &parquet->header }, inner;
	uint64_t from = parquet->at;
	size_t count = parquet->page.count, room;
	uint8_t *to;

	bytes_clear(&parquet->packed);
	parquet->failed |= parquet->page.failed || count > GZIP_BYTES_MAX;
	if (!parquet->failed) {
		room = libdeflate_gzip_compress_bound(parquet->gzip, count);
		to = bytes_add(&parquet->packed, room);
		if (to)
			parquet->packed.count = libdeflate_gzip_compress(
				parquet->gzip, parquet->page.at, count, to,
				room);
	}
	bytes_clear(&parquet->header);
	put_i32(&thrift, 1, type);
	put_i32(&thrift, 2, (int64_t)parquet->page.count);
	put_i32(&thrift, 3, (int64_t)parquet->packed.count);
	inner = put_struct(&thrift, type == PAGE_DATA ? 5 : 7);
	put_i32(&inner, 1, values);
	put_i32(&inner, 2, encoding);
	if (type == PAGE_DATA) {
		put_i32(&inner, 3, ENCODING_RLE); /* of levels */
		put_i32(&inner, 4, ENCODING_RLE);
	}
	end_struct(&inner);
	end_struct(&thrift);
	write_and_count(parquet, &parquet->header);
	write_and_count(parquet, &parquet->packed);
	chunk->bytes += parquet->at - from;
	chunk->unpacked_bytes += parquet->header.count + parquet->page.count;
}

/* Appends the levels, which mark NULLs: their length, then runs. */
static void put_page_levels(struct bytes *page, const struct bytes *levels)
{
	uint32_t length;
	size_t at = page->count;

	bytes_put(page, &(uint32_t){ 0 }, sizeof(length));
	put_runs(page, levels, 1);
	if (page->failed)
		return;
	length = (uint32_t)(page->count - at - sizeof(length));
	memcpy(page->at + at, &length, sizeof(length));
}

/* Returns the bits of numbers below @count, at least 1. */
static uint32_t width_of(uint32_t count)
{
	return count <= 2 ? 1 : 32 - (uint32_t)__builtin_clz(count - 1);
}

static void write_column(struct parquet *parquet, size_t i, struct chunk *chunk)
{
	struct column *column = &parquet->column[i];
	const struct dictionary *texts = &column->dictionary;
	struct bytes *page = &parquet->page;
	int encoding = ENCODING_PLAIN;

	if (texts->count) {
		uint8_t width = (uint8_t)width_of(texts->count);

		chunk->dictionary_at = parquet->at;
		bytes_clear(page);
		bytes_put(page, texts->values.at, texts->values.count);
		write_page(parquet, PAGE_DICTIONARY, ENCODING_PLAIN,
			   texts->count, chunk);
		encoding = ENCODING_RLE_DICTIONARY;
		bytes_clear(page);
		if (parquet->columns[i].optional)
			put_page_levels(page, &column->levels);
		bytes_put(page, &width, 1);
		put_runs(page, &column->values, width);
	} else {
		bytes_clear(page);
		if (parquet->columns[i].optional)
			put_page_levels(page, &column->levels);
		if (column->values.count)
			bytes_put(page, column->values.at,
				  column->values.count);
	}
	chunk->data_at = parquet->at;
	write_page(parquet, PAGE_DATA, encoding, parquet->rows, chunk);
	parquet->failed |= column->values.failed || column->levels.failed ||
			   texts->values.failed;
}

/* --- the footer ---------------------------------------------------------- */

static void put_column_chunk(struct parquet *parquet, size_t i,
			     const struct chunk *chunk)
{
	const struct parquet_column *column = &parquet->columns[i];
	struct thrift outer = { .to = &parquet->groups }, thrift;
	bool ints = column->type == PARQUET_INT;
	uint64_t first =
		chunk->dictionary_at ? chunk->dictionary_at : chunk->data_at;
	struct thrift inner;

	put_i64(&outer, 2, first);
	thrift = put_struct(&outer, 3);
	put_i32(&thrift, 1, ints ? TYPE_INT64 : TYPE_BYTE_ARRAY);
	put_list(&thrift, 2, T_I32, 3);
	put_zigzag(thrift.to, ENCODING_PLAIN);
	put_zigzag(thrift.to, ENCODING_RLE);
	put_zigzag(thrift.to, ENCODING_RLE_DICTIONARY);
	put_list(&thrift, 3, T_BINARY, 1);
	put_binary(thrift.to, column->name, strlen(column->name));
	put_i32(&thrift, 4, CODEC_GZIP);
	put_i64(&thrift, 5, parquet->rows);
	put_i64(&thrift, 6, chunk->unpacked_bytes);
	put_i64(&thrift, 7, chunk->bytes);
	put_i64(&thrift, 9, chunk->data_at);
	if (chunk->dictionary_at)
		put_i64(&thrift, 11, chunk->dictionary_at);
	inner = put_struct(&thrift, 12);
	put_i64(&inner, 3, parquet->column[i].nulls);
	if (ints && parquet->column[i].values.count) {
		put_field(&inner, 5, T_BINARY);
		put_binary(inner.to, &parquet->column[i].most,
			   sizeof(parquet->column[i].most));
		put_field(&inner, 6, T_BINARY);
		put_binary(inner.to, &parquet->column[i].least,
			   sizeof(parquet->column[i].least));
	}
	end_struct(&inner);
	end_struct(&thrift);
	end_struct(&outer);
}

static void clear_column(struct column *column)
{
	struct dictionary *texts = &column->dictionary;

	bytes_clear(&column->values);
	bytes_clear(&column->levels);
	bytes_clear(&texts->values);
	if (texts->slots)
		memset(texts->slots, 0,
		       texts->slot_count * sizeof(*texts->slots));
	texts->count = 0;
	column->nulls = 0;
	column->least = INT64_MAX;
	column->most = INT64_MIN;
}

static int error_of(const struct parquet *parquet)
{
	return parquet->failed ? -ENOMEM : ferror(parquet->out) ? -EIO : 0;
}

static void write_group(struct parquet *parquet)
{
	struct thrift thrift = { .to = &parquet->groups };
	uint64_t unpacked = 0;

	if (!parquet->rows)
		return;
	put_list(&thrift, 1, T_STRUCT, parquet->column_count);
	for (size_t i = 0; i < parquet->column_count; i++) {
		struct chunk chunk = { 0 };

		write_column(parquet, i, &chunk);
		put_column_chunk(parquet, i, &chunk);
		unpacked += chunk.unpacked_bytes;
		clear_column(&parquet->column[i]);
	}
	put_i64(&thrift, 2, unpacked);
	put_i64(&thrift, 3, parquet->rows);
	end_struct(&thrift);
	parquet->group_count++;
	parquet->all_rows += parquet->rows;
	parquet->rows = 0;
}

static void put_schema(struct parquet *parquet, struct bytes *to)
{
	struct thrift root = { .to = to };

	put_thrift_text(&root, 4, "schema");
	put_i32(&root, 5, (int64_t)parquet->column_count);
	end_struct(&root);
	for (size_t i = 0; i < parquet->column_count; i++) {
		const struct parquet_column *column = &parquet->columns[i];
		struct thrift thrift = { .to = to };
		bool ints = column->type == PARQUET_INT;

		put_i32(&thrift, 1, ints ? TYPE_INT64 : TYPE_BYTE_ARRAY);
		put_i32(&thrift, 3, column->optional ? OPTIONAL : 0);
		put_thrift_text(&thrift, 4, column->name);
		if (!ints)
			put_i32(&thrift, 6, CONVERTED_UTF8);
		end_struct(&thrift);
	}
}

static void write_footer(struct parquet *parquet)
{
	struct bytes *to = &parquet->header;
	struct thrift thrift = { .to = to };
	uint32_t length;

	bytes_clear(to);
	put_i32(&thrift, 1, 1);
	put_list(&thrift, 2, T_STRUCT, parquet->column_count + 1);
	put_schema(parquet, to);
	put_i64(&thrift, 3, parquet->all_rows);
	put_list(&thrift, 4, T_STRUCT, parquet->group_count);
	if (parquet->groups.count)
		bytes_put(to, parquet->groups.at, parquet->groups.count);
	put_thrift_text(&thrift, 6, "perfrec version " PERFREC_VERSION);
	/* Without an order of their types, readers ignore minimum and
	 * maximum. */
	put_list(&thrift, 7, T_STRUCT, parquet->column_count);
	for (size_t i = 0; i < parquet->column_count; i++) {
		struct thrift order = { .to = to }, type;

		type = put_struct(&order, 1);
		end_struct(&type);
		end_struct(&order);
	}
	end_struct(&thrift);
	length = (uint32_t)to->count;
	bytes_put(to, &length, sizeof(length));
	bytes_put(to, MAGIC, strlen(MAGIC));
	write_and_count(parquet, to);
}

/* --- rows ---------------------------------------------------------------- */

static void put_level(struct parquet *parquet, size_t i, uint32_t level)
{
	if (parquet->columns[i].optional)
		bytes_put(&parquet->column[i].levels, &level, sizeof(level));
}

void parquet_int(struct parquet *parquet, size_t column, int64_t value)
{
	struct column *to = &parquet->column[column];

	put_level(parquet, column, 1);
	bytes_put(&to->values, &value, sizeof(value));
	to->least = MIN(to->least, value);
	to->most = MAX(to->most, value);
}

void parquet_null(struct parquet *parquet, size_t column)
{
	put_level(parquet, column, 0);
	parquet->column[column].nulls++;
}

static uint32_t find_text_slot(const struct dictionary *texts, const void *text,
			       uint32_t length)
{
	uint32_t mask = texts->slot_count - 1, stored;
	uint32_t slot =
		(uint32_t)hash_fold(hash_words(HASH_START, text, length));

	for (;; slot++) {
		const uint8_t *value;

		slot &= mask;
		if (!texts->slots[slot].number)
			return slot;
		value = texts->values.at + texts->slots[slot].at;
		memcpy(&stored, value, sizeof(stored));
		if (stored == length &&
		    memcmp(value + sizeof(stored), text, length) == 0)
			return slot;
	}
}

/* Doubles the slots unless half of them are free. Returns false without
 * memory. */
static bool grow_dictionary(struct dictionary *texts)
{
	struct dictionary old = *texts;
	uint32_t length, slot;

	if (texts->slot_count > texts->count * 2)
		return true;
	texts->slot_count = MAX(old.slot_count * 2, 64u);
	texts->slots = calloc(texts->slot_count, sizeof(*texts->slots));
	if (!texts->slots) {
		*texts = old;
		return false;
	}
	for (uint32_t i = 0; i < old.slot_count; i++) {
		const uint8_t *value = texts->values.at + old.slots[i].at;

		if (!old.slots[i].number)
			continue;
		memcpy(&length, value, sizeof(length));
		slot = find_text_slot(texts, value + sizeof(length), length);
		texts->slots[slot] = old.slots[i];
	}
	free(old.slots);
	return true;
}

void parquet_text(struct parquet *parquet, size_t column, const char *text)
{
	struct dictionary *texts = &parquet->column[column].dictionary;
	uint32_t slot, length, number;
	size_t count;
	uint8_t *to;

	if (!text) {
		parquet_null(parquet, column);
		return;
	}
	count = strlen(text);
	bytes_clear(&parquet->text);
	to = count ? bytes_add(&parquet->text, count) : NULL;
	if (to)
		utf8_copy((char *)to, text, count);
	if (parquet->text.failed || !grow_dictionary(texts)) {
		parquet->failed = true;
		return;
	}
	length = (uint32_t)parquet->text.count;
	slot = find_text_slot(texts, parquet->text.at, length);
	if (!texts->slots[slot].number) {
		texts->slots[slot].number = ++texts->count;
		texts->slots[slot].at = texts->values.count;
		bytes_put(&texts->values, &length, sizeof(length));
		if (length)
			bytes_put(&texts->values, parquet->text.at, length);
	}
	number = texts->slots[slot].number - 1;
	put_level(parquet, column, 1);
	bytes_put(&parquet->column[column].values, &number, sizeof(number));
	parquet->failed |= texts->values.failed;
}

int parquet_end_row(struct parquet *parquet)
{
	size_t bytes = 0;

	parquet->rows++;
	for (size_t i = 0; i < parquet->column_count; i++)
		bytes += parquet->column[i].values.count +
			 parquet->column[i].dictionary.values.count;
	if (parquet->rows == GROUP_ROWS || bytes > GROUP_BYTES)
		write_group(parquet);
	return error_of(parquet);
}

int parquet_open(FILE *out, const struct parquet_column *columns, size_t count,
		 struct parquet **parquet)
{
	struct parquet *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->out = out;
	made->columns = columns;
	made->column_count = count;
	made->column = calloc(count, sizeof(*made->column));
	made->gzip = libdeflate_alloc_compressor(GZIP_LEVEL);
	if (!made->column || !made->gzip) {
		made->failed = true;
		(void)parquet_close(&made);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		clear_column(&made->column[i]);
	fputs(MAGIC, out);
	made->at = strlen(MAGIC);
	*parquet = made;
	return 0;
}

int parquet_close(struct parquet **parquet)
{
	struct parquet *old = *parquet;
	int err;

	*parquet = NULL;
	if (!old)
		return 0;
	if (!old->failed) {
		write_group(old);
		write_footer(old);
	}
	err = error_of(old);
	for (size_t i = 0; old->column && i < old->column_count; i++) {
		bytes_release(&old->column[i].values);
		bytes_release(&old->column[i].levels);
		bytes_release(&old->column[i].dictionary.values);
		free(old->column[i].dictionary.slots);
	}
	free(old->column);
	bytes_release(&old->page);
	bytes_release(&old->packed);
	bytes_release(&old->header);
	bytes_release(&old->text);
	bytes_release(&old->groups);
	if (old->gzip)
		libdeflate_free_compressor(old->gzip);
	free(old);
	return err;
}
