/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_groups - a thread waits for one lock, not for a group, so rows are added up
 * after the sweep of each lock.
 */
#include "collector/read/lock_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/pool.h"
#include "shared/compiler.h"

/* Returns the length of "mutex first waited for in take" in @text, which has the
 * address of the lock at its end: "mutex first waited for in take (0x5581a0)" or
 * "mutex 0x5581a0". Returns 0 if the lock lies in a file. */
static size_t lock_kind_bytes(const char *text)
{
	const char *space = strrchr(text, ' ');

	if (!space)
		return 0;
	return !strncmp(space, " (0x", 4) || !strncmp(space, " 0x", 3)
		       ? (size_t)(space - text)
		       : 0;
}

static void add_to_group(struct lock_row *group, const struct lock_row *row)
{
	if (!group->locks)
		group->range = row->range;
	group->locks++;
	group->first_stack = row->first_stack;
	group->held = row->held;
	group->waits += row->waits;
	group->blocked_ns += row->blocked_ns;
	group->own_ns += row->own_ns;
	group->range.from_ns = MIN(group->range.from_ns, row->range.from_ns);
	group->range.to_ns = MAX(group->range.to_ns, row->range.to_ns);
	group->holds += row->holds;
	group->held_ns += row->held_ns;
	group->longest_ns = MAX(group->longest_ns, row->longest_ns);
	group->hand_over_ns += row->hand_over_ns;
	group->outside_ns += row->outside_ns;
	group->timed_out_ns += row->timed_out_ns;
	group->ended_ns += row->ended_ns;
	group->unknown_ns += row->unknown_ns;
}

/* Sets @number[N] to the group of row N. */
static int group_rows(const struct lock_sums *sums, struct trace_waits *waits,
		      struct pool *groups, uint32_t *number)
{
	const struct lock_row *row = sums->rows.items;

	for (uint32_t i = 0; i < sums->rows.count; i++, row++) {
		const char *text = trace_texts_get(&waits->texts, row->lock);
		size_t bytes = row->first_stack ? lock_kind_bytes(text) : 0;
		struct lock_row key = { .process = row->process,
					.lock = row->lock };

		if (bytes) {
			/* The text may move. */
			char *kind = strndup(text, bytes);

			if (!kind)
				return -ENOMEM;
			key.lock = trace_texts_number(
				&waits->texts, (const uint8_t *)kind, bytes);
			free(kind);
			key.stack = row->first_stack;
			key.kind = row->held;
		}
		if (!key.lock || pool_intern(groups, &key, &number[i]) < 0)
			return -ENOMEM;
		add_to_group(&((struct lock_row *)groups->items)[number[i]],
			     row);
	}
	return 0;
}

static int group_parts(const struct lock_sums *sums, struct pool *parts,
		       const uint32_t *number)
{
	const struct lock_part *part = sums->parts.items;

	for (uint32_t i = 0; i < sums->parts.count; i++, part++) {
		struct lock_part *group;
		struct lock_part key = *part;
		uint32_t at;

		key.row = number[part->row];
		key.times = key.ns = 0;
		if (pool_intern(parts, &key, &at) < 0)
			return -ENOMEM;
		group = &((struct lock_part *)parts->items)[at];
		group->times += part->times;
		group->ns += part->ns;
	}
	return 0;
}

int lock_groups_make(struct lock_sums *sums, struct trace_waits *waits)
{
	uint32_t *number =
		calloc((size_t)sums->rows.count + 1, sizeof(*number));
	struct pool rows, parts;
	int err;

	pool_init(&rows, &sums->budget, sums->rows.item_bytes,
		  sums->rows.key_bytes);
	pool_init(&parts, &sums->budget, sums->parts.item_bytes,
		  sums->parts.key_bytes);
	err = number ? group_rows(sums, waits, &rows, number) : -ENOMEM;
	if (!err)
		err = group_parts(sums, &parts, number);
	free(number);
	if (err) {
		pool_release(&rows);
		pool_release(&parts);
		return err;
	}
	pool_release(&sums->rows);
	pool_release(&sums->parts);
	sums->rows = rows;
	sums->parts = parts;
	return 0;
}
