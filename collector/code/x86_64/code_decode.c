/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_decode.h"

#include <Zydis/Zydis.h>
#include <errno.h>

#include "collector/base/grow.h"
#include "shared/compiler.h"

#define MEMORY_UNKNOWN 255

struct decoded {
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t next;
};

/* Returns CODE_NO_REGISTER unless @name is a part of a general register. */
static uint8_t register_number(ZydisRegister name)
{
	ZydisRegister whole = name;

	if (name < ZYDIS_REGISTER_RAX || name > ZYDIS_REGISTER_R15)
		whole = ZydisRegisterGetLargestEnclosing(
			ZYDIS_MACHINE_MODE_LONG_64, name);
	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return CODE_NO_REGISTER;
	return (uint8_t)(whole - ZYDIS_REGISTER_RAX);
}

static bool is_register(const ZydisDecodedOperand *operand, unsigned int bits)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operand->size == bits &&
	       register_number(operand->reg.value) != CODE_NO_REGISTER;
}

static bool is_immediate(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static bool is_memory(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       operand->mem.segment != ZYDIS_REGISTER_FS &&
	       operand->mem.segment != ZYDIS_REGISTER_GS;
}

static bool is_fixed(const struct decoded *decoded,
		     const ZydisDecodedOperand *operand, uint64_t *out)
{
	if (!is_memory(operand) || operand->mem.index != ZYDIS_REGISTER_NONE)
		return false;
	*out = (uint64_t)operand->mem.disp.value;
	if (operand->mem.base == ZYDIS_REGISTER_RIP)
		*out += decoded->next;
	return operand->mem.base == ZYDIS_REGISTER_RIP ||
	       operand->mem.base == ZYDIS_REGISTER_NONE;
}

static bool is_based(const ZydisDecodedOperand *operand)
{
	return is_memory(operand) &&
	       operand->mem.index == ZYDIS_REGISTER_NONE &&
	       operand->mem.base >= ZYDIS_REGISTER_RAX &&
	       operand->mem.base <= ZYDIS_REGISTER_R15;
}

static bool is_indexed(const ZydisDecodedOperand *operand)
{
	return is_memory(operand) &&
	       operand->mem.index != ZYDIS_REGISTER_NONE &&
	       (operand->mem.scale == 4 || operand->mem.scale == 8);
}

static void set_fixed(struct code_op *op, enum code_op_kind kind,
		      uint64_t value)
{
	op->kind = (uint8_t)kind;
	op->value = value;
}

static void set_based(struct code_op *op, enum code_op_kind kind,
		      const ZydisDecodedOperand *operand)
{
	op->kind = (uint8_t)kind;
	op->base = register_number(operand->mem.base);
	op->value = (uint64_t)operand->mem.disp.value;
}

static void set_register(struct code_op *op, enum code_op_kind kind,
			 const ZydisDecodedOperand *operand)
{
	op->kind = (uint8_t)kind;
	op->from = register_number(operand->reg.value);
}

static void take_store(const ZydisDecodedOperand *operand, struct code_op *op)
{
	if (is_register(&operand[1], 64))
		set_register(op, CODE_OP_STORE, &operand[1]);
	else if (is_immediate(&operand[1]) && operand[0].size == 64 &&
		 operand[0].mem.disp.value ==
			 (int32_t)operand[0].mem.disp.value) {
		op->kind = CODE_OP_STORE_CONST;
		op->extra = (int32_t)operand[0].mem.disp.value;
		op->value = operand[1].imm.value.u;
	}
}

static void take_move(const struct decoded *decoded, struct code_op *op)
{
	const ZydisDecodedOperand *to = &decoded->operand[0], *from = to + 1;
	uint64_t value;

	if (is_based(to)) {
		take_store(to, op);
		return;
	}
	if (!is_register(to, 64) && !is_register(to, 32))
		return;
	op->to = register_number(to->reg.value);
	op->extra = to->size == 32 ? 32 : 0;
	if (is_immediate(from))
		set_fixed(op, CODE_OP_CONST,
			  to->size == 32 ? (uint32_t)from->imm.value.u
					 : from->imm.value.u);
	else if (is_register(from, to->size))
		set_register(op, CODE_OP_MOVE, from);
	else if (to->size != 64)
		return;
	else if (is_fixed(decoded, from, &value))
		set_fixed(op, CODE_OP_LOAD, value);
	else if (is_based(from))
		set_based(op, CODE_OP_LOAD_STACK, from);
	else if (is_indexed(from))
		set_based(op, CODE_OP_LOAD_TABLE, from);
}

static void take_choose(const struct decoded *decoded, struct code_op *op)
{
	const ZydisDecodedOperand *to = &decoded->operand[0], *from = to + 1;
	uint64_t value;

	if (!is_register(to, 64) && !is_register(to, 32))
		return;
	op->to = register_number(to->reg.value);
	op->extra = to->size == 32 ? 32 : 0;
	if (is_register(from, to->size))
		set_register(op, CODE_OP_CHOOSE, from);
	else if (to->size != 64)
		return;
	else if (is_fixed(decoded, from, &value))
		set_fixed(op, CODE_OP_CHOOSE_LOAD, value);
	else if (is_based(from))
		set_based(op, CODE_OP_CHOOSE_STACK, from);
}

static void take_lea(const struct decoded *decoded, struct code_op *op)
{
	const ZydisDecodedOperand *to = &decoded->operand[0], *from = to + 1;
	uint64_t value;

	if (!is_register(to, 64) || decoded->instruction.address_width != 64)
		return;
	op->to = register_number(to->reg.value);
	if (is_fixed(decoded, from, &value))
		set_fixed(op, CODE_OP_CONST, value);
	else if (is_based(from))
		set_based(op, CODE_OP_OFFSET, from);
	op->extra = op->kind == CODE_OP_CONST;
}

static void take_sum(const struct decoded *decoded, struct code_op *op,
		     bool is_negative)
{
	const ZydisDecodedOperand *to = &decoded->operand[0], *from = to + 1;

	if (!is_register(to, 64))
		return;
	op->to = op->base = register_number(to->reg.value);
	if (is_immediate(from))
		set_fixed(op, CODE_OP_OFFSET,
			  is_negative ? 0 - from->imm.value.u
				      : from->imm.value.u);
	else if (is_register(from, 64) && !is_negative)
		set_register(op, CODE_OP_ADD, from);
}

static void take_push(const struct decoded *decoded, struct code_op *op)
{
	const ZydisDecodedOperand *from = &decoded->operand[0];

	if (decoded->instruction.operand_width != 64)
		return; /* rsp is unknown from here on */
	op->kind = CODE_OP_PUSH;
	if (is_register(from, 64))
		set_register(op, CODE_OP_PUSH, from);
	else if (is_immediate(from))
		set_fixed(op, CODE_OP_PUSH_CONST, from->imm.value.u);
}

static void take_pop(const struct decoded *decoded, struct code_op *op)
{
	const ZydisDecodedOperand *to = &decoded->operand[0];

	if (decoded->instruction.operand_width != 64)
		return;
	op->kind = CODE_OP_POP;
	if (is_register(to, 64))
		op->to = register_number(to->reg.value);
}

/* Relies on calls and jumps having their kinds in the same order. */
static void take_transfer(const struct decoded *decoded, struct code_op *op,
			  enum code_op_kind direct)
{
	const ZydisDecodedOperand *to = &decoded->operand[0];
	uint64_t value;

	if (is_immediate(to) && to->imm.is_relative)
		set_fixed(op, direct, decoded->next + to->imm.value.u);
	else if (is_fixed(decoded, to, &value))
		set_fixed(op, direct + 1, value);
	else if (is_register(to, 64))
		set_register(op, direct + 2, to);
	else if (is_based(to))
		set_based(op, direct + 2, to);
	else if (direct == CODE_OP_JUMP && is_indexed(to))
		set_based(op, CODE_OP_JUMP_TABLE, to);
	else
		op->kind = (uint8_t)(direct + 2);
}

static void take_branch(const struct decoded *decoded, struct code_op *op)
{
	const ZydisDecodedOperand *to = &decoded->operand[0];

	if (is_immediate(to) && to->imm.is_relative)
		set_fixed(op, CODE_OP_BRANCH, decoded->next + to->imm.value.u);
	else
		op->kind = CODE_OP_STOP;
}

static void take_kind(const struct decoded *decoded, struct code_op *op)
{
	const ZydisDecodedOperand *operand = decoded->operand;

	switch (decoded->instruction.mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR64:
		op->kind = CODE_OP_NOP;
		break;
	case ZYDIS_MNEMONIC_XCHG: /* 66 90 */
		if (is_register(&operand[0], 16) &&
		    is_register(&operand[1], 16) &&
		    operand[0].reg.value == operand[1].reg.value)
			op->kind = CODE_OP_NOP;
		break;
	case ZYDIS_MNEMONIC_MOV:
		take_move(decoded, op);
		break;
	case ZYDIS_MNEMONIC_MOVSXD:
		op->to = register_number(operand[0].reg.value);
		if (is_register(&operand[0], 64) && is_indexed(&operand[1]))
			set_based(op, CODE_OP_LOAD_TABLE, &operand[1]);
		break;
	case ZYDIS_MNEMONIC_LEA:
		take_lea(decoded, op);
		break;
	case ZYDIS_MNEMONIC_ADD:
		take_sum(decoded, op, false);
		break;
	case ZYDIS_MNEMONIC_SUB:
		take_sum(decoded, op, true);
		break;
	case ZYDIS_MNEMONIC_AND:
		if (is_register(&operand[0], 64) && is_immediate(&operand[1])) {
			op->kind = CODE_OP_ALIGN;
			op->to = register_number(operand[0].reg.value);
		}
		break;
	case ZYDIS_MNEMONIC_PUSH:
		take_push(decoded, op);
		break;
	case ZYDIS_MNEMONIC_POP:
		take_pop(decoded, op);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		op->kind = CODE_OP_LEAVE;
		break;
	case ZYDIS_MNEMONIC_CALL:
		take_transfer(decoded, op, CODE_OP_CALL);
		break;
	case ZYDIS_MNEMONIC_JMP:
		take_transfer(decoded, op, CODE_OP_JUMP);
		break;
	case ZYDIS_MNEMONIC_RET:
		op->kind = CODE_OP_RETURN;
		break;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_IRETQ:
		op->kind = CODE_OP_STOP;
		break;
	default:
		if (decoded->instruction.meta.category == ZYDIS_CATEGORY_CMOV)
			take_choose(decoded, op);
		else if (decoded->instruction.meta.branch_type !=
			 ZYDIS_BRANCH_TYPE_NONE)
			take_branch(decoded, op);
		break;
	}
}

static void take_writes(const struct decoded *decoded, struct code_op *op)
{
	for (unsigned int i = 0; i < decoded->instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &decoded->operand[i];
		uint8_t number;

		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			number = register_number(operand->reg.value);
			if (number != CODE_NO_REGISTER)
				op->writes |= (uint16_t)(1u << number);
		} else if (is_based(operand) && op->kind != CODE_OP_PUSH &&
			   op->kind != CODE_OP_PUSH_CONST) {
			op->memory =
				(uint8_t)MIN(operand->size / 8, MEMORY_UNKNOWN);
			if (decoded->instruction.attributes &
			    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPNE))
				op->memory = MEMORY_UNKNOWN;
			op->base = register_number(operand->mem.base);
			if (op->kind != CODE_OP_STORE_CONST)
				op->value = (uint64_t)operand->mem.disp.value;
		}
	}
}

/* Returns true if the instruction reads @number, or may leave it unchanged.
 * Zeroing (xor %r11d, %r11d) is not a read. */
static bool uses_register(const struct decoded *decoded, uint8_t number)
{
	const ZydisDecodedOperand *operand = decoded->operand;

	if ((decoded->instruction.mnemonic == ZYDIS_MNEMONIC_XOR ||
	     decoded->instruction.mnemonic == ZYDIS_MNEMONIC_SUB) &&
	    operand[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    operand[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    operand[0].reg.value == operand[1].reg.value)
		return false;
	for (; operand < decoded->operand + decoded->instruction.operand_count;
	     operand++) {
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (register_number(operand->mem.base) == number ||
		     register_number(operand->mem.index) == number))
			return true;
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    register_number(operand->reg.value) == number &&
		    operand->actions & (ZYDIS_OPERAND_ACTION_MASK_READ |
					ZYDIS_OPERAND_ACTION_CONDWRITE))
			return true;
	}
	return false;
}

static void take_op(const struct decoded *decoded, struct code_op *op)
{
	*op = (struct code_op){ .length = decoded->instruction.length & 15u,
				.to = CODE_NO_REGISTER,
				.from = CODE_NO_REGISTER,
				.base = CODE_NO_REGISTER };
	take_kind(decoded, op);
	if (op->kind == CODE_OP_NOP)
		return;
	op->uses_r11 = uses_register(decoded, CODE_R11);
	if (op->kind < CODE_OP_CALL)
		take_writes(decoded, op);
}

int code_decode(const uint8_t *code, size_t bytes, uint64_t vaddr,
		struct code_ops *ops, struct budget *budget)
{
	struct decoded decoded;
	ZydisDecoder decoder;
	size_t at = 0;

	if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					 ZYDIS_STACK_WIDTH_64)))
		return -ENOMEM;
	while (at < bytes) {
		struct code_op op = { .length = 1, .kind = CODE_OP_BAD };

		if (grow_array_from(budget, ops->list, ops->room,
				    ops->count + 1))
			return -ENOMEM;
		if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(
			    &decoder, code + at, bytes - at,
			    &decoded.instruction, decoded.operand))) {
			decoded.next = vaddr + at + decoded.instruction.length;
			take_op(&decoded, &op);
		}
		op.at = (uint32_t)at;
		ops->list[ops->count++] = op;
		at += op.length;
	}
	return 0;
}
