/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_read - copies out of an ELF file what perfrec wants to know of it.
 *
 * The file is hostile. It may have any size, may claim anything about itself,
 * and may change while it is read. So the file is read and never mapped: a
 * mapped file that shrinks raises SIGBUS. Every table has a limit of its size.
 * Each offset is checked before it is used. The functions keep no state, so any
 * thread may call them. They read files: this may take time.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_READ_H
#define PERFREC_COLLECTOR_NAMES_ELF_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/names/elf_functions.h"

struct elf_segment { /* a program header of type PT_LOAD */
	uint64_t offset; /* in the file */
	uint64_t vaddr; /* of its first byte */
	uint64_t bytes; /* in the file */
	bool is_executable;
};

struct elf_headers {
	char build_id[129]; /* lower case hex, or "" */
	char asan[64]; /* "libasan.so.N", if DT_NEEDED names it, or "" */
	bool is_instrumented; /* has an undefined __cyg_profile_func_enter, or
			       * is an entry build (shared/entry_build.h) */
	size_t segment_count;
	struct elf_segment *segments; /* the caller frees this list */
};

struct elf_debug { /* what a file has for debuggers, and which other files
		    * have the rest */
	bool has_lines; /* has debug information */
	bool has_symbols; /* has .symtab */
	char build_id[129]; /* lower case hex, or "" */
	char link[256]; /* .gnu_debuglink: the name of the debug file, or "" */
	uint32_t link_crc; /* the checksum of that debug file */
	char alt[1024]; /* .gnu_debugaltlink: the path of the file that dwz
			 * made, or "" */
	char alt_build_id[129]; /* of that file: lower case hex, or "" */
	uint64_t mini_offset, mini_bytes; /* of .gnu_debugdata in the file; 0
					   * bytes: there is none */
};

/*
 * These three functions read the ELF file behind @fd, which must be a regular
 * file and stays the caller's. They return 0, or -errno. After an error *@out
 * is as before, and *@why says in a few words what is wrong (a string that the
 * caller does not free). Symbols that make no sense are left out, and no
 * message says so.
 */
int elf_read_headers(int fd, struct elf_headers *out, const char **why);
int elf_read_debug(int fd, struct elf_debug *out, const char **why);
/* Reads the names of the functions, from .symtab and from .dynsym. If @debug_fd
 * is not -1, .symtab is read from the ELF file behind @debug_fd instead. */
int elf_read_functions(int fd, int debug_fd, struct elf_functions *out,
		       const char **why);
/* True if the file behind @fd is a program that no dynamic linker loads: then
 * nothing can be preloaded into it. False if it is not, or cannot be read. */
bool elf_is_static(int fd);
/* True if the file behind @fd is a program that names a dynamic linker, and
 * this is not the one of glibc: the program uses another C library. False if it
 * is not, or cannot be read. */
bool elf_is_of_other_libc(int fd);

#endif
