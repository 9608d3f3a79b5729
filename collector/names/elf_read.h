/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_read - what perfrec wants to know of an ELF file, copied out of it.
 *
 * The file is hostile: it may be of any size, claim anything about itself
 * and change while it is read. So it is read, never mapped (a mapped file
 * that shrinks raises SIGBUS), every table has a limit, and no offset is
 * used before it was checked. Pure apart from reading; any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_READ_H
#define PERFREC_COLLECTOR_NAMES_ELF_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_segment { /* a PT_LOAD */
	uint64_t offset;
	uint64_t vaddr;
	uint64_t bytes; /* in the file */
	bool is_executable;
};

struct elf_headers {
	char build_id[129]; /* lower case hex, or "" */
	char asan[64]; /* the libasan.so.N among DT_NEEDED, or "" */
	bool is_instrumented; /* has an undefined __cyg_profile_func_enter */
	size_t segment_count;
	struct elf_segment *segments; /* the caller frees it */
};

struct elf_function {
	uint64_t start; /* virtual address */
	uint32_t size : 26; /* at least 1; longer functions are cut */
	uint32_t rank : 6; /* which of several names is worse; elf_read.c */
	uint32_t name; /* offset in elf_functions.strings */
};

struct elf_functions {
	struct elf_function *list; /* by start, one per address; may be NULL */
	size_t count;
	char *strings; /* string tables, as they are in the file */
	size_t string_bytes;
	/* The caller frees list and strings. */
};

struct elf_debug { /* what a file has for debuggers, and where the rest is */
	bool has_lines; /* has debug information */
	bool has_symbols; /* has .symtab */
	char build_id[129]; /* lower case hex, or "" */
	char link[256]; /* .gnu_debuglink: name of the file with the rest */
	uint32_t link_crc; /* its checksum */
	char alt[1024]; /* .gnu_debugaltlink: the file of dwz, or "" */
	char alt_build_id[129];
	uint64_t mini_offset, mini_bytes; /* .gnu_debugdata; 0 bytes: none */
};

/*
 * All read the ELF file behind @fd, a regular file. Return 0, or -errno
 * with *@why saying in a few words what is wrong (a constant); *@out is then
 * untouched. Symbols that make no sense are left out without a word.
 */
int elf_read_headers(int fd, struct elf_headers *out, const char **why);
int elf_read_debug(int fd, struct elf_debug *out, const char **why);
/* The .symtab is taken from the ELF file behind @debug_fd, unless that is
 * -1. */
int elf_read_functions(int fd, int debug_fd, struct elf_functions *out,
		       const char **why);
/* True when @fd is a program that no dynamic linker loads: nothing can be
 * preloaded into it. */
bool elf_is_static(int fd);
/* True when @fd is a program of another C library than glibc. */
bool elf_is_of_other_libc(int fd);

#endif
