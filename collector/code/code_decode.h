/* SPDX-License-Identifier: Apache-2.0
 *
 * code_decode - instructions of x86-64, reduced to what matters for finding out
 * which constant a register has. Pure; any thread. The bytes are hostile.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_DECODE_H
#define PERFREC_COLLECTOR_CODE_CODE_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"

/* Registers have the numbers of the machine: rax 0, rsp 4, rdi 7, r15 15. */
#define CODE_REGISTERS 16
#define CODE_RAX 0
#define CODE_RSP 4
#define CODE_RBP 5
#define CODE_RDI 7
#define CODE_R11 11
#define CODE_NO_REGISTER 16

enum code_op_kind {
	CODE_OP_OTHER, /* no more than its @writes and @memory */
	CODE_OP_NOP,
	CODE_OP_BAD, /* no instruction; one byte */
	CODE_OP_CONST, /* to = value, an address if extra is 1 */
	CODE_OP_LOAD, /* to = the 8 bytes at address value */
	CODE_OP_LOAD_STACK, /* to = the 8 bytes at base + value */
	CODE_OP_LOAD_TABLE, /* to = an entry of the table at base + value, or at
			     * value if there is no base */
	/* If extra is 32, only the lower half of it; the upper is 0. */
	CODE_OP_MOVE, /* to = from */
	CODE_OP_CHOOSE, /* to = from or to */
	CODE_OP_CHOOSE_LOAD, /* to = the 8 bytes at address value, or to */
	CODE_OP_CHOOSE_STACK, /* to = the 8 bytes at base + value, or to */
	CODE_OP_OFFSET, /* to = base + value */
	CODE_OP_ADD, /* to = to + from */
	CODE_OP_ALIGN, /* to is rounded down */
	CODE_OP_STORE, /* the 8 bytes at base + value = from */
	CODE_OP_STORE_CONST, /* the 8 bytes at base + extra = value */
	CODE_OP_PUSH, /* from, if it is a register */
	CODE_OP_PUSH_CONST, /* value */
	CODE_OP_POP, /* to, if it is a register */
	CODE_OP_LEAVE,
	CODE_OP_CALL, /* the code at value. Of calls extra is 1 if somebody
		       * found that they never return */
	CODE_OP_CALL_MEMORY, /* what the 8 bytes at address value say */
	CODE_OP_CALL_OTHER, /* from; or 8 bytes at base + value */
	CODE_OP_JUMP, /* as for calls */
	CODE_OP_JUMP_MEMORY,
	CODE_OP_JUMP_OTHER,
	CODE_OP_JUMP_TABLE, /* an entry of the table at base + value */
	CODE_OP_BRANCH, /* to value, or on */
	CODE_OP_RETURN,
	CODE_OP_STOP, /* never goes on */
};

struct code_op {
	uint32_t at; /* from the begin of the piece */
	uint8_t length : 4;
	uint8_t is_leader : 1; /* code jumps here: for whoever follows it */
	uint8_t uses_r11 : 1; /* what r11 has matters to it */
	uint8_t has_old_r11 : 1; /* for code_r11 */
	uint8_t kind; /* enum code_op_kind */
	uint8_t to, from, base; /* registers, or CODE_NO_REGISTER */
	uint8_t memory; /* how many bytes it writes at base + value, or at base
			 * + extra; 255: unknown; 0: none that we follow */
	uint16_t writes; /* registers that it changes, a bit each */
	int32_t extra;
	uint64_t value;
};

struct code_ops {
	struct code_op *list;
	size_t count, room;
};

/*
 * Decodes the @bytes at @code, which lie at virtual address @vaddr, from the
 * begin to the end, and appends them to @ops, with memory of @budget; what is
 * no instruction is CODE_OP_BAD, a byte each. 0 or -ENOMEM.
 */
int code_decode(const uint8_t *code, size_t bytes, uint64_t vaddr,
		struct code_ops *ops, struct budget *budget);

#endif
