/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_text - short texts that name what is waited on: "[mutex app+0x4080]".
 * The same object has the same text, and any text may be shown to a person:
 * what programs put into names is cleaned. Pure: any thread.
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_TEXT_H
#define PERFREC_COLLECTOR_WAITS_WAIT_TEXT_H

#include <stddef.h>

#include "shared/compiler.h"

/* The longest text with its NUL. */
#define WAIT_TEXT_BYTES 128

/* Writes "[@kind @name]" to @out, or "[@kind]" if @name is empty. A name that
 * is too long loses its begin, as the end of a path tells more; bytes that are
 * no text, or steer a terminal, become '?'. */
void wait_text_object(char out[WAIT_TEXT_BYTES], const char *kind,
		      const char *name);
/* The same with a name that is formatted. */
void wait_text_format(char out[WAIT_TEXT_BYTES], const char *kind,
		      const char *format, ...) ATTR_PRINTF(3, 4);

/* Adds that something is at the other end of @object: "[pipe 7]" becomes
 * "[pipe 7 from gzip 4711]". */
void wait_text_add(char object[WAIT_TEXT_BYTES], const char *word,
		   const char *peer);

#endif
