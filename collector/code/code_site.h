/* SPDX-License-Identifier: Apache-2.0
 *
 * code_site - what a plan (code_plan.h) says of one site, and of one function.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_SITE_H
#define PERFREC_COLLECTOR_CODE_CODE_SITE_H

#include <stdbool.h>
#include <stdint.h>

enum code_form {
	/* Calls builds. */
	CODE_CALL, /* E8 rel32: through the PLT */
	CODE_CALL_67, /* 67 E8 rel32: the same, relaxed by the linker */
	CODE_CALL_GOT, /* FF 15 disp32: through the GOT */
	CODE_JUMP, /* E9 rel32: a tail jump to the exit hook */
	CODE_JUMP_GOT, /* FF 25 disp32 */
	/* Entry builds by gcc. */
	CODE_ENTRY_CALL, /* E8 rel32: of the module's own stub, which returns */
	CODE_ENTRY_CALL_67, /* 67 E8 rel32: the same */
	CODE_EXIT_NOP, /* 0F 1F 44 00 00: before a jump out, or "ret n" */
	CODE_EXIT_RETURN, /* the same: before C3, to which nothing jumps */
	/* Entry builds by clang: XRay's sleds. */
	CODE_XRAY_ENTRY, /* EB 09 and nine bytes of nop */
	CODE_XRAY_EXIT, /* C3 and ten bytes of nop: the return itself */
	CODE_XRAY_TAIL, /* EB 09 and nine bytes of nop, before a tail jump */
	CODE_FORMS,
};

#define CODE_SITE_BYTES 12u

struct code_site {
	uint64_t address; /* of its first byte: virtual, as in the file */
	uint8_t form; /* enum code_form */
	uint8_t length; /* bytes of the whole form, at most CODE_SITE_BYTES */
	bool is_exit;
	/* Exits of entry builds: what r11 has is needed behind it. */
	bool r11_live;
	uint8_t bytes[CODE_SITE_BYTES]; /* as in the file, the rest is 0 */
	/* The functions that it may stand for: code_plan.site_functions[first]
	 * and the @count - 1 that follow, numbers in code_plan.functions. It
	 * takes the loudest state of them. Entry builds: always one. */
	uint32_t first, count;
};

enum code_refusal {
	CODE_NOT_REFUSED,
	CODE_UNKNOWN_FUNCTION, /* a site's rdi is no constant */
	CODE_UNKNOWN_FORM, /* the hook is called in another form */
	CODE_THROUGH_REGISTER, /* the hook's address is loaded, not called */
	CODE_UNDECODED, /* code that cannot be decoded, or overlaps */
	CODE_TOO_LARGE, /* beyond the limits on work or memory */
	CODE_NO_ENTRY, /* exits, but no call at its begin */
	CODE_EXIT_MISSING, /* entry build: a way out without a nop */
	CODE_STUB_NOT_OURS, /* entry build: calls no stub of the module */
	CODE_TWO_ADDRESSES, /* meant by its address and through the GOT */
	CODE_VALUE_IN_R11, /* entry build: takes or keeps a value in r11 */
	CODE_REFUSALS,
};

struct code_function {
	uint64_t address; /* virtual, as in the file; 0: the function is not in
			   * the file, but inlined here */
	/* 0: it is @address, moved with the module. Else the virtual address of
	 * 8 bytes in the GOT, where the program has the function's address: a
	 * symbol that another module may have defined first. So the same
	 * function may have sites in several modules. */
	uint64_t slot;
	uint8_t refused; /* enum code_refusal */
	bool entry_build;
	/* The site or instruction that is the reason of the refusal, or 0. */
	uint64_t refused_at;
	/* Its sites: code_plan.function_sites[first] and the @count - 1 that
	 * follow, numbers in code_plan.sites. */
	uint32_t first, count;
};

#endif
