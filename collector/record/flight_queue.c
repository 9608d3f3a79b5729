/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_queue - a bounded ring for many producers and one consumer. Each cell
 * has a turn: the number of the put that may fill it, or that number + 1 when
 * it is full. A producer takes the next number if that cell's turn equals it,
 * fills the cell and raises the turn. So no thread waits for another.
 *
 * When the ring is full, only the span from the first to the last of the lost
 * events is kept. Their snapshot is complete but cannot name the causes.
 */
#include "collector/record/flight_queue.h"

#include <stddef.h>
#include <stdlib.h>

#include "shared/atomic.h"
#include "shared/compiler.h"

#define CELLS 256

struct cell {
	uint64_t turn;
	struct flight_event event;
};

struct flight_queue {
	uint64_t put;
	uint64_t taken; /* events taken; consumer only */
	/* Events without room. The end is never reset, because events arrive in
	 * the order of their ends. */
	uint64_t rest_begin_ns, rest_end_ns, rest_count;
	struct cell cell[CELLS];
};

const char *flight_cause_name(enum flight_cause cause)
{
	static const char *const names[FLIGHT_CAUSES] = {
		[FLIGHT_CALL] = "call",
		[FLIGHT_ANNOTATION] = "annotation",
		[FLIGHT_COUNTER] = "counter",
		[FLIGHT_SIGNAL] = "signal",
		[FLIGHT_ASKED] = "asked",
		[FLIGHT_CRASH] = "crash",
	};

	return names[cause];
}

struct flight_queue *flight_queue_new(void)
{
	struct flight_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	queue->rest_begin_ns = UINT64_MAX;
	for (uint64_t i = 0; i < CELLS; i++)
		queue->cell[i].turn = i;
	return queue;
}

void flight_queue_free(struct flight_queue **queue)
{
	free(*queue);
	*queue = NULL;
}

static struct cell *claim_cell(struct flight_queue *queue, uint64_t *number)
{
	for (;;) {
		/* relaxed: the turn of the cell decides */
		uint64_t put = atom_load_rlx(&queue->put);
		struct cell *cell = &queue->cell[put % CELLS];
		/* order: acq, FLIGHT: the consumer has emptied the cell */
		int64_t ahead = (int64_t)(atom_load_acq(&cell->turn) - put);

		if (ahead < 0)
			return NULL;
		/* order: sc, FLIGHT: one has this number */
		if (ahead || !atom_cas_sc(&queue->put, put, put + 1))
			continue;
		*number = put;
		return cell;
	}
}

void flight_queue_put(struct flight_queue *queue,
		      const struct flight_event *event)
{
	uint64_t end_ns = MAX(event->begin_ns, event->end_ns), number;
	struct cell *cell = claim_cell(queue, &number);

	if (!cell) {
		uint64_t old;

		/* relaxed: a figure for a person */
		atom_add_rlx(&queue->rest_count, 1);
		/* First the end: flight_queue_rest() reads it last. */
		do {
			/* relaxed: compared again below */
			old = atom_load_rlx(&queue->rest_end_ns);
			/* order: sc, FLIGHT: the latest end stays */
		} while (old < end_ns &&
			 !atom_cas_sc(&queue->rest_end_ns, old, end_ns));
		do {
			/* relaxed: compared again below */
			old = atom_load_rlx(&queue->rest_begin_ns);
			/* order: sc, FLIGHT: the earliest begin stays */
		} while (old > event->begin_ns &&
			 !atom_cas_sc(&queue->rest_begin_ns, old,
				      event->begin_ns));
		return;
	}
	cell->event = *event;
	cell->event.end_ns = end_ns;
	/* order: rel, FLIGHT: the event is whole */
	atom_store_rel(&cell->turn, number + 1);
}

bool flight_queue_take(struct flight_queue *queue, struct flight_event *out)
{
	struct cell *cell = &queue->cell[queue->taken % CELLS];

	/* order: acq, FLIGHT: the event is whole */
	if (atom_load_acq(&cell->turn) != queue->taken + 1)
		return false;
	*out = cell->event;
	/* order: rel, FLIGHT: the event was read */
	atom_store_rel(&cell->turn, queue->taken + CELLS);
	queue->taken++;
	return true;
}

bool flight_queue_is_empty(const struct flight_queue *queue)
{
	/* relaxed: flight_queue_take() checks again */
	return atom_load_rlx(&queue->cell[queue->taken % CELLS].turn) !=
	       queue->taken + 1;
}

bool flight_queue_rest(struct flight_queue *queue, struct flight_rest *out)
{
	/* order: sc, FLIGHT: the writer of this start has stored its end */
	uint64_t begin_ns = atom_xchg_sc(&queue->rest_begin_ns, UINT64_MAX);

	if (begin_ns == UINT64_MAX)
		return false;
	out->begin_ns = begin_ns;
	/* order: acq, FLIGHT: an end no earlier than that start's */
	out->end_ns = atom_load_acq(&queue->rest_end_ns);
	/* order: sc, FLIGHT: counts each event once */
	out->count = atom_xchg_sc(&queue->rest_count, 0);
	return true;
}
