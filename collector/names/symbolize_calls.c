/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize_calls - the place of an argument at the entry of a function.
 *
 * Optimized code: the compiler says in which register or word of the stack the
 * argument is at the first instruction. That is true also for functions whose
 * parameters it has changed (.isra, .constprop). An argument without such a
 * place is not read.
 *
 * Other code: all arguments are variables of the frame, into which the first
 * instructions copy them. There the rules of the ABI apply. They need the
 * classes of all arguments before, so behind one of an odd type none is read.
 */
#include "collector/names/symbolize_calls.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/names/call_layout.h"
#include "collector/names/dwarf_name.h"
#include "shared/compiler.h"

#define MEMBERS_MAX 4096
/* Registers by their DWARF numbers (psABI 3.6.2). */
#define REG_XMM0 17

/* --- types ---------------------------------------------------------------- */

/* How a value is passed. */
enum pass {
	PASS_ODD, /* not certain */
	PASS_INTEGER, /* in general registers */
	PASS_FLOAT,
};

struct passed {
	enum pass pass;
	uint32_t words;
};

static bool type_of_die(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;

	return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, &type) &&
	       !dwarf_peel_type(&type, out);
}

static uint32_t bytes_of_type(Dwarf_Die *type)
{
	Dwarf_Word bytes;

	return !dwarf_aggregate_size(type, &bytes) && bytes < UINT32_MAX
		       ? (uint32_t)bytes
		       : 0;
}

static uint32_t number_of_type(Dwarf_Die *type, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_attr_integrate(type, name, &attribute) &&
			       !dwarf_formudata(&attribute, &value) &&
			       value < UINT32_MAX
		       ? (uint32_t)value
		       : 0;
}

static bool has_member_at(Dwarf_Die *type, const char *name, uint32_t at)
{
	uint32_t members = 0;
	Dwarf_Die die;

	if (dwarf_child(type, &die))
		return false;
	do {
		const char *text = dwarf_tag(&die) == DW_TAG_member
					   ? dwarf_diename(&die)
					   : NULL;

		if (text && !strcmp(text, name))
			return number_of_type(&die,
					      DW_AT_data_member_location) == at;
	} while (++members < MEMBERS_MAX && dwarf_next_sibling(&die));
	return false;
}

/* Compares members as well: a class of another library than libstdc++ has the
 * same name and another layout. */
static bool is_class(Dwarf_Die *type, const char *name, const char *first,
		     const char *second)
{
	const char *text = dwarf_diename(type);

	return text && !strncmp(text, name, strlen(name)) &&
	       has_member_at(type, first, 0) && has_member_at(type, second, 8);
}

static bool is_std_string(Dwarf_Die *type)
{
	return is_class(type, "basic_string<char,", "_M_dataplus",
			"_M_string_length");
}

static bool is_record(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type;
}

static bool is_char(Dwarf_Die *type)
{
	uint32_t encoding = number_of_type(type, DW_AT_encoding);
	const char *name = dwarf_diename(type);

	return dwarf_tag(type) == DW_TAG_base_type &&
	       bytes_of_type(type) == 1 &&
	       (encoding == DW_ATE_signed_char ||
		encoding == DW_ATE_unsigned_char) &&
	       name && !strcmp(name, "char");
}

static void take_enumerators(Dwarf_Die *type, struct call_value *out)
{
	size_t room = 0;
	Dwarf_Die die;

	if (dwarf_child(type, &die))
		return;
	do {
		const char *name = dwarf_diename(&die);
		Dwarf_Attribute attribute;
		Dwarf_Sword value;

		if (dwarf_tag(&die) != DW_TAG_enumerator || !name ||
		    !dwarf_attr(&die, DW_AT_const_value, &attribute) ||
		    dwarf_formsdata(&attribute, &value) ||
		    grow_array(out->names, room, out->name_count + 1))
			continue;
		out->names[out->name_count].value = value;
		snprintf(out->names[out->name_count++].name, CALL_NAME_BYTES,
			 "%s", name);
	} while (out->name_count < CALL_ENUMERATORS_MAX &&
		 dwarf_next_sibling(&die));
}

static struct passed take_base_type(Dwarf_Die *type, struct call_value *out)
{
	const uint32_t bytes = out->bytes = (uint8_t)bytes_of_type(type);
	const bool fits = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;

	switch (number_of_type(type, DW_AT_encoding)) {
	case DW_ATE_boolean:
		out->kind = CALL_VALUE_BOOL;
		break;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		out->kind = CALL_VALUE_INT;
		break;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		out->kind = CALL_VALUE_UINT;
		break;
	case DW_ATE_float:
		out->kind = CALL_VALUE_FLOAT;
		if (bytes == 4 || bytes == 8)
			return (struct passed){ PASS_FLOAT, 1 };
		break;
	default:
		break;
	}
	if (fits && out->kind != CALL_VALUE_UNREAD &&
	    out->kind != CALL_VALUE_FLOAT)
		return (struct passed){ PASS_INTEGER, 1 };
	out->kind = CALL_VALUE_UNREAD;
	return (struct passed){ PASS_ODD, 0 };
}

/* Only for records of known classes, and those passed by address, it is certain
 * which registers they take. */
static struct passed take_record_type(Dwarf_Die *type, struct call_value *out)
{
	uint32_t convention = number_of_type(type, DW_AT_calling_convention);
	uint32_t bytes = bytes_of_type(type);

	if (is_std_string(type)) {
		out->kind = CALL_VALUE_STRING;
		return (struct passed){ PASS_INTEGER, 1 };
	}
	if (bytes == 16 &&
	    is_class(type, "basic_string_view<char,", "_M_len", "_M_str")) {
		out->kind = CALL_VALUE_VIEW;
		return (struct passed){ PASS_INTEGER, 2 };
	}
	if (convention == DW_CC_pass_by_reference)
		return (struct passed){ PASS_INTEGER, 1 };
	return (struct passed){ PASS_ODD, 0 };
}

static void take_pointer(Dwarf_Die *type, int tag, struct call_value *out)
{
	Dwarf_Die target;

	out->kind = CALL_VALUE_POINTER;
	out->bytes = 8;
	if (!type_of_die(type, &target))
		return;
	if (tag == DW_TAG_pointer_type && is_char(&target))
		out->kind = CALL_VALUE_CHARS;
	else if (tag != DW_TAG_pointer_type && is_std_string(&target))
		out->kind = CALL_VALUE_STRING;
}

static struct passed take_type(Dwarf_Die *type, struct call_value *out)
{
	int tag = dwarf_tag(type);

	out->kind = CALL_VALUE_UNREAD;
	switch (tag) {
	case DW_TAG_base_type:
		return take_base_type(type, out);
	case DW_TAG_enumeration_type:
		out->bytes = (uint8_t)bytes_of_type(type);
		if (out->bytes != 1 && out->bytes != 2 && out->bytes != 4 &&
		    out->bytes != 8)
			return (struct passed){ PASS_ODD, 0 };
		out->kind = CALL_VALUE_ENUM;
		take_enumerators(type, out);
		return (struct passed){ PASS_INTEGER, 1 };
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		take_pointer(type, tag, out);
		return (struct passed){ PASS_INTEGER, 1 };
	default:
		return is_record(tag) ? take_record_type(type, out)
				      : (struct passed){ PASS_ODD, 0 };
	}
}

/* --- places ---------------------------------------------------------------- */

/* Where the debug information says an argument is. */
enum where {
	WHERE_NOWHERE,
	WHERE_FRAME, /* in the frame of the function, which is not filled yet */
	WHERE_WORD,
};

static uint32_t word_of_register(Dwarf_Op *op)
{
	/* rdi, rsi, rdx, rcx, r8, r9 */
	static const uint8_t integers[] = { 5, 4, 1, 2, 8, 9 };
	uint64_t number = op->atom == DW_OP_regx
				  ? op->number
				  : (uint64_t)op->atom - DW_OP_reg0;

	if (op->atom != DW_OP_regx &&
	    (op->atom < DW_OP_reg0 || op->atom > DW_OP_reg31))
		return CALL_PLACE_NONE;
	for (uint32_t i = 0; i < ARRAY_SIZE(integers); i++)
		if (integers[i] == number)
			return i;
	return number >= REG_XMM0 && number < REG_XMM0 + 8
		       ? THUNK_WORDS_REGISTERS + (uint32_t)number - REG_XMM0
		       : CALL_PLACE_NONE;
}

/* Returns true if offsets of @function's variables are from the address above
 * the return address. */
static bool is_frame_at_call(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	return dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) &&
	       !dwarf_getlocation(&attribute, &ops, &count) && count == 1 &&
	       ops[0].atom == DW_OP_call_frame_cfa;
}

/* @is_address: a record that is passed by its address. */
static enum where find_argument_place(Dwarf_Die *argument, Dwarf_Die *function,
				      Dwarf_Addr entry, bool is_address,
				      uint32_t *word)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops = NULL, first;
	size_t count = 0;

	if (!dwarf_attr_integrate(argument, DW_AT_location, &attribute) ||
	    dwarf_getlocation_addr(&attribute, entry, &ops, &count, 1) != 1 ||
	    !count)
		return WHERE_NOWHERE;
	first = ops[0];
	if (first.atom == DW_OP_fbreg) {
		int64_t offset = (int64_t)first.number;

		/* A record passed by its address, which the frame keeps. */
		if (count == 2 && ops[1].atom == DW_OP_deref)
			return WHERE_FRAME;
		if (count != 1)
			return WHERE_NOWHERE;
		if (offset < 0 || !is_frame_at_call(function))
			return WHERE_FRAME;
		*word = THUNK_WORDS_ALL + (uint32_t)MIN(offset / 8, 240);
		return offset % 8 ? WHERE_NOWHERE : WHERE_WORD;
	}
	/* A record passed by its address, which is in a register. */
	if (is_address && count == 1 && first.atom >= DW_OP_breg0 &&
	    first.atom <= DW_OP_breg31 && !first.number)
		first.atom += DW_OP_reg0 - DW_OP_breg0;
	*word = word_of_register(&first);
	if (*word == CALL_PLACE_NONE)
		return WHERE_NOWHERE;
	if (count == 1)
		return WHERE_WORD;
	/* A std::string_view, in two registers. */
	return count == 4 && ops[1].atom == DW_OP_piece && ops[1].number == 8 &&
			       ops[3].atom == DW_OP_piece &&
			       ops[3].number == 8 &&
			       word_of_register(&ops[2]) == *word + 1
		       ? WHERE_WORD
		       : WHERE_NOWHERE;
}

static uint32_t place_by_rules(struct call_places *places,
			       const struct passed *passed)
{
	switch (passed->pass) {
	case PASS_INTEGER:
		return call_places_integer(places, passed->words);
	case PASS_FLOAT:
		return call_places_float(places);
	default:
		return CALL_PLACE_NONE;
	}
}

/* Returns true if the word of a value that is passed so may be @word. */
static bool is_fit_place(const struct passed *passed, uint32_t word)
{
	bool in_vector =
		word >= THUNK_WORDS_REGISTERS && word < THUNK_WORDS_ALL;

	return passed->pass != PASS_ODD && word < THUNK_WORDS_MAX &&
	       (word >= THUNK_WORDS_ALL ||
		in_vector == (passed->pass == PASS_FLOAT));
}

/* --- a function ------------------------------------------------------------ */

struct argument {
	struct passed passed;
	enum where where;
	uint32_t word;
};

static void take_parameter(Dwarf_Die *die, Dwarf_Die *function,
			   Dwarf_Addr entry, struct call_value *value,
			   struct argument *argument)
{
	const char *name = dwarf_diename(die);
	Dwarf_Die type;
	bool known;

	*argument = (struct argument){ .word = CALL_PLACE_NONE };
	value->kind = CALL_VALUE_UNREAD;
	snprintf(value->name, sizeof(value->name), "%s", name ? name : "");
	known = type_of_die(die, &type);
	if (known)
		argument->passed = take_type(&type, value);
	/* Some constructors and destructors have these, and some not. */
	if (!strcmp(value->name, "__in_chrg") ||
	    !strcmp(value->name, "__vtt_parm"))
		argument->passed.pass = PASS_ODD;
	argument->where = find_argument_place(
		die, function, entry,
		known && is_record(dwarf_tag(&type)) &&
			argument->passed.pass == PASS_INTEGER &&
			argument->passed.words == 1,
		&argument->word);
}

static void settle_places(struct call_layout *layout,
			  struct argument list[CALL_VALUES_MAX], uint32_t used)
{
	struct call_places places = { .registers = used };
	bool optimized = false, odd = false;

	for (uint32_t i = 0; i < layout->count; i++)
		optimized |= list[i].where == WHERE_NOWHERE ||
			     (list[i].where == WHERE_WORD &&
			      list[i].word < THUNK_WORDS_ALL);
	for (uint32_t i = 0; i < layout->count; i++) {
		struct call_value *value = &layout->value[i];
		uint32_t word = list[i].word;

		odd |= list[i].passed.pass == PASS_ODD;
		if (!optimized)
			word = odd ? CALL_PLACE_NONE
				   : place_by_rules(&places, &list[i].passed);
		else if (list[i].where != WHERE_WORD)
			word = CALL_PLACE_NONE;
		if (!is_fit_place(&list[i].passed, word))
			value->kind = CALL_VALUE_UNREAD;
		value->word = (uint8_t)MIN(word, CALL_PLACE_NONE);
	}
}

/* Sets *@hidden to how many registers the address of the result takes: the
 * function stores a large one itself. Returns false if that is not certain. */
static bool take_result(Dwarf_Die *function, struct call_value *out,
			uint32_t *hidden)
{
	Dwarf_Attribute attribute;
	struct passed passed;
	Dwarf_Die type;

	*hidden = 0;
	if (!dwarf_attr_integrate(function, DW_AT_type, &attribute))
		return true;
	out->kind = CALL_VALUE_UNREAD;
	if (!type_of_die(function, &type))
		return false;
	passed = take_type(&type, out);
	out->word = passed.pass == PASS_FLOAT;
	if (!is_record(dwarf_tag(&type)))
		return passed.pass != PASS_ODD || bytes_of_type(&type) == 16;
	/* A string is stored where the caller says, and rax has the address. */
	*hidden = passed.pass == PASS_INTEGER && passed.words == 1;
	if (*hidden || out->kind == CALL_VALUE_VIEW)
		return true;
	*hidden = bytes_of_type(&type) > 16;
	return *hidden;
}

/* Adds the parameters of @function that are children of @parent. */
static void take_parameters(Dwarf_Die *parent, Dwarf_Die *function,
			    Dwarf_Addr entry, struct call_layout *out,
			    struct argument list[CALL_VALUES_MAX])
{
	struct call_value *value;
	Dwarf_Die die;

	if (dwarf_child(parent, &die))
		return;
	do {
		/* A pack holds no packs. */
		if (parent == function &&
		    dwarf_tag(&die) == DW_TAG_GNU_formal_parameter_pack)
			take_parameters(&die, function, entry, out, list);
		if (dwarf_tag(&die) != DW_TAG_formal_parameter)
			continue;
		value = call_layout_add(out);
		if (!value)
			break;
		take_parameter(&die, function, entry, value,
			       &list[out->count - 1]);
		/* As in call_signature.c. C++ has parameters without names,
		 * and those of a pack have none. */
		if (!value->name[0])
			snprintf(value->name, sizeof(value->name), "arg%u",
				 out->count);
	} while (dwarf_next_sibling(&die));
}

void dwarf_call_layout(Dwarf_Die *function, Dwarf_Addr entry,
		       struct call_layout *out)
{
	struct argument list[CALL_VALUES_MAX] = { 0 };
	uint32_t hidden;
	bool known = take_result(function, &out->result, &hidden);

	take_parameters(function, function, entry, out, list);
	if (!known)
		list[0].passed.pass = PASS_ODD;
	settle_places(out, list, hidden);
}
