/* SPDX-License-Identifier: Apache-2.0
 *
 * say - one line on stderr, the shim's only output, while recording starts.
 */
#ifndef PERFREC_PRELOAD_CORE_SAY_H
#define PERFREC_PRELOAD_CORE_SAY_H

#include <stddef.h>
#include <stdint.h>

/* Writes "perfrec: ", the @count texts at @parts and a newline, by one write()
 * of at most 256 bytes. Replaces control characters by '?'. Never blocks and
 * raises no signal: drops a line that stderr does not take at once. */
void say(const char *const *parts, size_t count);

#define SAY_DECIMAL 11 /* ten digits and the NUL */
#define SAY_VALUE 41

/* Returns @number in decimal digits, in a part of @text. */
const char *say_decimal(uint32_t number, char text[SAY_DECIMAL]);
/* Copies the first 40 bytes of @value to @text. Returns @text. */
const char *say_value(const char *value, char text[SAY_VALUE]);

#endif
