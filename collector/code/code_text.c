/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_plan.h"

#include "shared/compiler.h"

const char *code_refusal_text(enum code_refusal refusal)
{
	static const char *const text[CODE_REFUSALS] = {
		[CODE_NOT_REFUSED] = "not refused",
		[CODE_UNKNOWN_FUNCTION] =
			"a call of a hook for a function that is not constant",
		[CODE_UNKNOWN_FORM] = "a call of a hook in an unknown form",
		[CODE_THROUGH_REGISTER] = "a call of a hook through a register",
		[CODE_UNDECODED] = "code that cannot be decoded",
		[CODE_TOO_LARGE] = "code beyond the limits of decoding",
		[CODE_NO_ENTRY] = "no call of a hook where it begins",
		[CODE_EXIT_MISSING] = "a way out without room for a hook",
		[CODE_STUB_NOT_OURS] =
			"code at its begin that perfrec cc did not make",
		[CODE_TWO_ADDRESSES] = "two ways to say its address",
		[CODE_VALUE_IN_R11] = "a value in r11 that it takes or keeps",
		[CODE_TOO_SHORT] = "too few bytes for a jump",
		[CODE_ENTERED_WITHIN] = "a jump back to its first instructions",
		[CODE_CALLS_EARLY] = "a call among its first instructions",
		[CODE_CATCHES_EARLY] =
			"a catch for an exception of its first instructions",
		[CODE_NOT_RELOCATABLE] =
			"first instructions that only work where they are",
		[CODE_READS_RETURN] = "a use of its return address",
		[CODE_SWITCHES_STACK] = "a change to another stack",
		[CODE_VARIABLE_ARGUMENTS] = "a variable number of arguments",
		[CODE_ARGUMENTS] =
			"stack arguments that it uses by address, or too many",
		[CODE_ODD_FRAME] = "an unusual frame description",
		[CODE_ONLY_JUMPED_TO] =
			"jumps that may make it a part of another function",
		[CODE_SPECIAL_CALL] =
			"no return, two returns, or a look at its caller",
		[CODE_ADDRESS_TAKEN] =
			"a use of its address other than for calls",
	};

	return (size_t)refusal < CODE_REFUSALS ? text[refusal] : "unknown";
}

const char *code_form_name(enum code_form form)
{
	static const char *const name[CODE_FORMS] = {
		[CODE_CALL] = "call",
		[CODE_CALL_67] = "call-67",
		[CODE_CALL_GOT] = "call-got",
		[CODE_JUMP] = "jump",
		[CODE_JUMP_GOT] = "jump-got",
		[CODE_ENTRY_CALL] = "entry-call",
		[CODE_ENTRY_CALL_67] = "entry-call-67",
		[CODE_EXIT_NOP] = "exit-nop",
		[CODE_EXIT_RETURN] = "exit-return",
		[CODE_XRAY_ENTRY] = "xray-entry",
		[CODE_XRAY_EXIT] = "xray-exit",
		[CODE_XRAY_TAIL] = "xray-tail",
		[CODE_MOVED] = "moved",
		[CODE_SLOT] = "slot",
	};

	return (size_t)form < CODE_FORMS ? name[form] : "unknown";
}
