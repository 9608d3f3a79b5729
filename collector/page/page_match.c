/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions with equal name and module are one from the start. So a function of
 * only one side is either new, gone, or in a module with another name on the
 * other side.
 */
#include "collector/page/page_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/page/page_data.h"
#include "shared/compiler.h"

#define SEVERAL UINT32_MAX

/* Arrays are indexed by function, name (a text) or node. */
struct match {
	struct page_data *data;
	/* By name: the function of only this side, 0, or SEVERAL. */
	uint32_t *only[PAGE_SIDES];
	uint32_t *function; /* by function: its new number */
	uint32_t *node; /* by node: its new number */
	struct pool nodes;
	uint32_t count;
};

static bool is_on_side(const struct page_data *data, uint32_t function,
		       enum page_side side)
{
	for (int key = 0; key < PAGE_KEYS; key++) {
		const struct page_value *value = &data->value[key];

		if (function < value->sum_room &&
		    (value->sums[function].self[side] ||
		     value->sums[function].total[side]))
			return true;
	}
	return false;
}

static int map_nodes(struct match *match)
{
	const struct page_data *data = match->data;

	pool_init(&match->nodes, data->nodes.budget, sizeof(struct page_node),
		  sizeof(struct page_node));
	for (uint32_t i = 0; i < data->nodes.count; i++) {
		struct page_node node = *page_data_node_at(data, i);

		/* Parents come first. */
		if (node.parent)
			node.parent = match->node[node.parent - 1] + 1;
		node.function = match->function[node.function];
		if (pool_intern(&match->nodes, &node, &match->node[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void apply(struct match *match)
{
	struct page_data *data = match->data;

	for (int key = 0; key < PAGE_KEYS; key++) {
		struct page_value *value = &data->value[key];

		for (size_t i = 0; i < value->count; i++)
			value->amounts[i].node =
				match->node[value->amounts[i].node];
		for (uint32_t i = 0; i < value->sum_room; i++) {
			uint32_t to = i < match->data->functions.count
					      ? match->function[i]
					      : i;

			/* The recording was added first, so its numbers are
			 * lower. */
			if (to == i || to >= value->sum_room)
				continue;
			value->sums[to].self[PAGE_BASE] =
				value->sums[i].self[PAGE_BASE];
			value->sums[to].total[PAGE_BASE] =
				value->sums[i].total[PAGE_BASE];
			value->sums[i] = (struct page_sums){ 0 };
		}
	}
	pool_release(&data->nodes);
	data->nodes = match->nodes;
	match->nodes = (struct pool){ 0 };
}

static int make_match(struct match *match)
{
	const struct page_data *data = match->data;
	size_t texts = (size_t)data->texts.pool.count + 1;
	int err;

	for (int side = 0; side < PAGE_SIDES; side++)
		match->only[side] = calloc(texts, sizeof(uint32_t));
	match->function = calloc(data->functions.count, sizeof(uint32_t));
	match->node = calloc((size_t)data->nodes.count + 1, sizeof(uint32_t));
	if (!match->only[PAGE_SELF] || !match->only[PAGE_BASE] ||
	    !match->function || !match->node)
		return -ENOMEM;
	for (uint32_t i = 1; i < data->functions.count; i++) {
		bool self = is_on_side(data, i, PAGE_SELF);
		bool base = is_on_side(data, i, PAGE_BASE);
		uint32_t *only;

		if (self == base)
			continue;
		only = &match->only[self ? PAGE_SELF : PAGE_BASE]
				   [page_data_function_at(data, i)->name];
		*only = *only ? SEVERAL : i;
	}
	for (uint32_t i = 0; i < data->functions.count; i++)
		match->function[i] = i;
	for (uint32_t name = 1; name <= data->texts.pool.count; name++) {
		uint32_t self = match->only[PAGE_SELF][name];
		uint32_t base = match->only[PAGE_BASE][name];

		if (!self || !base || self == SEVERAL || base == SEVERAL ||
		    !strcmp(trace_texts_get(&data->texts, name), "[unknown]"))
			continue;
		match->function[base] = self;
		match->count++;
	}
	err = match->count ? map_nodes(match) : 0;
	if (!err && match->count)
		apply(match);
	return err;
}

uint32_t page_match_names(struct page_data *data)
{
	struct match match = { .data = data };
	int err = make_match(&match);

	data->short_of_memory |= err < 0;
	for (int side = 0; side < PAGE_SIDES; side++)
		free(match.only[side]);
	free(match.function);
	free(match.node);
	pool_release(&match.nodes);
	return err ? 0 : match.count;
}
