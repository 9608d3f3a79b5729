/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/index_items.h"

#include <endian.h>
#include <libdeflate.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/base/varint.h"

void index_put_item(struct bytes *out, enum index_kind kind,
		    const void *payload, size_t bytes)
{
	bytes_part(out, kind, payload, bytes);
}

/* --- batches ------------------------------------------------------------- */

static void put32(uint8_t *out, uint32_t value)
{
	value = htole32(value);
	memcpy(out, &value, sizeof(value));
}

static void put64(uint8_t *out, uint64_t value)
{
	value = htole64(value);
	memcpy(out, &value, sizeof(value));
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

static uint64_t get64(const uint8_t *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return le64toh(value);
}

static uint32_t batch_crc(const uint8_t *head, const void *items, size_t bytes)
{
	uint32_t crc = libdeflate_crc32(0, head, 4);

	crc = libdeflate_crc32(crc, head + 8, INDEX_BATCH_BYTES - 8);
	return libdeflate_crc32(crc, items, bytes);
}

void index_put_batch(uint8_t *out, const struct index_batch *batch,
		     const void *items)
{
	put32(out, batch->bytes);
	put64(out + 8, batch->trace_bytes);
	put32(out + 16, batch->tail_crc);
	put32(out + 20, 0);
	put64(out + 24, batch->number);
	put32(out + 4, batch_crc(out, items, batch->bytes));
}

void index_get_batch(const uint8_t *from, struct index_batch *out)
{
	*out = (struct index_batch){ .bytes = get32(from),
				     .crc = get32(from + 4),
				     .trace_bytes = get64(from + 8),
				     .tail_crc = get32(from + 16),
				     .number = get64(from + 24) };
}

bool index_check_batch(const uint8_t *head, const struct index_batch *batch,
		       const void *items)
{
	return batch->crc == batch_crc(head, items, batch->bytes);
}

uint32_t index_crc(const void *bytes, size_t count)
{
	return libdeflate_crc32(0, bytes, count);
}

/* --- items --------------------------------------------------------------- */

uint64_t index_get_number(struct index_get *get)
{
	uint64_t value;
	const uint8_t *end = varint_get(get->at, get->end, &value);

	get->at = end ?: get->end;
	get->bad |= !end;
	return end ? value : 0;
}

uint32_t index_get_item(struct index_get *items, struct index_get *payload)
{
	uint64_t kind, bytes;

	if (items->at == items->end)
		return 0;
	kind = index_get_number(items);
	bytes = index_get_number(items);
	if (items->bad || !kind || kind > UINT32_MAX ||
	    bytes > (uint64_t)(items->end - items->at)) {
		items->bad = true;
		return 0;
	}
	*payload =
		(struct index_get){ .at = items->at, .end = items->at + bytes };
	items->at += bytes;
	return (uint32_t)kind;
}
