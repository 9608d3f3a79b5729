/* SPDX-License-Identifier: Apache-2.0
 *
 * text_out - writes text of unknown origin, such as names out of a recorded
 * program, for a terminal: a character that a terminal could take for a
 * command, or that changes the direction of text, and a byte that is no UTF-8,
 * become '?'.
 */
#ifndef PERFREC_COLLECTOR_BASE_TEXT_OUT_H
#define PERFREC_COLLECTOR_BASE_TEXT_OUT_H

#include <stddef.h>
#include <stdio.h>

/* Writes @length bytes at @text. */
void text_out_bytes(const char *text, size_t length, FILE *out);
/* Writes @text. */
void text_out(const char *text, FILE *out);
/* Writes the name of a module in brackets: the last part of @path, its path.
 * Names such as "[vdso]" have brackets already. */
void text_out_module(const char *path, FILE *out);
/* Writes @word so that a shell reads it as one word: plain, or in single
 * quotes. */
void text_out_quoted(const char *word, FILE *out);
/* Writes what stdout still holds. 0, or -errno after one line of log: not all
 * that was ever printed there could be written. */
int text_out_finish(void);

#endif
