/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of cells. A cell has a turn: the number of the put that may fill it,
 * or one more when it is full. Whoever puts takes the next number, if the cell
 * is his, fills the cell and passes it on. So nobody waits for another thread.
 *
 * Of what finds no room, the stretch of time is kept: a snapshot of it misses
 * nothing, though it cannot say what was slow.
 */
#include "collector/flight/flight_queue.h"

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
	uint64_t put; /* the number of the next put */
	uint64_t taken; /* how many were taken; the main thread's */
	/* Of what found no room. The end is never set back: events come about
	 * in the order of their ends. */
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

/* A cell to fill, and the number of its put. NULL: all are full. */
static struct cell *claim_cell(struct flight_queue *queue, uint64_t *number)
{
	for (;;) {
		/* relaxed: the turn of the cell tells */
		uint64_t put = atom_load_rlx(&queue->put);
		struct cell *cell = &queue->cell[put % CELLS];
		/* order: acq, FLIGHT: the cell was taken */
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

/* The end before the begin, as flight_queue_rest() reads them the other way. */
static void put_rest(struct flight_queue *queue, uint64_t begin_ns,
		     uint64_t end_ns)
{
	uint64_t old;

	/* relaxed: a figure for a person */
	atom_add_rlx(&queue->rest_count, 1);
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
	} while (old > begin_ns &&
		 !atom_cas_sc(&queue->rest_begin_ns, old, begin_ns));
}

void flight_queue_put(struct flight_queue *queue,
		      const struct flight_event *event)
{
	uint64_t end_ns = MAX(event->begin_ns, event->end_ns), number;
	struct cell *cell = claim_cell(queue, &number);

	if (!cell) {
		put_rest(queue, event->begin_ns, end_ns);
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
	/* relaxed: whoever takes looks once more */
	return atom_load_rlx(&queue->cell[queue->taken % CELLS].turn) !=
	       queue->taken + 1;
}

bool flight_queue_rest(struct flight_queue *queue, struct flight_rest *out)
{
	/* order: sc, FLIGHT: whose begin it is has put his end before */
	uint64_t begin_ns = atom_xchg_sc(&queue->rest_begin_ns, UINT64_MAX);

	if (begin_ns == UINT64_MAX)
		return false;
	out->begin_ns = begin_ns;
	/* order: acq, FLIGHT: the end that was put before the begin */
	out->end_ns = atom_load_acq(&queue->rest_end_ns);
	/* order: sc, FLIGHT: each is told once */
	out->count = atom_xchg_sc(&queue->rest_count, 0);
	return true;
}
