/* SPDX-License-Identifier: Apache-2.0
 *
 * frame_size - follows pushes, pops and sums from the first instruction on, in
 * the order of addresses. Behind an instruction that does not go on, the size
 * is that of a branch that leads there. If none is known (landing pads, cases
 * of a switch, loops), it is that of the last call or jump: apart from pushed
 * arguments, the body of a function has one size. A function that moves its
 * stack pointer by a register (alloca), or aligns it, has no size.
 */
#include "collector/profile/frame_size.h"

#include <stdlib.h>

#include "collector/base/budget.h"
#include "collector/code/code_decode.h"
#include "shared/compiler.h"

#define TARGETS 64u
#define MEMORY_MAX (1u << 20)
#define NONE INT64_MIN /* it has no frame pointer, or the size is not known */

struct walk {
	int64_t size; /* or NONE */
	int64_t body; /* the size at the last call or jump; or NONE */
	bool goes_on; /* the last instruction does */
	bool is_dynamic;
	/* The targets of branches, with the size there. */
	struct target {
		uint64_t vaddr;
		int64_t size;
	} target[TARGETS];
	size_t targets;
};

static void note_target(struct walk *walk, uint64_t vaddr)
{
	if (walk->targets < TARGETS)
		walk->target[walk->targets++] =
			(struct target){ vaddr, walk->size };
}

/* A tail call jumps without a frame pointer. */
static void note_body(struct walk *walk)
{
	if (walk->size != NONE)
		walk->body = walk->size;
}

/* Returns the size at @vaddr, which follows an instruction that does not go on:
 * the size at a jump to @vaddr, or else that of the body. */
static int64_t find_target(const struct walk *walk, uint64_t vaddr)
{
	for (size_t i = 0; i < walk->targets; i++)
		if (walk->target[i].vaddr == vaddr)
			return walk->target[i].size;
	return walk->body;
}

static void move_stack(struct walk *walk, int64_t by)
{
	if (walk->size == NONE)
		return;
	walk->size += by;
	/* No compiler makes such code. */
	if (walk->size < -INT32_MAX || walk->size > INT32_MAX)
		walk->is_dynamic = true;
}

static void take_registers(struct walk *walk, const struct code_op *op)
{
	/* A move between rsp and rbp makes them equal. */
	bool is_equal = op->kind == CODE_OP_MOVE &&
			((op->to == CODE_RBP && op->from == CODE_RSP) ||
			 (op->to == CODE_RSP && op->from == CODE_RBP &&
			  walk->size != NONE));

	if (is_equal)
		walk->size = 0;
	else if (op->kind == CODE_OP_OFFSET && op->to == CODE_RSP) {
		/* rsp = @op->base + @op->value. */
		if (op->base == CODE_RSP)
			move_stack(walk, (int64_t)(0 - op->value));
		else if (op->base == CODE_RBP && walk->size != NONE)
			walk->size = (int64_t)(0 - op->value);
		else
			walk->is_dynamic = true;
	} else if (op->writes >> CODE_RSP & 1)
		walk->is_dynamic = true;
	else if (op->writes >> CODE_RBP & 1)
		walk->size = NONE;
}

static void take_frame_op(struct walk *walk, const struct code_op *op)
{
	walk->goes_on = true;
	switch (op->kind) {
	case CODE_OP_PUSH:
	case CODE_OP_PUSH_CONST:
		move_stack(walk, 8);
		break;
	case CODE_OP_POP:
		move_stack(walk, -8);
		if (op->to == CODE_RBP)
			walk->size = NONE;
		break;
	case CODE_OP_LEAVE:
		walk->size = NONE;
		break;
	case CODE_OP_CALL:
	case CODE_OP_CALL_MEMORY:
	case CODE_OP_CALL_OTHER:
		note_body(walk);
		break;
	case CODE_OP_BRANCH:
		note_target(walk, op->value);
		break;
	case CODE_OP_JUMP:
		note_target(walk, op->value);
		/* fall through */
	case CODE_OP_JUMP_MEMORY:
	case CODE_OP_JUMP_OTHER:
	case CODE_OP_JUMP_TABLE:
		note_body(walk);
		walk->goes_on = false;
		break;
	case CODE_OP_RETURN:
	case CODE_OP_STOP:
	case CODE_OP_BAD:
		walk->goes_on = false;
		break;
	default:
		take_registers(walk, op);
	}
}

bool frame_size(const uint8_t *code, size_t bytes, uint64_t vaddr,
		uint64_t *size)
{
	struct walk walk = { .size = NONE, .body = NONE, .goes_on = true };
	struct budget budget = { .left = MEMORY_MAX };
	struct code_ops ops = { 0 };
	bool known;

	if (code_decode(code, MIN(bytes, (size_t)FRAME_SIZE_CODE_MAX), vaddr,
			&ops, &budget) == 0)
		for (size_t i = 0; i < ops.count; i++) {
			if (!walk.goes_on)
				walk.size = find_target(&walk,
							vaddr + ops.list[i].at);
			take_frame_op(&walk, &ops.list[i]);
		}
	known = bytes <= FRAME_SIZE_CODE_MAX && !walk.is_dynamic &&
		walk.goes_on && walk.size >= 0;
	*size = known ? (uint64_t)walk.size : 0;
	free(ops.list);
	return known;
}
