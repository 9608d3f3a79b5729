/* SPDX-License-Identifier: Apache-2.0
 *
 * code_site - a site and a function of a plan (code_plan.h).
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_SITE_H
#define PERFREC_COLLECTOR_CODE_CODE_SITE_H

#include <stdbool.h>
#include <stdint.h>

enum code_form {
	/* Calls builds. */
	CODE_CALL, /* E8 rel32: PLT */
	CODE_CALL_67, /* 67 E8 rel32: relaxed by the linker */
	CODE_CALL_GOT, /* FF 15 disp32: GOT */
	CODE_JUMP, /* E9 rel32: tail jump to the exit hook */
	CODE_JUMP_GOT, /* FF 25 disp32 */
	/* Entry builds by gcc. */
	CODE_ENTRY_CALL, /* E8 rel32: the module's own stub */
	CODE_ENTRY_CALL_67, /* 67 E8 rel32 */
	CODE_EXIT_NOP, /* 0F 1F 44 00 00: before a jump or "ret n" */
	CODE_EXIT_RETURN, /* 0F 1F 44 00 00: before an untargeted C3 */
	/* Entry builds by clang: XRay's sleds. */
	CODE_XRAY_ENTRY, /* EB 09 and nine bytes of nop */
	CODE_XRAY_EXIT, /* C3 and ten bytes of nop */
	CODE_XRAY_TAIL, /* as XRAY_ENTRY, before a tail jump */
	/* Files without hooks: the first bytes of a function (code_moves.h). */
	CODE_MOVED,
	/* A slot of the GOT, through which another function is called
	 * (code_calls.h). */
	CODE_SLOT,
	CODE_FORMS,
};

#define CODE_SITE_BYTES 12u

struct code_site {
	uint64_t address; /* in the file */
	uint8_t form;
	uint8_t length;
	bool is_exit;
	/* Exits of entry builds: r11 must be preserved. */
	bool r11_live;
	uint8_t bytes[CODE_SITE_BYTES]; /* in the file, padded with 0 */
	/* @count indexes of functions, at code_plan.site_functions[first]. The
	 * loudest function decides the state. Entry builds have exactly one. */
	uint32_t first, count;
};

enum code_refusal {
	CODE_NOT_REFUSED,
	CODE_UNKNOWN_FUNCTION, /* rdi is not constant */
	CODE_UNKNOWN_FORM,
	CODE_THROUGH_REGISTER, /* a hook's address is loaded */
	CODE_UNDECODED, /* or overlaps */
	CODE_TOO_LARGE,
	CODE_NO_ENTRY,
	CODE_EXIT_MISSING, /* an exit without a nop */
	CODE_STUB_NOT_OURS, /* calls another stub */
	CODE_TWO_ADDRESSES, /* directly and through the GOT */
	CODE_VALUE_IN_R11, /* r11 is needed at its start */
	/* Functions that cannot be moved. */
	CODE_TOO_SHORT,
	CODE_ENTERED_WITHIN, /* something leads to its first instructions */
	CODE_CALLS_EARLY,
	CODE_CATCHES_EARLY, /* an exception of its first instructions */
	CODE_NOT_RELOCATABLE,
	CODE_READS_RETURN,
	CODE_SWITCHES_STACK,
	CODE_VARIABLE_ARGUMENTS,
	CODE_ARGUMENTS, /* on the stack: by address, or too many */
	CODE_ODD_FRAME,
	CODE_ONLY_JUMPED_TO, /* without a name: perhaps a part */
	/* Calls that cannot be taken. */
	CODE_SPECIAL_CALL, /* returns twice or never, or looks at its caller */
	CODE_ADDRESS_TAKEN, /* the slot is not only called through */
	CODE_REFUSALS,
};

struct code_function {
	uint64_t address; /* in the file; 0: only inlined here */
	/* 0, or the GOT slot with the function's address: another module may
	 * define the symbol first, so a function may have sites in several
	 * modules. */
	uint64_t slot;
	/* A function that is called through the slot: the offset of its name in
	 * code_plan.slot_names. Else 0. */
	uint32_t name;
	uint8_t refused; /* enum code_refusal */
	bool entry_build;
	/* Site or instruction that caused the refusal, or 0. */
	uint64_t refused_at;
	/* @count indexes of sites, at code_plan.function_sites[first]. */
	uint32_t first, count;
};

#endif
