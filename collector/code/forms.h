/* SPDX-License-Identifier: Apache-2.0
 *
 * forms - the bytes of a site of each form (collector/code/code_site.h): as in
 * the file, switched on and switched off. Pure; any thread.
 *
 * One byte of a site, the *flip*, decides whether it calls. The bytes after it
 * are the operand of a call or of an instruction without effect. The *body* is
 * all else that changes; it is written only while the site is off. No
 * instruction of a site that is plain or off starts inside the body, so no
 * thread is there. XRay's sled is an exception: its body is one instruction in
 * both states.
 *
 *	form            as in the file      on                  off
 *	CALL            E8 rel32            E8 rel32            A9 (test eax)
 *	CALL_67         67 E8 rel32         67 E8 rel32         67 A9
 *	CALL_GOT        FF 15 disp32        FF 15 disp32        8D 15 (lea edx)
 *	JUMP            E9 rel32            E9 rel32            C3
 *	JUMP_GOT        FF 25 disp32        FF 25 disp32        C3 25
 *	ENTRY_CALL(_67) as CALL(_67)
 *	EXIT_NOP        0F 1F 44 00 00      E8 rel32            A9
 *	EXIT_RETURN     0F 1F 44 00 00      E9 rel32            A9
 *	XRAY_ENTRY      EB 09 nop9          EB 00 call9         EB 09
 *	XRAY_TAIL       the same
 *	XRAY_EXIT       C3 nop10            E9 rel32            C3
 *	MOVED           any instructions    E9 rel32            the same
 *
 * call9 is 2E 2E 2E 2E E8 rel32, with the length of the nop. So a thread in a
 * sled always finds an instruction: at the start of the sled, or behind it,
 * where the call returns.
 *
 * MOVED is written while no thread runs, and never taken back: a thread may be
 * in the middle of the file's instructions. Its thunk decides what a call does.
 *
 * SLOT is data, the address of a function or of its thunk, and never taken back
 * either. patch_connect.c writes it.
 */
#ifndef PERFREC_COLLECTOR_CODE_FORMS_H
#define PERFREC_COLLECTOR_CODE_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/code/code_site.h"

struct site_form {
	uint8_t length; /* 0: no such form */
	uint8_t flip;
	uint8_t on, off;
	uint8_t body, body_end; /* offsets */
	uint8_t next; /* offset of the instruction after the operand */
	bool through_memory; /* the operand leads to a pointer */
};

enum site_state {
	SITE_PLAIN, /* as in the file */
	SITE_OFF,
	SITE_ON,
	SITE_FOREIGN, /* changed by others */
};

/* Returns a form of length 0 if @form is invalid. */
const struct site_form *site_form(uint8_t form);

struct code_op;

/* Returns the form of the call or jump @op, whose bytes are @code, in a calls
 * build; CODE_FORMS: none. */
uint8_t site_form_of(const uint8_t *code, const struct code_op *op);

/* @plain are the bytes in the file; @operand leads to the thunk. @state is not
 * FOREIGN. Writes CODE_SITE_BYTES. */
void site_bytes(uint8_t form, const uint8_t *plain, enum site_state state,
		int32_t operand, uint8_t *out);

/* Returns the state of a site with the bytes @now. *@body_is_plain: the site is
 * off, with the body of the file. */
enum site_state site_state_of(uint8_t form, const uint8_t *plain,
			      int32_t operand, const uint8_t *now,
			      bool *body_is_plain);

#endif
