/* SPDX-License-Identifier: Apache-2.0
 *
 * symbol_name - from the name in a symbol table to what a person reads.
 * Input is hostile: any bytes, any length, names built to explode when they
 * are demangled. Pure, any thread; needs about 1 MiB of stack at worst.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOL_NAME_H
#define PERFREC_COLLECTOR_NAMES_SYMBOL_NAME_H

#include <stddef.h>

/* Room for a name and its NUL. A longer one is cut and ends in "...". */
#define SYMBOL_NAME_BYTES 4096

/*
 * Writes @raw as a person reads it: C++ and Rust demangled, an ELF symbol
 * version ("@VERSION") removed, control characters and bytes that are no
 * UTF-8 replaced by '?', never empty. Returns its length.
 */
size_t symbol_name_make(const char *raw, char out[SYMBOL_NAME_BYTES]);

/* Replaces control characters and bytes that are no UTF-8 in @text by '?'.
 * Returns how many bytes it replaced. */
size_t symbol_name_clean(char *text);

#endif
