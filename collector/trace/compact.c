/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/compact.h"

#include "collector/base/varint.h"

/* Returns false at the end of the bytes or if they are malformed. */
static bool get_number(struct compact *from, uint64_t *out)
{
	const uint8_t *end = varint_get(from->at, from->end, out);

	from->at = end ?: from->end;
	return end;
}

struct compact_event compact_next(struct compact *from)
{
	struct compact_event event = { .kind = COMPACT_IS_NONE };
	uint64_t head, name;

	if (!get_number(from, &head))
		return event;
	event.delta_ns = head >> 1;
	from->ns += event.delta_ns;
	if (!(head & 1)) {
		event.kind = COMPACT_IS_END;
		return event;
	}
	if (!get_number(from, &name))
		return event;
	if (name == COMPACT_PACKET) {
		uint64_t bytes;

		if (get_number(from, &bytes) &&
		    bytes <= (uint64_t)(from->end - from->at)) {
			event.packet = from->at;
			event.packet_bytes = bytes;
			from->at += bytes;
			event.kind = COMPACT_IS_PACKET;
		}
	} else if (name == COMPACT_RESTART) {
		uint64_t last_ns, open;

		if (get_number(from, &last_ns) && get_number(from, &open) &&
		    open <= UINT32_MAX) {
			from->ns = last_ns;
			event.open = (uint32_t)open;
			event.kind = COMPACT_IS_RESTART;
		}
	} else if (name - COMPACT_NAMES <= UINT32_MAX) {
		event.kind = COMPACT_IS_BEGIN;
		event.name_iid = (uint32_t)(name - COMPACT_NAMES);
	}
	return event;
}

bool compact_open(struct compact *from, uint64_t *begin_ns,
		  struct compact_slice *out)
{
	uint64_t name, step;

	if (!get_number(from, &name) || name > UINT32_MAX ||
	    !get_number(from, &step))
		return false;
	*begin_ns += step >> 1;
	*out = (struct compact_slice){ .name_iid = (uint32_t)name,
				       .begin_ns = *begin_ns,
				       .noted = step & 1 };
	return true;
}

uint8_t *compact_put_restart(uint8_t *out, uint64_t last_ns, uint32_t open)
{
	*out++ = 1;
	*out++ = COMPACT_RESTART;
	out = varint_put(out, last_ns);
	return varint_put(out, open);
}

uint8_t *compact_put_open(uint8_t *out, uint64_t *begin_ns,
			  const struct compact_slice *slice)
{
	uint64_t step = slice->begin_ns - *begin_ns;

	*begin_ns = slice->begin_ns;
	out = varint_put(out, slice->name_iid);
	return varint_put(out, step << 1 | slice->noted);
}
