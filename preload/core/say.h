/* SPDX-License-Identifier: Apache-2.0
 *
 * say - the shim's only way to speak: a line on stderr, while recording starts.
 */
#ifndef PERFREC_PRELOAD_CORE_SAY_H
#define PERFREC_PRELOAD_CORE_SAY_H

#include <stddef.h>
#include <stdint.h>

/* Write "perfrec: ", the @count texts at @parts and a newline, by one write()
 * of at most 256 bytes, with '?' for what a terminal must not be sent. Waits
 * for no reader and raises no signal: where it cannot write at once, it does
 * not write. */
void say(const char *const *parts, size_t count);

#define SAY_DECIMAL 11 /* bytes: ten digits and the NUL */
#define SAY_VALUE 41

/* @number in decimal digits. The result points into @text. */
const char *say_decimal(uint32_t number, char text[SAY_DECIMAL]);
/* The first 40 bytes of @value. The result is @text. */
const char *say_value(const char *value, char text[SAY_VALUE]);

#endif
