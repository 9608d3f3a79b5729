/* SPDX-License-Identifier: Apache-2.0
 *
 * call_chunks - each row of a chunk stands for a stack of slices: the number of
 * calls that ended, and the duration of the longest. A slice with a name of its
 * own counts for its site, so a row of a site may stand for any name.
 *
 * The N longest calls: each row proves one call of its longest duration. So a
 * call shorter than the N-th longest of these is not among the N longest.
 */
#include "collector/read/call_chunks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/names/name_pattern.h"
#include "collector/read/call_wish.h"
#include "shared/compiler.h"

enum chunk_match { NOT_ASKED, MATCHES, MAY_MATCH, DIFFERS };

/* --- names --------------------------------------------------------------- */

static enum chunk_match match_name(const struct call_chunks *chunks,
				   const char *name)
{
	return name_pattern_matches(chunks->wish->function, name, "") ? MATCHES
								      : DIFFERS;
}

static enum chunk_match match_text(const struct call_chunks *chunks,
				   uint32_t number)
{
	const struct index_text *text = &chunks->index->texts[number - 1];
	enum chunk_match match = MAY_MATCH;
	char *copy;

	if (chunks->texts[number - 1])
		return chunks->texts[number - 1];
	copy = strndup((const char *)text->at, text->count);
	if (copy)
		match = match_name(chunks, copy);
	free(copy);
	chunks->texts[number - 1] = (uint8_t)match;
	return match;
}

/* Sorted, because a damaged file may have iids of any size, too large for a
 * table. */
static int compare_names(const void *a, const void *b)
{
	const struct index_name *x = a, *y = b;

	if (x->iid != y->iid)
		return x->iid < y->iid ? -1 : 1;
	return x->text < y->text ? -1 : x->text > y->text;
}

static struct index_name *sort_names(const struct index_sequence *sequence)
{
	size_t count = sequence->name_count;
	struct index_name *names = calloc(count + 1, sizeof(*names));

	if (names && count) {
		memcpy(names, sequence->names, count * sizeof(*names));
		qsort(names, count, sizeof(*names), compare_names);
	}
	return names;
}

/* Returns the number of the text of @iid; 0: none, or several. */
static uint32_t find_text(const struct index_name *names, uint32_t count,
			  uint32_t iid)
{
	uint32_t low = search_first(i, count, names[i].iid > iid);

	if (!low || names[low - 1].iid != iid ||
	    (low > 1 && names[low - 2].iid == iid &&
	     names[low - 2].text != names[low - 1].text))
		return 0;
	return names[low - 1].text;
}

static enum chunk_match match_node(const struct call_chunks *chunks,
				   const struct index_sequence *sequence,
				   uint32_t iid, const struct index_name *names)
{
	uint32_t text;

	if (!iid)
		return match_name(chunks, INDEX_WAIT_NAME);
	if (index_interned_has(&chunks->interned, sequence->id, iid) !=
	    INTERNED_NAME)
		return MAY_MATCH;
	text = find_text(names, sequence->name_count, iid);
	return text ? match_text(chunks, text) : MAY_MATCH;
}

static int match_nodes(struct call_chunks *chunks, uint32_t number)
{
	const struct index_sequence *sequence =
		&chunks->index->sequences[number];
	uint8_t *nodes = calloc((size_t)sequence->node_count + 1, 1);
	struct index_name *names = nodes ? sort_names(sequence) : NULL;

	chunks->nodes[number] = nodes;
	if (!names)
		return -ENOMEM;
	for (uint32_t i = 1; i < sequence->node_count; i++)
		nodes[i] = (uint8_t)match_node(chunks, sequence,
					       sequence->nodes[i].iid, names);
	free(names);
	return 0;
}

/* --- the longest calls --------------------------------------------------- */

struct lengths {
	uint64_t *list;
	size_t count, room;
	bool unsure; /* a row may or may not match */
};

static int add_lengths(struct call_chunks *chunks, uint32_t number,
		       const struct index_chunk *chunk, struct lengths *lengths)
{
	const uint8_t *nodes = chunks->nodes[number];
	struct index_get rows =
		index_load(chunks->index, chunk->rows, &chunks->rows);
	struct index_row row;
	int64_t node = 0;

	for (uint64_t left = nodes ? chunk->row_count : 0;
	     left && index_row_next(&chunks->index->sequences[number], &rows,
				    &node, &row);
	     left--) {
		uint8_t match = nodes[row.node];

		lengths->unsure |= match == MAY_MATCH && row.calls;
		if (match != MATCHES || !row.calls)
			continue;
		if (grow_array(lengths->list, lengths->room,
			       lengths->count + 1) ||
		    !lengths->list)
			return -ENOMEM;
		lengths->list[lengths->count++] = row.longest_ns;
	}
	return 0;
}

static int compare_lengths(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? 1 : a > b ? -1 : 0;
}

static bool wants_longest(const struct call_wish *wish)
{
	return wish->limit && wish->limit <= CALL_SEARCH_MAX &&
	       !wish->by_time && !wish->thread && !wish->min_ns &&
	       wish->max_ns == UINT64_MAX && !wish->range.from_ns &&
	       wish->range.to_ns == UINT64_MAX;
}

/* Finds a lower bound for the durations of the longest calls. */
static int find_least(struct call_chunks *chunks)
{
	const struct trace_index *index = chunks->index;
	struct lengths lengths = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < index->sequence_count && !err; i++)
		for (uint32_t j = 0;
		     j < index->sequences[i].chunk_count && !err; j++) {
			const struct index_chunk *chunk =
				&index->sequences[i].chunks[j];

			if (chunk->whole && !chunk->rough)
				err = add_lengths(chunks, i, chunk, &lengths);
		}
	if (!err && lengths.list && !lengths.unsure &&
	    lengths.count >= chunks->wish->limit) {
		qsort(lengths.list, lengths.count, sizeof(*lengths.list),
		      compare_lengths);
		chunks->least_ns = lengths.list[chunks->wish->limit - 1];
		chunks->all = true;
	}
	free(lengths.list);
	return err;
}

int call_chunks_take(struct call_chunks *chunks,
		     const struct trace_index *index,
		     const struct call_wish *wish)
{
	int err;

	*chunks = (struct call_chunks){ .index = index,
					.wish = wish,
					.least_ns = wish->min_ns };
	err = index_interned_take(&chunks->interned, index);
	chunks->texts = calloc((size_t)index->text_count + 1, 1);
	chunks->nodes = calloc((size_t)index->sequence_count + 1,
			       sizeof(*chunks->nodes));
	if (!chunks->texts || !chunks->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < index->sequence_count && !err; i++)
		err = match_nodes(chunks, i);
	if (!err && wants_longest(wish))
		err = find_least(chunks);
	return err;
}

void call_chunks_release(struct call_chunks *chunks)
{
	for (uint32_t i = 0; chunks->nodes && i < chunks->index->sequence_count;
	     i++)
		free(chunks->nodes[i]);
	free(chunks->nodes);
	free(chunks->texts);
	free(chunks->rows.at);
	index_interned_release(&chunks->interned);
}

/* --- chunks -------------------------------------------------------------- */

/* Returns true if each call that ends in @chunk is inside the range, or each
 * outside. */
static bool is_apart(const struct call_chunks *chunks,
		     const struct index_chunk *chunk, bool *outside)
{
	const struct time_range *range = &chunks->wish->range;

	*outside = chunk->end_ns < range->from_ns;
	return *outside || (chunk->start_ns >= range->from_ns &&
			    chunk->end_ns < range->to_ns);
}

/* Returns true if the calls of a row must be read, unless its name differs. */
static bool wants_row(const struct call_chunks *chunks,
		      const struct index_row *row, uint8_t match)
{
	return match == MAY_MATCH || chunks->wish->thread ||
	       row->longest_ns >= chunks->least_ns;
}

bool call_chunks_want(void *context, const struct index_sequence *sequence,
		      uint32_t number)
{
	struct call_chunks *chunks = context;
	const struct index_chunk *chunk = &sequence->chunks[number];
	const uint8_t *nodes =
		chunks->nodes[sequence - chunks->index->sequences];
	uint64_t calls = 0, longest_ns = 0, left = chunk->row_count;
	bool outside, apart = is_apart(chunks, chunk, &outside);
	struct index_get rows;
	struct index_row row;
	int64_t node = 0;

	if (chunk->rough || outside)
		return !outside;
	rows = index_load(chunks->index, chunk->rows, &chunks->rows);
	for (; left && index_row_next(sequence, &rows, &node, &row); left--) {
		if (nodes[row.node] == DIFFERS || !row.calls)
			continue;
		if (!apart || wants_row(chunks, &row, nodes[row.node]))
			return true;
		calls += row.calls;
		longest_ns = MAX(longest_ns, row.longest_ns);
	}
	/* Damaged rows: read the chunk. */
	if (left)
		return true;
	chunks->passed += calls;
	chunks->longest_ns = MAX(chunks->longest_ns, longest_ns);
	return false;
}
