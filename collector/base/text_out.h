/* SPDX-License-Identifier: Apache-2.0
 *
 * text_out - writes text of unknown origin, such as names from a recorded
 * program, to a terminal. Control characters, characters that change the
 * direction of text, and bytes that are not UTF-8 become '?'.
 */
#ifndef PERFREC_COLLECTOR_BASE_TEXT_OUT_H
#define PERFREC_COLLECTOR_BASE_TEXT_OUT_H

#include <stddef.h>
#include <stdio.h>

void text_out_bytes(const char *text, size_t length, FILE *out);
void text_out(const char *text, FILE *out);
/* Writes the last part of @path, a module, in brackets. Names such as "[vdso]"
 * keep theirs. */
void text_out_module(const char *path, FILE *out);
/* Writes @word so that a shell reads it as one word, quoted if needed. */
void text_out_quoted(const char *word, FILE *out);
/* Flushes stdout. Returns 0, or -errno after logging one line if any output to
 * stdout was lost. */
int text_out_finish(void);

#endif
