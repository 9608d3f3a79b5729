/* SPDX-License-Identifier: Apache-2.0
 *
 * forms - the bytes of a site of each form (collector/code/code_plan.h), as its
 * file has them, switched on and switched off. Pure; any thread.
 *
 * One byte of a site, the *flip*, says whether it calls: the bytes that follow
 * are the operand of a call or of an instruction without effect. All else that
 * changes when a site is connected or restored, the *body*, is written only
 * while the site is off. No instruction of a site that is off, or as in the
 * file, begins in the body, so no thread is ever there; there is one exception,
 * the sled of XRay. There the body is one instruction both ways.
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
 *
 * call9 is 2E 2E 2E 2E E8 rel32, a call of the same length as the nop. So
 * wherever a thread is in a sled, it finds an instruction there, as the file
 *has it or not: at its begin, or behind the sled, where the call returns to.
 */
#ifndef PERFREC_COLLECTOR_PATCH_FORMS_H
#define PERFREC_COLLECTOR_PATCH_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/code/code_plan.h"

struct site_form {
	uint8_t length; /* of the whole site; 0: there is no such form */
	uint8_t flip; /* offset of the byte */
	uint8_t on, off; /* its values */
	uint8_t body, body_end; /* offsets: what else may change */
	uint8_t next; /* offset of the instruction after that with the operand;
		       * the operand is the four bytes before it */
	bool through_memory; /* the operand leads to a pointer */
};

enum site_state {
	SITE_PLAIN, /* as in the file */
	SITE_OFF,
	SITE_ON,
	SITE_FOREIGN, /* somebody else has written there */
};

/* The form @form, any number; of length 0 if it is none. */
const struct site_form *site_form(uint8_t form);

/* Sets the CODE_SITE_BYTES of @out to those of a site of @form whose bytes in
 * the file are @plain, in @state (not FOREIGN), where @operand leads to the
 * thunk. */
void site_bytes(uint8_t form, const uint8_t *plain, enum site_state state,
		int32_t operand, uint8_t *out);

/*
 * In which state a site is whose bytes are @now. A site that is off may have
 * the body of the file still, or again: *@body_is_plain then; it is of no
 * meaning for other states.
 */
enum site_state site_state_of(uint8_t form, const uint8_t *plain,
			      int32_t operand, const uint8_t *now,
			      bool *body_is_plain);

#endif
