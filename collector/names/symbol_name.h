/* SPDX-License-Identifier: Apache-2.0
 *
 * symbol_name - turns symbols into readable names. The input is hostile: a name
 * may have any bytes and length, and a short mangled name may expand to
 * gigabytes. Any thread; symbol_name_make() needs about 1 MiB of stack.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOL_NAME_H
#define PERFREC_COLLECTOR_NAMES_SYMBOL_NAME_H

#include <stddef.h>

/* For a name with its NUL. Longer names have "..." for template arguments, or
 * at the end. They end in a hash of the symbol, to stay distinct. */
#define SYMBOL_NAME_BYTES 4096

/*
 * Demangles C++ and Rust names. Parts of coroutines get the coroutine's name
 * and "[clone .actor]" or similar. Drops "@VERSION", but keeps "@plt"
 * (elf_stubs.h). A file after ELF_FILE_MARK (elf_twins.h) becomes " (FILE)".
 * Bytes of control characters or invalid UTF-8 become '?'; so does an empty
 * name. @raw must not overlap @out. Returns the length in bytes.
 */
size_t symbol_name_make(const char *raw, char out[SYMBOL_NAME_BYTES]);

/* Replaces bytes of control characters or invalid UTF-8 by '?'. Returns their
 * count. */
size_t symbol_name_clean(char *text);

#endif
