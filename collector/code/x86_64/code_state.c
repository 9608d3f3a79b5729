/* SPDX-License-Identifier: Apache-2.0
 *
 * code_state - values: the upper four bits are the kind.
 *
 *	0	unknown, or the address of a hook
 *	1	a constant: its index
 *	2	a set of constants: its index
 *	3	an entry of the table at a constant: the constant's index
 *	8 to f	an address on the stack: a bit for whether it was rounded,
 *		then the distance from the initial stack pointer
 *
 * Spilled values stay until a write through rsp, rbp or a copy overwrites them:
 * compilers never take the address of a spill slot.
 */
#include "collector/code/code_state.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "shared/compiler.h"

#define KIND_CONST 1u
#define KIND_SET 2u
#define KIND_ENTRY 3u
#define STACK_BIT 0x80000000u
#define ROUNDED_BIT 0x40000000u
#define DISTANCE_MASK 0x3fffffffu
#define DISTANCE_START 0x20000000u

#define NUMBERS_MAX 0x0fffffffu
#define CALLER_SAVED 0x0fc7u /* rax, rcx, rdx, rsi, rdi, r8 to r11 */

static uint32_t kind_of(uint32_t value)
{
	return value >> 28;
}

static uint32_t value_index(uint32_t value)
{
	return value & NUMBERS_MAX;
}

static uint32_t make(uint32_t kind, size_t number)
{
	return number > NUMBERS_MAX ? CODE_UNKNOWN
				    : kind << 28 | (uint32_t)number;
}

/* --- constants ------------------------------------------------------------ */

void code_values_clear(struct code_values *values)
{
	values->const_count = values->set_count = 0;
	if (values->hash)
		memset(values->hash, 0,
		       values->hash_room * sizeof(*values->hash));
}

void code_values_release(struct code_values *values)
{
	free(values->consts);
	free(values->sets);
	free(values->hash);
	*values = (struct code_values){ .budget = values->budget };
}

static uint32_t *find_const(struct code_values *values,
			    const struct code_const *wanted)
{
	uint64_t mixed =
		(wanted->address ^ wanted->slot << 20) * 0x9e3779b97f4a7c15ull;
	size_t at = (size_t)(mixed >> 32);

	for (;; at++) {
		uint32_t *entry = &values->hash[at & (values->hash_room - 1)];
		const struct code_const *known;

		if (!*entry)
			return entry;
		known = &values->consts[*entry - 1];
		if (known->address == wanted->address &&
		    known->slot == wanted->slot)
			return entry;
	}
}

static bool grow_hash(struct code_values *values)
{
	const size_t room = MAX(values->hash_room * 2, 1024u);
	uint32_t *fresh;

	if (!budget_take(values->budget, room * sizeof(*fresh)))
		return false;
	fresh = calloc(room, sizeof(*fresh));
	if (!fresh) {
		budget_give(values->budget, room * sizeof(*fresh));
		return false;
	}
	budget_give(values->budget, values->hash_room * sizeof(*fresh));
	free(values->hash);
	values->hash = fresh;
	values->hash_room = room;
	for (size_t i = 0; i < values->const_count; i++)
		*find_const(values, &values->consts[i]) = (uint32_t)i + 1;
	return true;
}

uint32_t code_value(struct code_values *values, const struct code_const *from)
{
	uint32_t *entry;

	if ((values->const_count * 2 >= values->hash_room &&
	     !grow_hash(values)) ||
	    grow_array_from(values->budget, values->consts, values->const_room,
			    values->const_count + 1)) {
		values->failed = true;
		return CODE_UNKNOWN;
	}
	entry = find_const(values, from);
	if (!*entry) {
		values->consts[values->const_count++] = *from;
		*entry = (uint32_t)values->const_count;
	}
	return make(KIND_CONST, *entry - 1);
}

size_t code_value_list(const struct code_values *values, uint32_t value,
		       uint32_t *list)
{
	const struct code_set *set;

	if (kind_of(value) == KIND_CONST &&
	    values->consts[value_index(value)].is_code) {
		list[0] = value_index(value);
		return 1;
	}
	if (kind_of(value) != KIND_SET)
		return 0;
	set = &values->sets[value_index(value)];
	memcpy(list, set->list, set->count * sizeof(*list));
	return set->count;
}

const struct code_const *code_value_const(const struct code_values *values,
					  uint32_t value)
{
	return kind_of(value) == KIND_CONST
		       ? &values->consts[value_index(value)]
		       : NULL;
}

uint32_t code_value_entry(const struct code_values *values, uint32_t table)
{
	const struct code_const *base = code_value_const(values, table);

	return base && !base->is_code ? make(KIND_ENTRY, value_index(table))
				      : CODE_UNKNOWN;
}

bool code_value_is_entry(uint32_t value, uint32_t *table)
{
	*table = make(KIND_CONST, value_index(value));
	return kind_of(value) == KIND_ENTRY;
}

static uint32_t find_set(struct code_values *values, const struct code_set *set)
{
	if (set->count == 1)
		return make(KIND_CONST, set->list[0]);
	for (size_t i = 0; i < values->set_count; i++)
		if (!memcmp(&values->sets[i], set, sizeof(*set)))
			return make(KIND_SET, i);
	if (grow_array_from(values->budget, values->sets, values->set_room,
			    values->set_count + 1)) {
		values->failed = true;
		return CODE_UNKNOWN;
	}
	values->sets[values->set_count++] = *set;
	return make(KIND_SET, values->set_count - 1);
}

uint32_t code_value_join(struct code_values *values, uint32_t a, uint32_t b)
{
	uint32_t list[2 * CODE_SET_MAX];
	struct code_set set = { 0 };
	size_t left, right, i = 0, j = 0;

	if (a == b)
		return a;
	if (a == CODE_HOOK || b == CODE_HOOK)
		return CODE_HOOK;
	left = code_value_list(values, a, list);
	right = left ? code_value_list(values, b, list + left) : 0;
	if (!right)
		return CODE_UNKNOWN;
	while (i < left || j < right) {
		uint32_t next;

		if (j == right || (i < left && list[i] <= list[left + j]))
			next = list[i];
		else
			next = list[left + j];
		i += i < left && list[i] == next;
		j += j < right && list[left + j] == next;
		if (set.count == CODE_SET_MAX)
			return CODE_UNKNOWN;
		set.list[set.count++] = next;
	}
	return find_set(values, &set);
}

/* --- the stack ------------------------------------------------------------ */

static bool is_stack_value(uint32_t value)
{
	return value & STACK_BIT;
}

static uint32_t add_distance(uint32_t value, uint64_t distance)
{
	int64_t sum = (int64_t)(value & DISTANCE_MASK) + (int64_t)distance;

	if (!is_stack_value(value) ||
	    (int64_t)distance > (int64_t)DISTANCE_MASK ||
	    (int64_t)distance < -(int64_t)DISTANCE_MASK || sum < 0 ||
	    sum > (int64_t)DISTANCE_MASK)
		return CODE_UNKNOWN;
	return (value & ~DISTANCE_MASK) | (uint32_t)sum;
}

static uint32_t load_spill(const struct code_state *state, uint32_t key)
{
	if (is_stack_value(key))
		for (uint32_t i = 0; i < state->spills; i++)
			if (state->spill[i].key == key)
				return state->spill[i].value;
	return CODE_UNKNOWN;
}

/* Drops spills that the write overlaps. @bytes 255: any length. */
static void forget_spills(struct code_state *state, uint32_t key,
			  uint32_t bytes)
{
	uint32_t kept = 0;

	if (!is_stack_value(key) || !bytes)
		return;
	for (uint32_t i = 0; i < state->spills; i++) {
		const struct code_spill spill = state->spill[i];

		if ((spill.key & ~DISTANCE_MASK) == (key & ~DISTANCE_MASK) &&
		    spill.key + 8 > key &&
		    (bytes == 255 || spill.key < key + bytes))
			continue;
		state->spill[kept++] = spill;
	}
	state->spills = kept;
}

/* Keeps only values that a lookup may need. */
static void spill(struct code_values *values, struct code_state *state,
		  uint32_t key, uint32_t value, bool *lost)
{
	uint32_t list[CODE_SET_MAX];

	forget_spills(state, key, 8);
	if (value != CODE_HOOK && !code_value_list(values, value, list))
		return;
	if (is_stack_value(key) && state->spills < CODE_SPILLS_MAX)
		state->spill[state->spills++] =
			(struct code_spill){ key, value };
	else if (value == CODE_HOOK)
		*lost = true;
}

static void push_value(struct code_values *values, struct code_state *state,
		       uint32_t value, bool *lost)
{
	uint32_t *rsp = &state->reg[CODE_RSP];

	*rsp = add_distance(*rsp, (uint64_t)-8);
	spill(values, state, *rsp, value, lost);
}

static uint32_t pop_value(struct code_state *state)
{
	uint32_t *rsp = &state->reg[CODE_RSP];
	uint32_t value = load_spill(state, *rsp);

	*rsp = add_distance(*rsp, 8);
	return value;
}

/* --- states --------------------------------------------------------------- */

void code_state_unknown(struct code_state *state)
{
	memset(state->reg, 0, sizeof(state->reg));
	state->spills = 0;
}

void code_state_start(struct code_state *state)
{
	code_state_unknown(state);
	state->reg[CODE_RSP] = STACK_BIT | DISTANCE_START;
}

bool code_state_join(struct code_values *values, struct code_state *to,
		     const struct code_state *from, bool *lost)
{
	bool changed = false;
	uint32_t kept = 0;

	for (unsigned int i = 0; i < CODE_REGISTERS; i++) {
		uint32_t joined = to->reg[i] == from->reg[i]
					  ? to->reg[i]
					  : code_value_join(values, to->reg[i],
							    from->reg[i]);

		changed |= joined != to->reg[i];
		to->reg[i] = joined;
	}
	for (uint32_t i = 0; i < to->spills; i++) {
		struct code_spill known = to->spill[i];
		uint32_t other = load_spill(from, known.key);
		uint32_t joined = code_value_join(values, known.value, other);

		changed |= joined != known.value;
		known.value = joined;
		if (joined != CODE_UNKNOWN)
			to->spill[kept++] = known;
	}
	to->spills = kept;
	for (uint32_t i = 0; i < from->spills; i++)
		if (from->spill[i].value == CODE_HOOK &&
		    load_spill(to, from->spill[i].key) != CODE_HOOK)
			*lost = true;
	return changed;
}

void code_state_call(struct code_state *state)
{
	const uint32_t rsp = state->reg[CODE_RSP];
	uint32_t kept = 0;

	for (unsigned int i = 0; i < CODE_REGISTERS; i++)
		if (CALLER_SAVED >> i & 1)
			state->reg[i] = CODE_UNKNOWN;
	/* The callee's frame lies below ours. */
	for (uint32_t i = 0; i < state->spills; i++) {
		const struct code_spill known = state->spill[i];

		if (!is_stack_value(rsp) ||
		    (known.key & ~DISTANCE_MASK) != (rsp & ~DISTANCE_MASK) ||
		    known.key >= rsp)
			state->spill[kept++] = known;
	}
	state->spills = kept;
}

uint32_t code_state_target(const struct code_state *state,
			   const struct code_op *op)
{
	if (op->from < CODE_REGISTERS)
		return state->reg[op->from];
	if (op->base < CODE_REGISTERS)
		return load_spill(
			state, add_distance(state->reg[op->base], op->value));
	return CODE_UNKNOWN;
}

static uint32_t table_entry(const struct code_values *values,
			    const struct code_state *state,
			    const struct code_op *op, uint32_t value)
{
	if (op->base < CODE_REGISTERS)
		value = op->value ? CODE_UNKNOWN : state->reg[op->base];
	return code_value_entry(values, value);
}

/* Adding a table's address to one of its relative entries gives the entry. */
static uint32_t add_values_of_op(uint32_t a, uint32_t b)
{
	uint32_t table;

	if (code_value_is_entry(a, &table) && table == b)
		return a;
	if (code_value_is_entry(b, &table) && table == a)
		return b;
	return CODE_UNKNOWN;
}

static uint32_t halve(const struct code_values *values, uint32_t value)
{
	uint32_t list[CODE_SET_MAX];
	size_t count = code_value_list(values, value, list);

	for (size_t i = 0; i < count; i++)
		if (values->consts[list[i]].slot ||
		    values->consts[list[i]].address > UINT32_MAX)
			return CODE_UNKNOWN;
	return count || value == CODE_HOOK ? value : CODE_UNKNOWN;
}

static uint32_t offset(const struct code_state *state, const struct code_op *op)
{
	uint32_t base = state->reg[op->base];

	if (!op->value)
		return base;
	return is_stack_value(base) ? add_distance(base, op->value)
				    : CODE_UNKNOWN;
}

static uint32_t result(struct code_values *values, struct code_state *state,
		       const struct code_op *op, uint32_t value)
{
	const uint32_t from =
		op->from < CODE_REGISTERS ? state->reg[op->from] : CODE_UNKNOWN;
	const uint32_t to = state->reg[op->to];

	switch (op->kind) {
	case CODE_OP_CONST:
	case CODE_OP_LOAD:
		return value;
	case CODE_OP_LOAD_STACK:
		return code_state_target(state, op);
	case CODE_OP_LOAD_TABLE:
		return table_entry(values, state, op, value);
	case CODE_OP_MOVE:
		return op->extra == 32 ? halve(values, from) : from;
	case CODE_OP_CHOOSE:
		return code_value_join(
			values, op->extra == 32 ? halve(values, to) : to,
			op->extra == 32 ? halve(values, from) : from);
	case CODE_OP_CHOOSE_LOAD:
		return code_value_join(values, to, value);
	case CODE_OP_CHOOSE_STACK:
		return code_value_join(values, to,
				       code_state_target(state, op));
	case CODE_OP_OFFSET:
		return offset(state, op);
	case CODE_OP_ADD:
		return add_values_of_op(to, from);
	case CODE_OP_ALIGN:
		return op->to == CODE_RSP && is_stack_value(to) &&
				       !(to & ROUNDED_BIT)
			       ? STACK_BIT | ROUNDED_BIT | DISTANCE_START
			       : CODE_UNKNOWN;
	default:
		return CODE_UNKNOWN;
	}
}

static void store(struct code_values *values, struct code_state *state,
		  const struct code_op *op, uint32_t value, bool *lost)
{
	uint64_t distance = op->kind == CODE_OP_STORE_CONST
				    ? (uint64_t)(int64_t)op->extra
				    : op->value;
	uint32_t key;

	if (op->base >= CODE_REGISTERS)
		return;
	key = add_distance(state->reg[op->base], distance);
	if (op->kind == CODE_OP_STORE)
		spill(values, state, key, state->reg[op->from], lost);
	else if (op->kind == CODE_OP_STORE_CONST)
		spill(values, state, key, value, lost);
	else
		forget_spills(state, key, op->memory);
}

void code_state_step(struct code_values *values, struct code_state *state,
		     const struct code_op *op, uint32_t value, bool *lost)
{
	uint32_t left;

	switch (op->kind) {
	case CODE_OP_NOP:
		return;
	case CODE_OP_PUSH:
		push_value(values, state, code_state_target(state, op), lost);
		return;
	case CODE_OP_PUSH_CONST:
		push_value(values, state, value, lost);
		return;
	case CODE_OP_POP:
		left = pop_value(state);
		if (op->to < CODE_REGISTERS)
			state->reg[op->to] = left;
		return;
	case CODE_OP_LEAVE:
		state->reg[CODE_RSP] = state->reg[CODE_RBP];
		state->reg[CODE_RBP] = pop_value(state);
		return;
	default:
		break;
	}
	store(values, state, op, value, lost);
	left = op->to < CODE_REGISTERS ? result(values, state, op, value)
				       : CODE_UNKNOWN;
	for (unsigned int i = 0; i < CODE_REGISTERS; i++)
		if (op->writes >> i & 1)
			state->reg[i] = CODE_UNKNOWN;
	if (op->to < CODE_REGISTERS && op->writes >> op->to & 1)
		state->reg[op->to] = left;
}
