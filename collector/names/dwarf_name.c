/* SPDX-License-Identifier: Apache-2.0
 *
 * dwarf_name - formats names as demanglers do, so that inlined copies of a
 * function have the name of its code. Some types (template arguments, pointers
 * to functions) are spelled as in the debug information; they only tell names
 * apart.
 */
#include "collector/names/dwarf_name.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "collector/names/symbolize_wire.h"
#include "shared/compiler.h"

/* Limits for hostile files, whose references may form cycles. */
#define HOPS_MAX 16
#define SCOPES_MAX 64

struct dwarf_scope {
	Dwarf_Die die;
	size_t parent; /* 0: the unit */
	char *name; /* cache */
};

struct text {
	char bytes[SYMBOLIZE_TEXT_MAX + 1];
	size_t used;
};

size_t dwarf_scopes_add(struct dwarf_scopes *scopes, const Dwarf_Die *die,
			size_t parent)
{
	if (grow_array(scopes->list, scopes->room, scopes->count + 1))
		return 0;
	scopes->list[scopes->count++] =
		(struct dwarf_scope){ .die = *die, .parent = parent };
	return scopes->count;
}

void dwarf_scopes_release(struct dwarf_scopes *scopes)
{
	for (size_t i = 0; i < scopes->count; i++)
		free(scopes->list[i].name);
	free(scopes->list);
	*scopes = (struct dwarf_scopes){ 0 };
}

static bool follow_reference(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Die next;

	if (!dwarf_attr(die, name, &attribute) ||
	    !dwarf_formref_die(&attribute, &next))
		return false;
	*die = next;
	return true;
}

bool dwarf_next_sibling(Dwarf_Die *die)
{
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) || next.addr <= die->addr)
		return false;
	*die = next;
	return true;
}

void dwarf_declaration(const Dwarf_Die *die, Dwarf_Die *out)
{
	*out = *die;
	for (int i = 0; i < HOPS_MAX; i++)
		if (!follow_reference(out, DW_AT_abstract_origin) &&
		    !follow_reference(out, DW_AT_specification))
			return;
}

static struct dwarf_scope *find_scope(const struct dwarf_scopes *scopes,
				      const Dwarf_Die *die)
{
	size_t low = search_first(i, scopes->count,
				  scopes->list[i].die.addr >= die->addr);

	if (low == scopes->count || scopes->list[low].die.addr != die->addr)
		return NULL;
	return &scopes->list[low];
}

/* --- writing -------------------------------------------------------------- */

static void put_name_text(struct text *text, const char *more)
{
	size_t bytes = strnlen(more, SYMBOLIZE_TEXT_MAX - text->used);

	memcpy(text->bytes + text->used, more, bytes);
	text->used += bytes;
	text->bytes[text->used] = '\0';
}

static unsigned int number_of_die(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!dwarf_attr(die, name, &attribute) ||
	    dwarf_formudata(&attribute, &value))
		return 0;
	return (unsigned int)value;
}

/* Writes nothing for a block. */
static void put_own_name(struct text *text, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	int tag = dwarf_tag(die);

	if (tag == DW_TAG_lexical_block)
		return;
	if (name)
		put_name_text(text, name);
	else if (tag == DW_TAG_namespace)
		put_name_text(text, "(anonymous namespace)");
	else {
		char where[64];

		/* The only unnamed classes with functions are lambdas. */
		snprintf(where, sizeof(where), "{lambda:%u:%u}",
			 number_of_die(die, DW_AT_decl_line),
			 number_of_die(die, DW_AT_decl_column));
		put_name_text(text, where);
	}
}

static void put_scopes(struct text *text, const struct dwarf_scopes *scopes,
		       size_t number)
{
	size_t chain[SCOPES_MAX] = { 0 }, count = 0;

	for (int hops = 0; number && count < SCOPES_MAX && hops < SCOPES_MAX;
	     hops++) {
		struct dwarf_scope *scope = &scopes->list[number - 1];
		Dwarf_Die declaration;

		if (dwarf_tag(&scope->die) != DW_TAG_lexical_block)
			chain[count++] = number;
		/* A function's entry is in its class, its code elsewhere. */
		dwarf_declaration(&scope->die, &declaration);
		if (declaration.addr != scope->die.addr) {
			struct dwarf_scope *declared =
				find_scope(scopes, &declaration);

			scope = declared ? declared : scope;
		}
		number = scope->parent;
	}
	while (count--) {
		Dwarf_Die declaration;

		dwarf_declaration(&scopes->list[chain[count] - 1].die,
				  &declaration);
		put_own_name(text, &declaration);
		if (count)
			put_name_text(text, "::");
	}
}

static void put_named_type(struct text *text, const struct dwarf_scopes *scopes,
			   Dwarf_Die *type)
{
	/* DWARF has "long unsigned int" where demanglers have "unsigned long". */
	static const char *const names[][2] = {
		{ "long int", "long" },
		{ "long unsigned int", "unsigned long" },
		{ "long long int", "long long" },
		{ "long long unsigned int", "unsigned long long" },
		{ "short int", "short" },
		{ "short unsigned int", "unsigned short" },
	};
	const struct dwarf_scope *scope = find_scope(scopes, type);
	const char *name = dwarf_diename(type);

	name = name ? name : "?";
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i][0])) {
			name = names[i][1];
			break;
		}
	if (scope)
		put_scopes(text, scopes, (size_t)(scope - scopes->list) + 1);
	else
		put_name_text(text, name);
}

static void put_type_name(struct text *text, const struct dwarf_scopes *scopes,
			  const Dwarf_Die *die)
{
	/* "const char *" is pointer, const, char. Written backwards. */
	const char *behind[HOPS_MAX];
	Dwarf_Die type = *die;
	size_t count = 0;
	int hops = 0;

	for (; hops < HOPS_MAX; hops++) {
		if (!follow_reference(&type, DW_AT_type)) {
			put_name_text(text, "void");
			break;
		}
		switch (dwarf_tag(&type)) {
		case DW_TAG_typedef:
			continue;
		case DW_TAG_pointer_type:
			behind[count++] = "*";
			continue;
		case DW_TAG_reference_type:
			behind[count++] = "&";
			continue;
		case DW_TAG_rvalue_reference_type:
			behind[count++] = "&&";
			continue;
		case DW_TAG_const_type:
			behind[count++] = " const";
			continue;
		case DW_TAG_volatile_type:
			behind[count++] = " volatile";
			continue;
		default:
			put_named_type(text, scopes, &type);
		}
		break;
	}
	while (count--)
		put_name_text(text, behind[count]);
}

static bool is_const_this(Dwarf_Die *parameter)
{
	Dwarf_Die type = *parameter;

	for (int hops = 0; hops < 3 && follow_reference(&type, DW_AT_type);
	     hops++)
		if (dwarf_tag(&type) != DW_TAG_pointer_type &&
		    dwarf_tag(&type) != DW_TAG_const_type)
			return false;
		else if (dwarf_tag(&type) == DW_TAG_pointer_type)
			return follow_reference(&type, DW_AT_type) &&
			       dwarf_tag(&type) == DW_TAG_const_type;
	return false;
}

static void put_parameters(struct text *text, const struct dwarf_scopes *scopes,
			   Dwarf_Die *function)
{
	bool is_const = false, is_first = true;
	Dwarf_Die die;
	int more = dwarf_child(function, &die);

	put_name_text(text, "(");
	for (; !more; more = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);

		if (tag != DW_TAG_formal_parameter &&
		    tag != DW_TAG_unspecified_parameters)
			continue;
		if (dwarf_hasattr(&die, DW_AT_artificial)) {
			is_const |= is_const_this(&die);
			continue;
		}
		put_name_text(text, is_first ? "" : ", ");
		is_first = false;
		if (tag == DW_TAG_unspecified_parameters)
			put_name_text(text, "...");
		else
			put_type_name(text, scopes, &die);
	}
	put_name_text(text, is_const ? ") const" : ")");
}

const char *dwarf_scoped_name(struct dwarf_scopes *scopes,
			      Dwarf_Die *declaration)
{
	struct dwarf_scope *scope = find_scope(scopes, declaration);
	struct text text = { .used = 0 };

	if (!scope)
		return NULL;
	if (scope->name)
		return scope->name;
	put_scopes(&text, scopes, (size_t)(scope - scopes->list) + 1);
	put_parameters(&text, scopes, declaration);
	scope->name = strdup(text.bytes);
	return scope->name;
}
