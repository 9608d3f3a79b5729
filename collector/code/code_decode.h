/* SPDX-License-Identifier: Apache-2.0
 *
 * code_decode - reduces x86-64 instructions to the effects that decide which
 * constant a register holds. Pure; any thread. The bytes are hostile.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_DECODE_H
#define PERFREC_COLLECTOR_CODE_CODE_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"

/* Register numbers are those of the machine: rax 0, rsp 4, rdi 7, r15 15. */
#define CODE_REGISTERS 16
#define CODE_RAX 0
#define CODE_RSP 4
#define CODE_RBP 5
#define CODE_RDI 7
#define CODE_R11 11
#define CODE_NO_REGISTER 16

enum code_op_kind {
	CODE_OP_OTHER, /* only @writes and @memory matter */
	CODE_OP_NOP,
	CODE_OP_BAD, /* undecodable; one byte */
	CODE_OP_CONST, /* to = value, an address if extra is 1 */
	CODE_OP_LOAD, /* to = the 8 bytes at address value */
	CODE_OP_LOAD_STACK, /* to = the 8 bytes at base + value */
	CODE_OP_LOAD_TABLE, /* to = a table entry; no base: table at value */
	/* If extra is 32, the upper half of @to becomes 0. */
	CODE_OP_MOVE,
	CODE_OP_CHOOSE,
	CODE_OP_CHOOSE_LOAD,
	CODE_OP_CHOOSE_STACK,
	CODE_OP_OFFSET, /* to = base + value */
	CODE_OP_ADD,
	CODE_OP_ALIGN, /* to is rounded down */
	CODE_OP_STORE,
	CODE_OP_STORE_CONST, /* the 8 bytes at base + extra = value */
	CODE_OP_PUSH, /* from may be no register */
	CODE_OP_PUSH_CONST,
	CODE_OP_POP, /* to may be no register */
	CODE_OP_LEAVE,
	CODE_OP_CALL, /* extra 1: never returns */
	CODE_OP_CALL_MEMORY, /* through the pointer at address value */
	CODE_OP_CALL_OTHER, /* through from, or base + value */
	CODE_OP_JUMP, /* jumps have the order of calls */
	CODE_OP_JUMP_MEMORY,
	CODE_OP_JUMP_OTHER,
	CODE_OP_JUMP_TABLE, /* to an entry of the table at base + value */
	CODE_OP_BRANCH, /* to value, or to the next instruction */
	CODE_OP_RETURN,
	CODE_OP_STOP,
};

struct code_op {
	uint32_t at;
	uint8_t length : 4;
	uint8_t is_leader : 1; /* starts a block; set by code_group */
	uint8_t uses_r11 : 1;
	uint8_t has_old_r11 : 1;
	uint8_t kind; /* enum code_op_kind */
	uint8_t to, from, base; /* registers, or CODE_NO_REGISTER */
	uint8_t memory; /* bytes written near base; 255: unknown */
	uint16_t writes; /* bit mask of changed registers */
	int32_t extra;
	uint64_t value;
};

struct code_ops {
	struct code_op *list;
	size_t count, room;
};

/* Appends the instructions in @bytes at @code, which have virtual address
 * @vaddr, to @ops. Returns 0 or -ENOMEM. */
int code_decode(const uint8_t *code, size_t bytes, uint64_t vaddr,
		struct code_ops *ops, struct budget *budget);

#endif
