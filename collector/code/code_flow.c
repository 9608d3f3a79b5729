/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/code/code_file.h"
#include "collector/code/code_returns.h"
#include "collector/code/code_site.h"
#include "collector/code/forms.h"
#include "shared/compiler.h"

#define STEPS_PER_OP 40 /* real functions need up to 10 */
#define STEPS_MORE 100000
#define CALLEES_MAX 1024 /* that are checked for returning */
#define CALLEE_OPS_MAX 4096
#define STEPS_OF_REACH 4u

struct code_block {
	size_t first, end;
	uint32_t member;
	bool is_reached, is_queued, is_idle; /* idle: only nops and stops */
};

/* --- constants ----------------------------------------------------------- */

static uint32_t value_of_address(struct code_flow *flow, uint64_t address)
{
	struct code_const wanted = { .address = address };

	if (code_target_at(&flow->scan->stubs, address))
		return CODE_HOOK;
	wanted.is_code = code_pieces_at(flow->group.pieces, address);
	if (!wanted.is_code && !code_file_at(flow->file, address, 1))
		return CODE_UNKNOWN;
	return code_value(&flow->values, &wanted);
}

/* Only memory that the dynamic linker alone writes has a known value. */
static uint32_t value_of_memory(struct code_flow *flow, uint64_t slot)
{
	const struct code_reloc *reloc = code_file_reloc(flow->file, slot);
	const struct code_section *relro = &flow->file->relro;
	uint64_t address;

	if (reloc &&
	    (reloc->kind == CODE_HOOK_ENTER || reloc->kind == CODE_HOOK_EXIT))
		return CODE_HOOK;
	if (reloc && reloc->kind == CODE_SYMBOL) {
		struct code_const wanted = { reloc->value, slot, true };

		return !reloc->value || code_pieces_at(flow->group.pieces,
						       reloc->value)
			       ? code_value(&flow->values, &wanted)
			       : CODE_UNKNOWN;
	}
	if (slot - relro->vaddr >= relro->bytes ||
	    !code_file_pointer(flow->file, slot, &address))
		return CODE_UNKNOWN;
	return value_of_address(flow, address);
}

static uint32_t value_of_op(struct code_flow *flow, const struct code_op *op)
{
	switch (op->kind) {
	case CODE_OP_CONST:
		return op->extra == 1 || flow->file->is_fixed
			       ? value_of_address(flow, op->value)
			       : CODE_UNKNOWN;
	case CODE_OP_STORE_CONST:
	case CODE_OP_PUSH_CONST:
		return flow->file->is_fixed ? value_of_address(flow, op->value)
					    : CODE_UNKNOWN;
	case CODE_OP_LOAD_TABLE:
	case CODE_OP_JUMP_TABLE:
		return op->base == CODE_NO_REGISTER
			       ? value_of_address(flow, op->value)
			       : CODE_UNKNOWN;
	case CODE_OP_LOAD:
	case CODE_OP_CHOOSE_LOAD:
		return value_of_memory(flow, op->value);
	default:
		return CODE_UNKNOWN;
	}
}

/* --- findings ------------------------------------------------------------ */

static void note_flow_error(struct code_flow *flow, int err)
{
	if (err)
		flow->err = err;
}

static void blame(struct code_flow *flow, uint32_t number,
		  enum code_refusal refusal, uint64_t at)
{
	const struct code_const *known = &flow->values.consts[number];
	struct code_blame blame = { .address = known->address,
				    .slot = known->slot,
				    .at = at,
				    .refusal = (uint8_t)refusal };

	if (known->is_code)
		note_flow_error(flow, code_found_blame(flow->found, &blame));
}

/* Any function whose address occurs in the group may be the unknown one. Only
 * the first reason is kept. */
static void blame_group(struct code_flow *flow, enum code_refusal refusal,
			uint64_t at)
{
	if (flow->is_blamed)
		return;
	flow->is_blamed = true;
	for (size_t i = 0; i < flow->group.ops.count; i++)
		value_of_op(flow, &flow->group.ops.list[i]);
	for (size_t i = 0; i < flow->values.const_count; i++)
		blame(flow, (uint32_t)i, refusal, at);
	for (size_t i = 0; i < flow->group.member_count; i++) {
		struct code_blame begin = {
			.address = flow->group.members[i].piece->start,
			.at = at,
			.refusal = (uint8_t)refusal,
		};

		note_flow_error(flow, code_found_blame(flow->found, &begin));
	}
}

static void blame_value(struct code_flow *flow, uint32_t value,
			enum code_refusal refusal, uint64_t at)
{
	uint32_t list[CODE_SET_MAX];
	size_t count = code_value_list(&flow->values, value, list);

	for (size_t i = 0; i < count; i++)
		blame(flow, list[i], refusal, at);
	if (!count)
		blame_group(flow, refusal, at);
}

static const struct code_target *hook_of(const struct code_flow *flow,
					 const struct code_piece *piece,
					 const struct code_op *op)
{
	if (op->kind == CODE_OP_CALL_MEMORY || op->kind == CODE_OP_JUMP_MEMORY)
		return code_target_at(&flow->scan->slots, op->value);
	if (op->kind == CODE_OP_CALL ||
	    ((op->kind == CODE_OP_JUMP || op->kind == CODE_OP_BRANCH) &&
	     op->value - piece->start >= piece->bytes))
		return code_target_at(&flow->scan->stubs, op->value);
	return NULL;
}

static void add_site(struct code_flow *flow, const struct code_member *member,
		     const struct code_op *op, const struct code_target *hook,
		     uint32_t value)
{
	const uint64_t at = code_op_address(member, op);
	struct code_use use = { .site = at,
				.length = op->length,
				.is_exit = hook->is_exit };
	uint32_t list[CODE_SET_MAX];
	size_t count = code_value_list(&flow->values, value, list);

	use.form = site_form_of(code_file_at(flow->file, at, op->length), op);
	if (use.form == CODE_FORMS ||
	    (!use.is_exit &&
	     (use.form == CODE_JUMP || use.form == CODE_JUMP_GOT)))
		blame_value(flow, value, CODE_UNKNOWN_FORM, at);
	else if (!count)
		blame_value(flow, value, CODE_UNKNOWN_FUNCTION, at);
	else
		use.is_known = true;
	flow->is_doubtful |= count != 1;
	for (size_t i = 0; i < count && use.is_known; i++) {
		use.address = flow->values.consts[list[i]].address;
		use.slot = flow->values.consts[list[i]].slot;
		note_flow_error(flow, code_found_use(flow->found, &use));
	}
	if (!use.is_known)
		note_flow_error(flow, code_found_use(flow->found, &use));
}

/* An entry of the PLT is no site: its caller is. */
static bool is_stub(const struct code_flow *flow,
		    const struct code_member *member, const struct code_op *op,
		    const struct code_state *state)
{
	const struct code_op *list = flow->group.ops.list;
	const struct code_op *first = list + member->first;
	const struct code_op *at = op;

	if (op->kind != CODE_OP_JUMP_MEMORY || state->reg[CODE_RDI])
		return false;
	while (at > first && !at->is_leader && at[-1].kind == CODE_OP_NOP)
		at--;
	return at == first || (at->is_leader && !state->reg[CODE_RSP]);
}

/* Runs in the second pass, when all values are final. */
static void look_at_op(struct code_flow *flow, const struct code_member *member,
		       const struct code_op *op, const struct code_state *state)
{
	const struct code_target *hook = hook_of(flow, member->piece, op);

	if (hook && is_stub(flow, member, op, state))
		return;
	if (hook)
		add_site(flow, member, op, hook, state->reg[CODE_RDI]);
	else if (op->kind == CODE_OP_CALL_OTHER ||
		 op->kind == CODE_OP_JUMP_OTHER) {
		uint32_t target = code_state_target(state, op);
		uint32_t list[CODE_SET_MAX];
		bool is_hook = target == CODE_HOOK;

		/* A call with a function in rdi looks like one of the hook. */
		if (target == CODE_UNKNOWN && flow->loads_hook)
			is_hook = code_value_list(&flow->values,
						  state->reg[CODE_RDI], list);
		if (is_hook)
			blame_value(flow, state->reg[CODE_RDI],
				    CODE_THROUGH_REGISTER,
				    code_op_address(member, op));
	} else if (op->kind == CODE_OP_BAD)
		blame_group(flow, CODE_UNDECODED, code_op_address(member, op));
}

/* --- blocks -------------------------------------------------------------- */

static int add_blocks(struct code_flow *flow, uint32_t number)
{
	const struct code_member *member = &flow->group.members[number];
	const size_t end = member->first + member->count;
	struct code_block block = { .member = number, .is_idle = true };

	block.first = member->first;
	for (size_t i = member->first; i < end; i++) {
		const struct code_op *op = &flow->group.ops.list[i];

		if (op->kind != CODE_OP_NOP && op->kind != CODE_OP_STOP)
			block.is_idle = false;
		if (op->kind < CODE_OP_JUMP && op->kind != CODE_OP_BAD &&
		    i + 1 < end && !op[1].is_leader)
			continue;
		block.end = i + 1;
		if (grow_array_from(&flow->file->budget, flow->blocks,
				    flow->block_room, flow->block_count + 1))
			return -ENOMEM;
		flow->blocks[flow->block_count++] = block;
		block.first = i + 1;
		block.is_idle = true;
	}
	return 0;
}

static int make_blocks(struct code_flow *flow)
{
	int err = 0;

	flow->block_count = flow->queue_count = 0;
	for (uint32_t i = 0; !err && i < flow->group.member_count; i++)
		err = add_blocks(flow, i);
	if (err || grow_array_from(&flow->file->budget, flow->states,
				   flow->state_room, flow->block_count))
		return -ENOMEM;
	if (grow_array_from(&flow->file->budget, flow->queue, flow->queue_room,
			    flow->block_count))
		return -ENOMEM;
	return 0;
}

static size_t block_of(const struct code_flow *flow, size_t op)
{
	return search_first(i, flow->block_count, flow->blocks[i].first > op) -
	       1;
}

/* --- following ----------------------------------------------------------- */

static void reach_block(struct code_flow *flow, size_t number,
			const struct code_state *state)
{
	struct code_block *block = &flow->blocks[number];

	if (!block->is_reached) {
		block->is_reached = true;
		flow->states[number] = *state;
	} else if (!code_state_join(&flow->values, &flow->states[number], state,
				    &flow->lost)) {
		return;
	}
	if (block->is_queued)
		return;
	block->is_queued = true;
	flow->queue[flow->queue_count++] = number;
}

static void reach_address(struct code_flow *flow, uint64_t address,
			  const struct code_state *state)
{
	size_t op;

	flow->steps -= MIN(flow->steps, STEPS_OF_REACH);
	if (code_group_find(&flow->group, address, &op))
		reach_block(flow, block_of(flow, op), state);
}

static void reach_landing(struct code_flow *flow, uint64_t address,
			  const struct code_state *state)
{
	const struct code_landings *landings = &flow->group.landings;
	size_t low = search_first(i, landings->count,
				  landings->list[i].start > address);

	if (low && address < landings->list[low - 1].end)
		reach_address(flow, landings->list[low - 1].landing, state);
}

/* Reaches all tables if @table is 0. */
static bool reach_aims(struct code_flow *flow, uint64_t table,
		       const struct code_state *state)
{
	const struct code_group *group = &flow->group;
	size_t low = search_first(at, group->aim_count,
				  group->aims[at].table >= table);
	size_t i;

	for (i = low; i < group->aim_count && flow->steps; i++) {
		if (table && group->aims[i].table != table)
			break;
		reach_address(flow, group->aims[i].target, state);
	}
	return i > low;
}

static void reach_table(struct code_flow *flow, const struct code_op *op,
			const struct code_state *state)
{
	const struct code_const *base = NULL;
	uint32_t value = CODE_UNKNOWN;

	if (op->kind == CODE_OP_JUMP_TABLE && op->base != CODE_NO_REGISTER)
		value = op->value ? CODE_UNKNOWN : state->reg[op->base];
	else if (op->kind == CODE_OP_JUMP_TABLE)
		value = value_of_op(flow, op);
	else if (!code_value_is_entry(code_state_target(state, op), &value))
		value = CODE_UNKNOWN;
	base = code_value_const(&flow->values, value);
	if (!base || base->is_code || !reach_aims(flow, base->address, state))
		reach_aims(flow, 0, state);
}

/* Returns true if the next instruction is reached. */
static bool transfer(struct code_flow *flow, const struct code_member *member,
		     const struct code_op *op, struct code_state *state)
{
	switch (op->kind) {
	case CODE_OP_CALL:
	case CODE_OP_CALL_MEMORY:
	case CODE_OP_CALL_OTHER:
		code_state_call(state);
		reach_landing(flow, code_op_address(member, op), state);
		return !op->extra;
	case CODE_OP_BRANCH:
		if (!code_group_leaves(&flow->group, member->piece, op->value))
			reach_address(flow, op->value, state);
		return true;
	case CODE_OP_JUMP:
		if (!code_group_leaves(&flow->group, member->piece, op->value))
			reach_address(flow, op->value, state);
		return false;
	case CODE_OP_JUMP_OTHER:
	case CODE_OP_JUMP_TABLE:
		reach_table(flow, op, state);
		return false;
	default:
		return false;
	}
}

static void go_over(struct code_flow *flow, size_t number, bool look)
{
	const struct code_block block = flow->blocks[number];
	const struct code_member *member = &flow->group.members[block.member];
	struct code_state state = flow->states[number];
	bool goes_on = true;

	flow->steps -= MIN(flow->steps, block.end - block.first);
	for (size_t i = block.first; i < block.end && goes_on; i++) {
		const struct code_op *op = &flow->group.ops.list[i];

		if (look)
			look_at_op(flow, member, op, &state);
		if (op->kind >= CODE_OP_CALL || op->kind == CODE_OP_BAD) {
			goes_on = transfer(flow, member, op, &state);
			continue;
		}
		if (op->kind == CODE_OP_LOAD || op->kind == CODE_OP_CONST ||
		    op->kind == CODE_OP_CHOOSE_LOAD)
			flow->loads_hook |= value_of_op(flow, op) == CODE_HOOK;
		code_state_step(&flow->values, &state, op,
				value_of_op(flow, op), &flow->lost);
	}
	if (goes_on && block.end < member->first + member->count)
		reach_block(flow, number + 1, &state);
}

static void drain_queue(struct code_flow *flow)
{
	while (flow->queue_count && flow->steps && !flow->values.failed) {
		size_t number = flow->queue[--flow->queue_count];

		flow->blocks[number].is_queued = false;
		go_over(flow, number, false);
	}
}

/* A member that is itself an entry is only followed where it is reached. */
static void follow_all(struct code_flow *flow)
{
	struct code_state state;

	code_state_start(&state);
	reach_block(flow, 0, &state);
	drain_queue(flow);
	code_state_unknown(&state);
	for (size_t i = 0; i < flow->block_count; i++) {
		const struct code_block *block = &flow->blocks[i];

		if (block->is_reached || block->is_idle ||
		    (block->member &&
		     flow->group.members[block->member].piece->is_entry))
			continue;
		reach_block(flow, i, &state);
		drain_queue(flow);
	}
}

/* --- hits ---------------------------------------------------------------- */

/* Refuses the group if an instruction refers to a hook in a form that was not
 * followed. Other hits of the scan are coincidences. */
static void account_member(struct code_flow *flow,
			   const struct code_member *member)
{
	const uint64_t start = member->piece->start;
	size_t op = member->first, hit;

	code_scan_hit(flow->scan, start, start + member->piece->bytes, &hit);
	for (; hit < flow->scan->hit_count &&
	       flow->scan->hits[hit] < start + member->piece->bytes;
	     hit++) {
		uint64_t end = flow->scan->hits[hit] + 4 - start;
		const struct code_op *list = flow->group.ops.list;

		while (op < member->first + member->count &&
		       list[op].at + list[op].length < end)
			op++;
		if (op < member->first + member->count &&
		    list[op].at + list[op].length == end &&
		    list[op].length > 4 &&
		    !hook_of(flow, member->piece, &list[op]) &&
		    list[op].kind != CODE_OP_LOAD &&
		    list[op].kind != CODE_OP_CONST &&
		    list[op].kind != CODE_OP_CHOOSE_LOAD)
			blame_group(flow, CODE_UNKNOWN_FORM,
				    code_op_address(member, &list[op]));
	}
}

static void look_at_all_blocks(struct code_flow *flow)
{
	flow->steps = UINT64_MAX;
	for (size_t i = 0; i < flow->block_count && !flow->err; i++)
		if (flow->blocks[i].is_reached)
			go_over(flow, i, true);
	for (size_t i = 0; i < flow->group.member_count && !flow->err; i++)
		account_member(flow, &flow->group.members[i]);
	if (flow->group.overlap)
		blame_group(flow, CODE_UNDECODED, flow->group.overlap);
	if (flow->lost)
		blame_group(flow, CODE_THROUGH_REGISTER,
			    flow->group.members[0].piece->start);
}

/* The code after a call that never returns belongs to other paths. */
static bool find_ends(struct code_flow *flow)
{
	bool found = false;
	unsigned int asked = 0;

	for (size_t i = 0; i < flow->block_count && asked < CALLEES_MAX; i++) {
		const struct code_block *block = &flow->blocks[i];
		struct code_op *first = &flow->group.ops.list[block->first];
		struct code_op *op = &flow->group.ops.list[block->end - 1];

		while (op > first && op->kind == CODE_OP_NOP)
			op--;
		asked += op->kind == CODE_OP_CALL;
		if (op->kind == CODE_OP_CALL)
			op->extra =
				code_returns_never(&flow->scratch, op->value);
		else if (op->kind == CODE_OP_CALL_MEMORY)
			op->extra =
				code_returns_never_slot(flow->file, op->value);
		else
			continue;
		found |= op->extra;
	}
	return found;
}

static int follow_group(struct code_flow *flow)
{
	const uint64_t begin = flow->group.members[0].piece->start;

	flow->queue_count = 0;
	flow->loads_hook = flow->lost = flow->is_doubtful = false;
	flow->is_blamed = false;
	for (size_t i = 0; i < flow->block_count; i++)
		flow->blocks[i].is_reached = flow->blocks[i].is_queued = false;
	flow->steps = flow->group.ops.count * STEPS_PER_OP + STEPS_MORE;
	follow_all(flow);
	if (flow->queue_count || !flow->steps)
		blame_group(flow, CODE_TOO_LARGE, begin);
	else
		look_at_all_blocks(flow);
	if (flow->group.too_large)
		blame_group(flow, CODE_TOO_LARGE, begin);
	return flow->values.failed ? -ENOMEM : flow->err;
}

int code_flow_follow(struct code_flow *flow, struct code_piece *piece)
{
	const size_t uses = flow->found->use_count;
	const size_t blames = flow->found->blame_count;
	int err;

	flow->group.file = flow->scratch.file = flow->file;
	flow->scratch.pieces = flow->group.pieces;
	flow->scratch.ops_max = CALLEE_OPS_MAX;
	flow->values.budget = &flow->file->budget;
	code_values_clear(&flow->values);
	flow->err = 0;
	err = code_group_build(&flow->group, piece);
	if (err)
		return err;
	flow->found->decoded += flow->group.ops.count;
	for (size_t i = 0; i < flow->group.member_count; i++)
		flow->group.members[i].piece->is_done = true;
	if (!flow->group.member_count) {
		flow->found->all =
			(struct code_blame){ .at = piece->start,
					     .refusal = CODE_TOO_LARGE };
		return 0;
	}
	err = make_blocks(flow);
	if (err)
		return err;
	err = follow_group(flow);
	if (err || (!flow->is_doubtful && flow->found->blame_count == blames) ||
	    !find_ends(flow))
		return err;
	flow->found->use_count = uses;
	flow->found->blame_count = blames;
	return follow_group(flow);
}

void code_flow_release(struct code_flow *flow)
{
	code_group_release(&flow->group);
	code_group_release(&flow->scratch);
	code_values_release(&flow->values);
	free(flow->blocks);
	free(flow->states);
	free(flow->queue);
}
