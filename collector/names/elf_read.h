/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_read - reads headers, debug links and functions of an ELF file.
 *
 * The file is hostile: it may have any size and contents, and may change during
 * the read. It is read, never mapped, since a mapped file that shrinks raises
 * SIGBUS. Every table has a limit, and each offset is checked. Any thread;
 * takes time.
 */
#ifndef PERFREC_COLLECTOR_NAMES_ELF_READ_H
#define PERFREC_COLLECTOR_NAMES_ELF_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/names/elf_functions.h"

struct elf_segment { /* PT_LOAD */
	uint64_t offset;
	uint64_t vaddr;
	uint64_t bytes; /* in the file */
	uint64_t memory_bytes; /* with .bss */
	bool is_executable;
};

struct elf_headers {
	char build_id[129]; /* lower case hex, or "" */
	char asan[64]; /* "libasan.so.N" of DT_NEEDED, or "" */
	bool is_instrumented; /* calls hooks, or is an entry build */
	size_t segment_count;
	struct elf_segment *segments; /* the caller's */
};

struct elf_debug { /* debug information, and links to other files */
	bool has_lines;
	bool has_symbols; /* .symtab */
	char build_id[129]; /* lower case hex, or "" */
	char link[256]; /* .gnu_debuglink: name of the debug file, or "" */
	uint32_t link_crc;
	char alt[1024]; /* .gnu_debugaltlink: path of the dwz file, or "" */
	char alt_build_id[129];
	uint64_t mini_offset, mini_bytes; /* .gnu_debugdata; 0 bytes: none */
};

/* These functions read the regular file @fd, which stays the caller's. They
 * return 0, or -errno with a static text in *@why; then *@out is unchanged.
 * Malformed symbols are skipped silently. */
int elf_read_headers(int fd, struct elf_headers *out, const char **why);
int elf_read_debug(int fd, struct elf_debug *out, const char **why);
/* Reads .symtab from @debug_fd instead, unless that is -1. */
int elf_read_functions(int fd, int debug_fd, struct elf_functions *out,
		       const char **why);
/* The same for variables that can be written, of the size that their symbols
 * have. Those of threads, and without a size, are left out. */
int elf_read_objects(int fd, int debug_fd, struct elf_functions *out,
		     const char **why);
/* Returns true for a program without a dynamic linker. */
bool elf_is_static(int fd);
/* Returns true for a program whose dynamic linker is not glibc's. */
bool elf_is_of_other_libc(int fd);

#endif
