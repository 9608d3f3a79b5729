/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/code/code_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/bytes.h"
#include "collector/code/code_plan.h"

struct packed_head {
	uint64_t functions, sites, site_functions, function_sites;
	uint64_t text_bytes, decoded, unknown_sites;
	uint64_t moves, move_bytes, is_moved;
};

struct packed_function {
	uint64_t address, slot, refused_at;
	uint32_t first, count;
	uint32_t refused, entry_build;
};

struct packed_site {
	uint64_t address;
	uint32_t first, count;
	uint8_t form, length, is_exit, r11_live;
	uint8_t bytes[CODE_SITE_BYTES];
};

_Static_assert(sizeof(struct packed_function) == 40, "no gaps");
_Static_assert(sizeof(struct packed_site) == 32, "no gaps");

/* --- pack ---------------------------------------------------------------- */

static void pack_functions(const struct code_plan *plan, struct bytes *out)
{
	for (size_t i = 0; i < plan->function_count; i++) {
		const struct code_function *from = &plan->functions[i];
		const struct packed_function function = {
			.address = from->address,
			.slot = from->slot,
			.refused_at = from->refused_at,
			.first = from->first,
			.count = from->count,
			.refused = from->refused,
			.entry_build = from->entry_build,
		};

		bytes_put(out, &function, sizeof(function));
	}
}

void code_pack(const struct code_plan *plan, struct bytes *out)
{
	struct packed_head head = {
		.functions = plan->function_count,
		.sites = plan->site_count,
		.text_bytes = plan->text_bytes,
		.decoded = plan->decoded,
		.unknown_sites = plan->unknown_sites,
		.moves = plan->moves.count,
		.move_bytes = plan->moves.byte_count,
		.is_moved = plan->is_moved,
	};

	for (size_t i = 0; i < plan->site_count; i++)
		head.site_functions += plan->sites[i].count;
	for (size_t i = 0; i < plan->function_count; i++)
		head.function_sites += plan->functions[i].count;
	bytes_put(out, &head, sizeof(head));
	pack_functions(plan, out);
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct code_site *from = &plan->sites[i];
		struct packed_site site = {
			.address = from->address,
			.first = from->first,
			.count = from->count,
			.form = from->form,
			.length = from->length,
			.is_exit = from->is_exit,
			.r11_live = from->r11_live,
		};

		memcpy(site.bytes, from->bytes, sizeof(site.bytes));
		bytes_put(out, &site, sizeof(site));
	}
	bytes_put(out, plan->site_functions,
		  head.site_functions * sizeof(*plan->site_functions));
	bytes_put(out, plan->function_sites,
		  head.function_sites * sizeof(*plan->function_sites));
	bytes_put(out, plan->moves.list,
		  head.moves * sizeof(*plan->moves.list));
	bytes_put(out, plan->moves.bytes, head.move_bytes);
}

/* --- unpack -------------------------------------------------------------- */

static bool head_holds(const struct packed_head *head, size_t size)
{
	const uint64_t most = UINT32_MAX;

	return head->functions <= most && head->sites <= most &&
	       head->site_functions <= most && head->function_sites <= most &&
	       head->unknown_sites <= most && head->moves <= most &&
	       head->move_bytes <= most && head->is_moved <= 1 &&
	       size == sizeof(*head) +
			       head->functions *
				       sizeof(struct packed_function) +
			       head->sites * sizeof(struct packed_site) +
			       (head->site_functions + head->function_sites) *
				       sizeof(uint32_t) +
			       head->moves * sizeof(struct code_move) +
			       head->move_bytes;
}

static bool range_holds(uint32_t first, uint32_t count, uint64_t room)
{
	return first <= room && count <= room - first;
}

static bool take_functions(struct code_plan *plan, const uint8_t *from,
			   const struct packed_head *head)
{
	for (size_t i = 0; i < head->functions; i++) {
		struct packed_function function;

		memcpy(&function, from + i * sizeof(function),
		       sizeof(function));
		if (function.refused >= CODE_REFUSALS ||
		    function.entry_build > 1 ||
		    !range_holds(function.first, function.count,
				 head->function_sites))
			return false;
		plan->functions[i] = (struct code_function){
			.address = function.address,
			.slot = function.slot,
			.refused = (uint8_t)function.refused,
			.entry_build = function.entry_build,
			.refused_at = function.refused_at,
			.first = function.first,
			.count = function.count,
		};
	}
	return true;
}

static bool take_sites(struct code_plan *plan, const uint8_t *from,
		       const struct packed_head *head)
{
	uint64_t end = 0;

	for (size_t i = 0; i < head->sites; i++) {
		struct packed_site site;

		memcpy(&site, from + i * sizeof(site), sizeof(site));
		/* Plans with slots are not kept. */
		if (site.form >= CODE_SLOT || !site.length ||
		    site.length > CODE_SITE_BYTES || site.is_exit > 1 ||
		    site.r11_live > 1 || site.address < end ||
		    site.address > UINT64_MAX - CODE_SITE_BYTES ||
		    !range_holds(site.first, site.count, head->site_functions))
			return false;
		end = site.address + site.length;
		plan->sites[i] = (struct code_site){
			.address = site.address,
			.form = site.form,
			.length = site.length,
			.is_exit = site.is_exit,
			.r11_live = site.r11_live,
			.first = site.first,
			.count = site.count,
		};
		memcpy(plan->sites[i].bytes, site.bytes, sizeof(site.bytes));
	}
	return true;
}

/* Returns false if a number is not below @below. */
static bool take_numbers(uint32_t *to, const uint8_t *from, uint64_t count,
			 uint64_t below)
{
	memcpy(to, from, count * sizeof(*to));
	for (uint64_t i = 0; i < count; i++)
		if (to[i] >= below)
			return false;
	return true;
}

/* Each site of form CODE_MOVED has its move, sorted by address. */
static bool take_moves(struct code_plan *plan, const uint8_t *from)
{
	struct code_moves *moves = &plan->moves;
	size_t sites = 0;

	memcpy(moves->list, from, moves->count * sizeof(*moves->list));
	memcpy(moves->bytes, from + moves->count * sizeof(*moves->list),
	       moves->byte_count);
	for (size_t i = 1; i < moves->count; i++)
		if (moves->list[i].address <= moves->list[i - 1].address)
			return false;
	for (size_t i = 0; i < plan->site_count; i++)
		sites += plan->sites[i].form == CODE_MOVED;
	return sites == moves->count && code_moves_hold(moves);
}

static bool make_tables(struct code_plan *plan, const struct packed_head *head)
{
	plan->functions = calloc(head->functions + 1, sizeof(*plan->functions));
	plan->sites = calloc(head->sites + 1, sizeof(*plan->sites));
	plan->site_functions =
		calloc(head->site_functions + 1, sizeof(*plan->site_functions));
	plan->function_sites =
		calloc(head->function_sites + 1, sizeof(*plan->function_sites));
	plan->moves.list = calloc(head->moves + 1, sizeof(*plan->moves.list));
	plan->moves.bytes = malloc(head->move_bytes + 1);
	plan->moves.count = head->moves;
	plan->moves.byte_count = head->move_bytes;
	plan->function_count = head->functions;
	plan->site_count = head->sites;
	plan->text_bytes = head->text_bytes;
	plan->decoded = head->decoded;
	plan->unknown_sites = (uint32_t)head->unknown_sites;
	plan->is_moved = head->is_moved;
	return plan->functions && plan->sites && plan->site_functions &&
	       plan->function_sites && plan->moves.list && plan->moves.bytes;
}

static bool take_tables(struct code_plan *plan, const struct packed_head *head,
			const uint8_t *at)
{
	if (!take_functions(plan, at, head))
		return false;
	at += head->functions * sizeof(struct packed_function);
	if (!take_sites(plan, at, head))
		return false;
	at += head->sites * sizeof(struct packed_site);
	if (!take_numbers(plan->site_functions, at, head->site_functions,
			  head->functions))
		return false;
	at += head->site_functions * sizeof(uint32_t);
	if (!take_numbers(plan->function_sites, at, head->function_sites,
			  head->sites))
		return false;
	at += head->function_sites * sizeof(uint32_t);
	return take_moves(plan, at);
}

int code_unpack(const void *from, size_t size, struct code_plan **out)
{
	struct packed_head head;
	struct code_plan *plan;
	int err = 0;

	*out = NULL;
	if (size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, from, sizeof(head));
	if (!head_holds(&head, size))
		return -EBADMSG;
	plan = calloc(1, sizeof(*plan));
	if (!plan || !make_tables(plan, &head))
		err = -ENOMEM;
	else if (!take_tables(plan, &head,
			      (const uint8_t *)from + sizeof(head)))
		err = -EBADMSG;
	if (err)
		code_plan_free(&plan);
	*out = plan;
	return err;
}
