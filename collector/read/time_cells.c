/* SPDX-License-Identifier: Apache-2.0
 *
 * time_cells - buckets are 2^shift ns wide and aligned; their numbers count
 * from time 0. There are at most TIME_BUCKETS_MAX of them, so the last ten bits
 * of a number are unique, and the key of a cell has only these. A new bucket
 * before all others changes no key.
 */
#include "collector/read/time_cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define SHIFT_FIRST 10 /* about a microsecond */
#define SLOTS_FIRST 1024

void time_cells_init(struct time_cells *table, uint32_t most)
{
	*table = (struct time_cells){ .most = most, .shift = SHIFT_FIRST };
}

void time_cells_release(struct time_cells *table)
{
	free(table->cells);
	free(table->slots);
	*table = (struct time_cells){ 0 };
}

static uint64_t time_cell_key(uint64_t bucket, uint32_t thread, uint32_t node)
{
	return (bucket & 1023) << 44 | (uint64_t)thread << 24 | node;
}

static uint32_t *find_time_cell(const struct time_cells *table, uint64_t key)
{
	uint32_t at =
		(uint32_t)(key * HASH_MULTIPLIER >> 32) & table->slot_mask;

	while (table->slots[at] &&
	       table->cells[table->slots[at] - 1].key != key)
		at = (at + 1) & table->slot_mask;
	return &table->slots[at];
}

/* Makes room for one more cell. The caller checks the limit. */
static int grow_table(struct time_cells *table)
{
	uint32_t slots =
		table->slots ? 2 * (table->slot_mask + 1) : SLOTS_FIRST;
	uint32_t *old = table->slots;

	if (grow_array(table->cells, table->room, table->count + 1))
		return -ENOMEM;
	if (old && 2 * (table->count + 1) <= table->slot_mask)
		return 0;
	table->slots = calloc(slots, sizeof(*table->slots));
	if (!table->slots) {
		table->slots = old;
		return -ENOMEM;
	}
	free(old);
	table->slot_mask = slots - 1;
	for (uint32_t i = 0; i < table->count; i++)
		*find_time_cell(table, table->cells[i].key) = i + 1;
	return 0;
}

static void move_cells(struct time_cells *table)
{
	uint32_t count = table->count;

	memset(table->slots, 0,
	       ((size_t)table->slot_mask + 1) * sizeof(*table->slots));
	table->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct time_cell cell = table->cells[i], *to;
		uint64_t bucket =
			table->first + time_cells_bucket(table, &cell);
		uint32_t *slot;

		cell.key = time_cell_key(bucket >> 1, time_cells_thread(&cell),
					 time_cells_node(&cell));
		slot = find_time_cell(table, cell.key);
		if (*slot) {
			to = &table->cells[*slot - 1];
			to->ns += cell.ns;
			to->calls += cell.calls;
			to->samples += cell.samples;
		} else {
			/* Never behind cell i. */
			table->cells[table->count++] = cell;
			*slot = table->count;
		}
	}
}

static void double_width(struct time_cells *table)
{
	if (table->slots)
		move_cells(table);
	table->shift++;
	table->first >>= 1;
	table->last >>= 1;
}

/* Extends the table to the bucket of @ns, and returns the bucket. */
static uint64_t reach(struct time_cells *table, uint64_t ns)
{
	uint64_t bucket = ns >> table->shift;

	if (likely(table->begun && bucket >= table->first &&
		   bucket <= table->last))
		return bucket;
	if (!table->begun)
		table->first = table->last = bucket;
	table->begun = true;
	while (MAX(bucket, table->last) - MIN(bucket, table->first) >=
	       TIME_BUCKETS_MAX) {
		double_width(table);
		bucket >>= 1;
	}
	table->first = MIN(table->first, bucket);
	table->last = MAX(table->last, bucket);
	return bucket;
}

static struct time_cell *add_cell(struct time_cells *table, uint64_t key,
				  uint64_t ns)
{
	while (table->count == table->most && table->first != table->last) {
		double_width(table);
		key = time_cell_key(ns >> table->shift,
				    key >> 24 & (TIME_THREADS_MAX - 1),
				    key & (TIME_NODES_MAX - 1));
	}
	if (table->count == table->most || grow_table(table)) {
		table->refused++;
		return NULL;
	}
	/* Doubling may already have produced this cell. */
	if (!*find_time_cell(table, key)) {
		table->cells[table->count] = (struct time_cell){ .key = key };
		*find_time_cell(table, key) = ++table->count;
	}
	return &table->cells[*find_time_cell(table, key) - 1];
}

struct time_cell *time_cells_get(struct time_cells *table, uint32_t thread,
				 uint32_t node, uint64_t ns, uint32_t *hint)
{
	uint64_t key = time_cell_key(reach(table, ns), thread, node);
	struct time_cell *cell = NULL;

	if (likely(*hint < table->count && table->cells[*hint].key == key))
		return &table->cells[*hint];
	if (table->slots && *find_time_cell(table, key))
		cell = &table->cells[*find_time_cell(table, key) - 1];
	else
		cell = add_cell(table, key, ns);
	if (cell)
		*hint = (uint32_t)(cell - table->cells);
	return cell;
}

void time_cells_add(struct time_cells *table, uint32_t thread, uint32_t node,
		    uint64_t from, uint64_t to, uint32_t *hint)
{
	/* Fixes the width for the whole loop. */
	reach(table, from);
	reach(table, to);
	while (from < to) {
		struct time_cell *cell =
			time_cells_get(table, thread, node, from, hint);
		uint64_t end = ((from >> table->shift) + 1) << table->shift;

		end = end > from ? MIN(end, to) : to;
		if (cell)
			cell->ns += end - from;
		from = end;
	}
}

void time_cells_reach(struct time_cells *table, uint64_t from, uint64_t to)
{
	reach(table, from);
	reach(table, to);
}

static uint64_t share_of(uint64_t amount, uint64_t part, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)amount * part / whole);
}

static void add_amount(struct time_cells *table, uint32_t thread, uint32_t node,
		       uint64_t at, const struct time_amount *amount)
{
	uint32_t hint = 0;
	struct time_cell *cell = time_cells_get(table, thread, node, at, &hint);

	if (!cell)
		return;
	cell->ns += amount->ns;
	cell->calls += amount->calls;
}

void time_cells_spread(struct time_cells *table, uint32_t thread, uint32_t node,
		       uint64_t from, uint64_t to,
		       const struct time_amount *amount)
{
	struct time_amount given = { 0 };

	/* Fixes the width for the whole loop. */
	time_cells_reach(table, from, MAX(from, to));
	if (to <= from || from >> table->shift == to >> table->shift) {
		add_amount(table, thread, node, from, amount);
		return;
	}
	for (uint64_t at = from; at < to;) {
		uint64_t end = ((at >> table->shift) + 1) << table->shift;
		uint64_t until = end > at ? MIN(end, to) : to;
		const struct time_amount sum = {
			share_of(amount->ns, until - from, to - from),
			share_of(amount->calls, until - from, to - from),
		};
		const struct time_amount part = { sum.ns - given.ns,
						  sum.calls - given.calls };

		if (part.ns || part.calls)
			add_amount(table, thread, node, at, &part);
		given = sum;
		at = until;
	}
}

static int compare_keys(const void *a, const void *b)
{
	const struct time_cell *one = a, *other = b;

	return one->key < other->key ? -1 : one->key > other->key;
}

/* Frees room for new cells, because sorting needs as much. */
static void shrink_table(struct time_cells *table)
{
	struct time_cell *cells = realloc(
		table->cells, ((size_t)table->count + 1) * sizeof(*cells));

	free(table->slots);
	table->slots = NULL;
	if (!cells)
		return;
	table->cells = cells;
	table->room = table->count + 1;
}

void time_cells_sort(struct time_cells *table)
{
	shrink_table(table);
	/* Keys with buckets relative to the first. */
	for (uint32_t i = 0; i < table->count; i++) {
		struct time_cell *cell = &table->cells[i];

		cell->key = time_cell_key(time_cells_bucket(table, cell),
					  time_cells_thread(cell),
					  time_cells_node(cell));
	}
	if (table->count)
		qsort(table->cells, table->count, sizeof(*table->cells),
		      compare_keys);
	for (uint32_t i = 0; i < table->count; i++) {
		struct time_cell *cell = &table->cells[i];

		cell->key = time_cell_key((cell->key >> 44) + table->first,
					  time_cells_thread(cell),
					  time_cells_node(cell));
	}
}
