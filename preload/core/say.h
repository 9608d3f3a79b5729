/* SPDX-License-Identifier: Apache-2.0
 *
 * say - the shim's only way to speak: one line on stderr, at start.
 */
#ifndef PERFREC_PRELOAD_CORE_SAY_H
#define PERFREC_PRELOAD_CORE_SAY_H

#include <stddef.h>
#include <stdint.h>

/* Write "perfrec: ", the @count texts at @parts and a newline, in one piece; at
 * most 256 bytes. */
void say(const char *const *parts, size_t count);

#define SAY_DECIMAL 11 /* bytes: ten digits and the NUL */
#define SAY_VALUE 41

/* @number, somewhere in @text. */
const char *say_decimal(uint32_t number, char text[SAY_DECIMAL]);
/* The start of @value, which may be anything, as it may be shown on a terminal:
 * in @text. */
const char *say_value(const char *value, char text[SAY_VALUE]);

#endif
