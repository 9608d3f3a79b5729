/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_text - short texts that name the object of a wait: "[mutex app+0x4080]".
 * The same object has the same text. All texts are safe to display: names from
 * programs are cleaned. Pure: any thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_TEXT_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_TEXT_H

#include <stddef.h>

#include "shared/compiler.h"

/* The longest text with its NUL. */
#define WAIT_TEXT_BYTES 128

/* Writes "[@kind @name]" to @out, or "[@kind]" if @name is empty. Cuts a long
 * name at its start, because the end of a path is more useful. Bytes that are
 * no text, or steer a terminal, become '?'. */
void wait_text_object(char out[WAIT_TEXT_BYTES], const char *kind,
		      const char *name);
/* The same with a formatted name. */
void wait_text_format(char out[WAIT_TEXT_BYTES], const char *kind,
		      const char *format, ...) ATTR_PRINTF(3, 4);

/* Adds the other end of @object: "[pipe 7]" becomes "[pipe 7 from gzip 4711]".
 */
void wait_text_add(char object[WAIT_TEXT_BYTES], const char *word,
		   const char *peer);

#endif
