/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/forms.h"

#include <string.h>

#include "collector/code/code_decode.h"
#include "shared/compiler.h"

#define CALL_FORM                                \
	{                                        \
		5, 0, 0xe8, 0xa9, 1, 5, 5, false \
	}
#define CALL_67_FORM                             \
	{                                        \
		6, 1, 0xe8, 0xa9, 2, 6, 6, false \
	}
#define SLED_FORM                                   \
	{                                           \
		11, 1, 0x00, 0x09, 2, 11, 11, false \
	}

static const struct site_form g_forms[CODE_FORMS] = {
	[CODE_CALL] = CALL_FORM,
	[CODE_CALL_67] = CALL_67_FORM,
	[CODE_CALL_GOT] = { 6, 0, 0xff, 0x8d, 2, 6, 6, true },
	[CODE_JUMP] = { 5, 0, 0xe9, 0xc3, 1, 5, 5, false },
	[CODE_JUMP_GOT] = { 6, 0, 0xff, 0xc3, 2, 6, 6, true },
	[CODE_ENTRY_CALL] = CALL_FORM,
	[CODE_ENTRY_CALL_67] = CALL_67_FORM,
	[CODE_EXIT_NOP] = CALL_FORM,
	[CODE_EXIT_RETURN] = { 5, 0, 0xe9, 0xa9, 1, 5, 5, false },
	[CODE_XRAY_ENTRY] = SLED_FORM,
	[CODE_XRAY_TAIL] = SLED_FORM,
	[CODE_XRAY_EXIT] = { 11, 0, 0xe9, 0xc3, 1, 5, 5, false },
	[CODE_MOVED] = { 5, 0, 0xe9, 0xe9, 1, 5, 5, false },
	[CODE_SLOT] = { 8, 0, 0x00, 0x00, 0, 8, 8, true },
};

const struct site_form *site_form(uint8_t form)
{
	static const struct site_form none;

	return form < CODE_FORMS ? &g_forms[form] : &none;
}

uint8_t site_form_of(const uint8_t *code, const struct code_op *op)
{
	if (op->kind == CODE_OP_CALL && op->length == 5 && code[0] == 0xe8)
		return CODE_CALL;
	if (op->kind == CODE_OP_CALL && op->length == 6 && code[0] == 0x67 &&
	    code[1] == 0xe8)
		return CODE_CALL_67;
	if (op->kind == CODE_OP_CALL_MEMORY && op->length == 6 &&
	    code[0] == 0xff && code[1] == 0x15)
		return CODE_CALL_GOT;
	if (op->kind == CODE_OP_JUMP && op->length == 5 && code[0] == 0xe9)
		return CODE_JUMP;
	if (op->kind == CODE_OP_JUMP_MEMORY && op->length == 6 &&
	    code[0] == 0xff && code[1] == 0x25)
		return CODE_JUMP_GOT;
	return CODE_FORMS;
}

void site_bytes(uint8_t form, const uint8_t *plain, enum site_state state,
		int32_t operand, uint8_t *out)
{
	/* Prefixes without effect on a call. */
	static const uint8_t long_call[] = { 0x2e, 0x2e, 0x2e, 0x2e, 0xe8 };
	const struct site_form *f = site_form(form);

	memcpy(out, plain, CODE_SITE_BYTES);
	if (state == SITE_PLAIN)
		return;
	if (form == CODE_XRAY_ENTRY || form == CODE_XRAY_TAIL)
		memcpy(out + f->body, long_call, sizeof(long_call));
	memcpy(out + f->next - 4, &operand, 4);
	out[f->flip] = state == SITE_ON ? f->on : f->off;
}

enum site_state site_state_of(uint8_t form, const uint8_t *plain,
			      int32_t operand, const uint8_t *now,
			      bool *body_is_plain)
{
	const struct site_form *f = site_form(form);
	uint8_t bytes[CODE_SITE_BYTES];

	*body_is_plain = false;
	if (!memcmp(now, plain, f->length))
		return SITE_PLAIN;
	site_bytes(form, plain, SITE_ON, operand, bytes);
	if (!memcmp(now, bytes, f->length))
		return SITE_ON;
	bytes[f->flip] = f->off;
	if (!memcmp(now, bytes, f->length))
		return SITE_OFF;
	memcpy(bytes, plain, CODE_SITE_BYTES);
	bytes[f->flip] = f->off;
	*body_is_plain = true;
	return memcmp(now, bytes, f->length) ? SITE_FOREIGN : SITE_OFF;
}
