/* SPDX-License-Identifier: Apache-2.0
 *
 * code_state - the values of registers and stack slots that hold on all paths
 * to a point of the code. Pure.
 *
 * A *value* means unknown, one constant, one of a few constants, an entry of a
 * table, or an address on the stack.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_STATE_H
#define PERFREC_COLLECTOR_CODE_CODE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"
#include "collector/code/code_decode.h"

#define CODE_SET_MAX 8 /* most constants in a set */
#define CODE_SPILLS_MAX 24

#define CODE_UNKNOWN 0u
#define CODE_HOOK 1u /* may be the address of a hook */

struct code_const {
	uint64_t address, slot; /* as in struct code_function */
	bool is_code;
};

struct code_set {
	uint32_t count, list[CODE_SET_MAX]; /* indexes, sorted */
};

struct code_values {
	struct budget *budget;
	struct code_const *consts;
	size_t const_count, const_room;
	struct code_set *sets;
	size_t set_count, set_room;
	uint32_t *hash; /* index + 1; 0: free */
	size_t hash_room;
	bool failed; /* out of memory */
};

void code_values_clear(struct code_values *values);
void code_values_release(struct code_values *values);
uint32_t code_value(struct code_values *values, const struct code_const *from);
/* Lists the indexes of the constants that @value may be, CODE_SET_MAX at most.
 * Returns their count; 0 if @value is not code. */
size_t code_value_list(const struct code_values *values, uint32_t value,
		       uint32_t *list);
const struct code_const *code_value_const(const struct code_values *values,
					  uint32_t value);
uint32_t code_value_entry(const struct code_values *values, uint32_t table);
bool code_value_is_entry(uint32_t value, uint32_t *table);
uint32_t code_value_join(struct code_values *values, uint32_t a, uint32_t b);

struct code_spill {
	uint32_t key; /* on the stack */
	uint32_t value;
};

struct code_state {
	uint32_t reg[CODE_REGISTERS];
	uint32_t spills;
	struct code_spill spill[CODE_SPILLS_MAX];
};

void code_state_start(struct code_state *state);
void code_state_unknown(struct code_state *state);
/* Keeps what holds in both. Returns true if @to changed. Sets *@lost if the
 * address of a hook is no longer tracked. */
bool code_state_join(struct code_values *values, struct code_state *to,
		     const struct code_state *from, bool *lost);
/* After a call returned or threw. */
void code_state_call(struct code_state *state);
/* Applies an instruction other than a call or a jump. @value is that of its
 * constant or fixed memory. */
void code_state_step(struct code_values *values, struct code_state *state,
		     const struct code_op *op, uint32_t value, bool *lost);
/* Returns the value of register op->from, or of the stack slot at op->base. */
uint32_t code_state_target(const struct code_state *state,
			   const struct code_op *op);

#endif
