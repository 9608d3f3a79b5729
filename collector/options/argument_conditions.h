/* SPDX-License-Identifier: Apache-2.0
 *
 * argument_conditions - conditions on the arguments and the result of a call,
 * in brackets behind a function:
 *
 *   FUNC(NAME COMPARISON VALUE, ...)    read_page(size > 4096, ret < 0)
 *
 * COMPARISON is >, >=, <, <=, = or !=. VALUE is a number; or, for = and !=, a
 * text or a glob (fnmatch(3)). "ret" is the result. Brackets with anything else
 * belong to the name of a function: f(int, char*).
 *
 * Any thread.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_ARGUMENT_CONDITIONS_H
#define PERFREC_COLLECTOR_OPTIONS_ARGUMENT_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGUMENT_CONDITIONS_MAX 3u
#define ARGUMENT_NAME_BYTES 80
#define ARGUMENT_TEXT_BYTES 256

struct expression_error;

struct argument_condition {
	char name[ARGUMENT_NAME_BYTES];
	bool greater, less, equal; /* != is greater and less */
	/* A VALUE that is a number: exact if it is a whole one. */
	bool is_number, is_whole, is_negative;
	uint64_t magnitude; /* of a whole one */
	double number;
	char text[ARGUMENT_TEXT_BYTES]; /* as it was given */
};

struct argument_conditions {
	struct argument_condition list[ARGUMENT_CONDITIONS_MAX];
	uint32_t count;
};

/* Takes the last brackets of @text with conditions, and replaces them with
 * spaces. Without such brackets @text stays as it is. Returns 0; or -EINVAL with
 * *@error set. */
int argument_conditions_take(char *text, struct argument_conditions *out,
			     struct expression_error *error);

/* An argument that a condition compares. */
struct argument_value {
	enum {
		ARGUMENT_UNSIGNED,
		ARGUMENT_SIGNED,
		ARGUMENT_REAL,
		ARGUMENT_TEXT,
	} kind;
	uint64_t number; /* or the bits of a signed one */
	double real;
	const char *text; /* any bytes, without a NUL at the end */
	size_t text_bytes;
};

/* Returns true if @condition is on the argument with the name of @bytes bytes.
 * "size" also stands for args.size, which --args records. */
bool argument_condition_names(const struct argument_condition *condition,
			      const char *name, size_t bytes);
bool argument_condition_holds(const struct argument_condition *condition,
			      const struct argument_value *value);

#endif
