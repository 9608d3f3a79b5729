/* SPDX-License-Identifier: Apache-2.0
 *
 * symbol_name - turns the name in a symbol table into the name that a person
 * reads. The input is hostile: a name may have any bytes and any length, and a
 * short mangled name may stand for gigabytes of text. The functions keep no
 * state, so any thread may call them. symbol_name_make() needs up to about
 * 1 MiB of stack.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOL_NAME_H
#define PERFREC_COLLECTOR_NAMES_SYMBOL_NAME_H

#include <stddef.h>

/* Bytes for a name and its NUL. The template arguments of a longer name become
 * "..."; if it is too long even so, its end does. Such a name ends in a hash of
 * the raw name, so that different functions stay different. */
#define SYMBOL_NAME_BYTES 4096

/*
 * Writes the name @raw into @out as a person reads it. C++ and Rust names are
 * demangled; the parts of a coroutine are called as the coroutine is, and
 * "[clone .actor]" or the like. From other names an ELF symbol version
 * ("@VERSION") is removed. The end "@plt" stays (elf_stubs.h). A file behind
 * ELF_FILE_MARK (elf_twins.h) becomes " (FILE)". Each byte of a control
 * character, and each byte that is not UTF-8, becomes '?'. An empty name
 * becomes
 * "?". @raw ends in NUL, is not NULL, and lies outside @out. Returns the length
 * of the result in bytes, without its NUL.
 */
size_t symbol_name_make(const char *raw, char out[SYMBOL_NAME_BYTES]);

/* Replaces each byte of a control character in @text, and each byte that is not
 * UTF-8, by '?'. @text is not NULL, ends in NUL, and keeps its length in bytes.
 * Returns how many bytes were replaced. */
size_t symbol_name_clean(char *text);

#endif
