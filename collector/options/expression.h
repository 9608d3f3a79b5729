/* SPDX-License-Identifier: Apache-2.0
 *
 * expression - a condition about functions, as options take it:
 *
 *   VALUE(GLOB) > [+]NUMBER[%|UNIT]     calls(parse*) > +1%
 *
 * VALUE is a word, such as calls or wall.total: the command knows which there
 * are. GLOB is a pattern of name_pattern.h, and may have brackets and any other
 * character. NUMBER is decimal, with a point or without. UNIT is ns, us, ms or
 * s; B, K, M or G (powers of 1024); or none, for a count. With "+" the number
 * is about growth: by how much it grew, or by how many percent. Percent need
 * the "+". Where a command allows it, a GLOB alone stands for its usual value:
 * parse* > 5ms.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_EXPRESSION_H
#define PERFREC_COLLECTOR_OPTIONS_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/options/expression_text.h"

enum expression_unit {
	EXPRESSION_COUNT, /* no unit */
	EXPRESSION_NS, /* the number is in ns */
	EXPRESSION_BYTES, /* the number is in bytes */
	EXPRESSION_PERCENT,
};

#define EXPRESSION_WORD 64
#define EXPRESSION_GLOB 4096

struct expression {
	const char *text; /* as it was given */
	char value[EXPRESSION_WORD]; /* "" if the text has none */
	char glob[EXPRESSION_GLOB];
	bool growth; /* with "+" */
	double number; /* not negative; in ns or bytes, if it has such a unit */
	enum expression_unit unit;
};

/*
 * Reads @text, which must outlive *@out. @bare: a GLOB alone is allowed. 0; or
 * -EINVAL, with *@error set. Any thread.
 */
int expression_parse(const char *text, bool bare, struct expression *out,
		     struct expression_error *error);

/* Reads text[at..), which is NUMBER[UNIT]. The number is not negative, and in
 * ns or bytes if it has such a unit. 0; or -EINVAL, with *@error set. Any
 * thread. */
int expression_number(const char *text, size_t at, double *number,
		      enum expression_unit *unit,
		      struct expression_error *error);

/* Logs the error in @text, the value of the option @name: one line that scripts
 * can read, and two lines that point at the place. */
void expression_complain(const char *name, const char *text,
			 const struct expression_error *error);

#endif
