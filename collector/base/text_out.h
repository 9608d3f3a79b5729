/* SPDX-License-Identifier: Apache-2.0
 *
 * text_out - text of unknown origin (names out of a recorded program) for a
 * terminal: what that could take for a command is shown as '?'.
 */
#ifndef PERFREC_COLLECTOR_BASE_TEXT_OUT_H
#define PERFREC_COLLECTOR_BASE_TEXT_OUT_H

#include <stddef.h>
#include <stdio.h>

void text_out_bytes(const char *text, size_t length, FILE *out);
void text_out(const char *text, FILE *out);
/* What @path, that of a module, ends with, in brackets; "[vdso]" and the like
 * have theirs. */
void text_out_module(const char *path, FILE *out);
/* A word as a shell takes it: plain, or between single quotes. */
void text_out_quoted(const char *word, FILE *out);

#endif
