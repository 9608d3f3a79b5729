/* SPDX-License-Identifier: Apache-2.0
 *
 * code_state - what is known of registers and of the stack at a point of the
 * code, on all paths to it. Pure.
 *
 * A *value* is one number: it is unknown, or one constant, or one of a few
 * constants, or an entry of a table, or an address on the stack.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_STATE_H
#define PERFREC_COLLECTOR_CODE_CODE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/code/code_decode.h"

#define CODE_SET_MAX 8 /* constants in a set */
#define CODE_SPILLS_MAX 24

#define CODE_UNKNOWN 0u
#define CODE_HOOK 1u /* may be the address of a hook */

struct code_const {
	uint64_t address, slot; /* as in struct code_function */
	bool is_code;
};

struct code_set {
	uint32_t count, list[CODE_SET_MAX]; /* numbers of constants, sorted */
};

/* The constants of one piece of work. */
struct code_values {
	struct budget *budget;
	struct code_const *consts;
	size_t const_count, const_room;
	struct code_set *sets;
	size_t set_count, set_room;
	uint32_t *hash; /* number + 1 */
	size_t hash_room; /* a power of two */
	bool failed; /* no memory */
};

/* Forgets all values. */
void code_values_clear(struct code_values *values);
void code_values_release(struct code_values *values);
/* The value of a constant. */
uint32_t code_value(struct code_values *values, const struct code_const *from);
/* If @value is constants that are code: their numbers, at most CODE_SET_MAX,
 * into @list, and how many. 0: it is something else. */
size_t code_value_list(const struct code_values *values, uint32_t value,
		       uint32_t *list);
/* The constant that @value is, or NULL. */
const struct code_const *code_value_const(const struct code_values *values,
					  uint32_t value);
/* An entry of a table at a constant. */
uint32_t code_value_entry(const struct code_values *values, uint32_t table);
/* Whether it is such an entry: *@table is then the constant. */
bool code_value_is_entry(uint32_t value, uint32_t *table);
/* What is either of both. */
uint32_t code_value_join(struct code_values *values, uint32_t a, uint32_t b);

struct code_spill { /* what lies on the stack */
	uint32_t key; /* an address on the stack */
	uint32_t value;
};

struct code_state {
	uint32_t reg[CODE_REGISTERS];
	uint32_t spills;
	struct code_spill spill[CODE_SPILLS_MAX];
};

/* Nothing is known but where the stack is. */
void code_state_start(struct code_state *state);
/* Nothing is known at all. */
void code_state_unknown(struct code_state *state);
/* What is known in both, into @to. True: that has changed. *@lost is set if
 * the address of a hook is not followed any more. */
bool code_state_join(struct code_values *values, struct code_state *to,
		     const struct code_state *from, bool *lost);
/* After a call returned, or threw. */
void code_state_call(struct code_state *state);
/* Goes over one instruction, which is no call and no jump. @value is that of
 * its constant, or of the memory at its address. */
void code_state_step(struct code_values *values, struct code_state *state,
		     const struct code_op *op, uint32_t value, bool *lost);
/* What the register op->from is, or the memory at op->base + op->value. */
uint32_t code_state_target(const struct code_state *state,
			   const struct code_op *op);

#endif
