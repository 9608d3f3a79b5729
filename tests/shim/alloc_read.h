/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc_read - reads the allocations in a ring one by one. The ring has not
 * wrapped. Clocks must never step back.
 */
#ifndef PERFREC_TESTS_SHIM_ALLOC_READ_H
#define PERFREC_TESTS_SHIM_ALLOC_READ_H

#include <err.h>
#include <stdbool.h>

#include "shared/record_ext.h"
#include "tests/shim/victims/alloc_log.h"
#include "tests/shim/mini_collector.h"

static inline void must(bool holds)
{
	if (!holds)
		errx(1, "the ring is malformed");
}

struct reader {
	const struct slot_shm *slot;
	const struct record *ring;
	uint64_t mask, next, last_clock;
};

static inline struct reader reader_of(const struct mini_collector *mini,
				      uint32_t index)
{
	return (struct reader){ .slot = mini_slot(mini, index),
				.ring = mini_ring(mini, index),
				.mask = mini->hello.ring_cells - 1 };
}

/* Returns false unless @cells are an allocation or a free. */
static inline bool decode_alloc(const struct record *cells,
				struct log_event *event)
{
	uint64_t word = cells[0].word;

	*event = (struct log_event){ 0 };
	switch (record_kind(word)) {
	case RECORD_ALLOC:
	case RECORD_FREE:
		event->op = record_kind(word) == RECORD_ALLOC ? LOG_ALLOC
							      : LOG_FREE;
		event->address = record_alloc_address(word);
		event->size = record_alloc_size(word);
		return true;
	case RECORD_EXT:
		break;
	default:
		return false;
	}
	event->address = cells[1].word;
	event->size = cells[1].clock;
	switch (record_ext(word)) {
	case EXT_ALLOC:
		event->op = LOG_ALLOC;
		return true;
	case EXT_FREE:
		event->op = LOG_FREE;
		return true;
	case EXT_REALLOC:
		must(cells[1].clock <= cells[0].clock);
		event->op = LOG_REALLOC;
		event->old = cells[1].word;
		event->address = cells[2].word;
		event->size = cells[2].clock;
		return true;
	default:
		must(record_ext(word) == EXT_PAD ||
		     record_ext(word) == EXT_ALLOC_LOSS);
		return false;
	}
}

static inline bool read_event(struct reader *reader, struct log_event *event)
{
	must(reader->slot->head <= reader->mask);
	while (reader->next < reader->slot->head) {
		const struct record *cells = &reader->ring[reader->next];
		uint64_t word = cells->word;

		reader->next += record_kind(word) == RECORD_EXT
					? 1 + record_ext_cells(word)
					: 1;
		must(reader->next <= reader->slot->head);
		must(cells->clock >= reader->last_clock);
		reader->last_clock = cells->clock;
		if (decode_alloc(cells, event))
			return true;
	}
	return false;
}

#endif
