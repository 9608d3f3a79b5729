/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/call_signature.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"

static const struct type {
	char name[8];
	uint8_t kind, bytes;
} types[] = {
	{ "bool", CALL_VALUE_BOOL, 1 },	    { "char", CALL_VALUE_INT, 1 },
	{ "short", CALL_VALUE_INT, 2 },	    { "int", CALL_VALUE_INT, 4 },
	{ "long", CALL_VALUE_INT, 8 },	    { "i8", CALL_VALUE_INT, 1 },
	{ "i16", CALL_VALUE_INT, 2 },	    { "i32", CALL_VALUE_INT, 4 },
	{ "i64", CALL_VALUE_INT, 8 },	    { "u8", CALL_VALUE_UINT, 1 },
	{ "u16", CALL_VALUE_UINT, 2 },	    { "u32", CALL_VALUE_UINT, 4 },
	{ "u64", CALL_VALUE_UINT, 8 },	    { "uint", CALL_VALUE_UINT, 4 },
	{ "ulong", CALL_VALUE_UINT, 8 },    { "size_t", CALL_VALUE_UINT, 8 },
	{ "float", CALL_VALUE_FLOAT, 4 },   { "double", CALL_VALUE_FLOAT, 8 },
	{ "ptr", CALL_VALUE_POINTER, 8 },   { "str", CALL_VALUE_CHARS, 8 },
	{ "string", CALL_VALUE_STRING, 8 }, { "view", CALL_VALUE_VIEW, 8 },
	{ "void", CALL_VALUE_NONE, 0 },
};

#define TYPE_LIST                                                       \
	"int, long, short, char, u8 to u64, i8 to i64, size_t, bool, "  \
	"float, double, ptr, str (char *), string (std::string), view " \
	"(std::string_view)"

static int complain(char why[CALL_SIGNATURE_WHY_BYTES], const char *format, ...)
	ATTR_PRINTF(2, 3);
static int complain(char why[CALL_SIGNATURE_WHY_BYTES], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, CALL_SIGNATURE_WHY_BYTES, format, args);
	va_end(args);
	return -EINVAL;
}

/* A part of a text. */
struct part {
	const char *at;
	size_t bytes;
};

static struct part trim_part(const char *at, const char *end)
{
	while (at < end && isspace((unsigned char)*at))
		at++;
	while (end > at && isspace((unsigned char)end[-1]))
		end--;
	return (struct part){ at, (size_t)(end - at) };
}

static int read_type_name(struct part word, struct call_value *out,
			  char why[CALL_SIGNATURE_WHY_BYTES])
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strlen(types[i].name) == word.bytes &&
		    !memcmp(types[i].name, word.at, word.bytes)) {
			out->kind = types[i].kind;
			out->bytes = types[i].bytes;
			return 0;
		}
	return complain(why, "'%.*s' is no type; use " TYPE_LIST,
			(int)MIN(word.bytes, (size_t)32), word.at);
}

static int read_argument_name(struct part name, uint32_t number,
			      struct call_value *out,
			      char why[CALL_SIGNATURE_WHY_BYTES])
{
	if (!name.at) {
		snprintf(out->name, sizeof(out->name), "arg%u", number);
		return 0;
	}
	for (size_t i = 0; i < name.bytes; i++)
		if (!isalnum((unsigned char)name.at[i]) && name.at[i] != '_')
			return complain(why, "'%.*s' is no name of an argument",
					(int)MIN(name.bytes, (size_t)32),
					name.at);
	if (!name.bytes || name.bytes >= sizeof(out->name))
		return complain(why, "the name of argument %u is %s", number,
				name.bytes ? "too long" : "missing");
	memcpy(out->name, name.at, name.bytes);
	return 0;
}

static void place_argument(struct call_places *places, struct call_value *value)
{
	uint32_t place;

	if (value->kind == CALL_VALUE_FLOAT)
		place = call_places_float(places);
	else
		place = call_places_integer(
			places, value->kind == CALL_VALUE_VIEW ? 2 : 1);
	value->word = (uint8_t)place;
}

/* Reads [at, end), an argument. */
static int read_argument(const char *at, const char *end,
			 struct call_layout *layout, struct call_places *places,
			 char why[CALL_SIGNATURE_WHY_BYTES])
{
	const char *colon = memchr(at, ':', (size_t)(end - at));
	struct part name = { NULL, 0 };
	struct call_value *value = call_layout_add(layout);
	int err;

	if (!value)
		return complain(why, "more than %u arguments", CALL_VALUES_MAX);
	if (colon)
		name = trim_part(at, colon);
	err = read_type_name(trim_part(colon ? colon + 1 : at, end), value,
			     why);
	if (err)
		return err;
	if (value->kind == CALL_VALUE_NONE)
		return complain(why, "an argument cannot be void");
	place_argument(places, value);
	return read_argument_name(name, layout->count, value, why);
}

static int read_arguments(const char *at, const char *end,
			  struct call_layout *layout,
			  char why[CALL_SIGNATURE_WHY_BYTES])
{
	struct call_places places = { 0 };
	struct part all = trim_part(at, end);
	int err = 0;

	if (!all.bytes || (all.bytes == 4 && !memcmp(all.at, "void", 4)))
		return 0;
	while (!err) {
		const char *comma = memchr(at, ',', (size_t)(end - at));

		err = read_argument(at, comma ? comma : end, layout, &places,
				    why);
		if (!comma)
			break;
		at = comma + 1;
	}
	return err;
}

/* A result is in rax, or in xmm0, which is word 1. */
static int read_result(const char *at, struct call_layout *layout,
		       char why[CALL_SIGNATURE_WHY_BYTES])
{
	int err = read_type_name(trim_part(at, at + strlen(at)),
				 &layout->result, why);

	layout->result.word = layout->result.kind == CALL_VALUE_FLOAT;
	return err;
}

static int parse_types(const char *text, const char *open,
		       struct call_signature *out,
		       char why[CALL_SIGNATURE_WHY_BYTES])
{
	const char *close = strrchr(open, ')');
	struct part rest;
	int err;

	if (!close)
		return complain(why, "'%.64s' has no closing bracket", text);
	rest = trim_part(close + 1, close + strlen(close));
	if (rest.bytes && strncmp(rest.at, "->", 2) != 0)
		return complain(why, "after the arguments comes -> and a type");
	out->has_types = true;
	err = read_arguments(open + 1, close, &out->layout, why);
	return err || !rest.bytes ? err
				  : read_result(rest.at + 2, &out->layout, why);
}

/* Returns true if @name has a comma outside of brackets: it is neither a template
 * nor the operator. */
static bool names_several(struct part name)
{
	int depth = 0;

	for (size_t i = 0; i < name.bytes; i++) {
		depth += !!strchr("<([", name.at[i]);
		depth -= !!strchr(">)]", name.at[i]);
		if (name.at[i] == ',' && depth <= 0 &&
		    (i < 8 || memcmp(name.at + i - 8, "operator", 8) != 0))
			return true;
	}
	return false;
}

int call_signature_parse(const char *text, struct call_signature *out,
			 char why[CALL_SIGNATURE_WHY_BYTES])
{
	const char *open = strchr(text, '(');
	struct part name;
	int err;

	*out = (struct call_signature){ 0 };
	/* "operator()" has brackets, too. */
	if (open && open - text >= 8 && !memcmp(open - 8, "operator", 8) &&
	    open[1] == ')')
		open = strchr(open + 2, '(');
	name = trim_part(text, open ? open : text + strlen(text));
	if (!name.bytes)
		return complain(why, "the name of a function is missing");
	if (names_several(name))
		return complain(why,
				"'%.64s' names several functions: give the "
				"option for each",
				text);
	if (!open && memmem(text, strlen(text), "->", 2))
		return complain(why,
				"'%.64s' has a result without arguments: "
				"write f()->int",
				text);
	out->pattern = strndup(name.at, name.bytes);
	if (!out->pattern)
		return -ENOMEM;
	err = open ? parse_types(text, open, out, why) : 0;
	if (err)
		call_signature_release(out);
	return err;
}

void call_signature_release(struct call_signature *signature)
{
	free(signature->pattern);
	call_layout_release(&signature->layout);
	*signature = (struct call_signature){ 0 };
}
