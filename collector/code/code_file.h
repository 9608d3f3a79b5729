/* SPDX-License-Identifier: Apache-2.0
 *
 * code_file - an ELF file in memory: what is loaded of it, and what the dynamic
 * linker changes of that. The file is hostile: all offsets are checked, all
 * tables have limits. It is read once, so that it cannot change under us.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_FILE_H
#define PERFREC_COLLECTOR_CODE_CODE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"

#define CODE_SEGMENTS_MAX 64

struct code_segment {
	uint64_t vaddr, bytes; /* what is in the file */
	uint8_t *at;
	bool is_executable;
};

enum code_reloc_kind {
	CODE_RELATIVE, /* the address value, moved with the module */
	CODE_SYMBOL, /* a symbol that any module may define: value is that of
		      * this module's, or 0 if it has none */
	CODE_HOOK_ENTER, /* the hook, through a slot that only the dynamic
			  * linker writes */
	CODE_HOOK_EXIT,
	CODE_NO_RETURN, /* a function that never returns: exit() */
};

struct code_reloc {
	uint64_t at; /* where the program has 8 bytes: an address */
	uint64_t value;
	uint8_t kind; /* enum code_reloc_kind */
};

struct code_section {
	uint64_t vaddr, bytes; /* 0 bytes: there is none */
};

struct code_file {
	struct budget budget;
	struct code_segment segment[CODE_SEGMENTS_MAX];
	size_t segment_count;
	uint64_t text_bytes; /* of executable segments */
	uint64_t eh_frame_hdr; /* virtual address, 0: none */
	bool is_fixed; /* ET_EXEC: addresses are as in the file */
	bool defines_hooks;
	struct code_reloc *relocs; /* by at */
	size_t reloc_count, reloc_room;
	struct code_section relro; /* only the dynamic linker writes there */
	/* Tables of an entry build (shared/entry_build.h). */
	struct code_section gcc_entries, xray;
	uint32_t entry_kinds; /* a bit for each kind that a note names */
};

#define CODE_READ_BYTES 65536

/* Where the bytes of a file come from. */
struct code_source {
	int fd; /* a regular file; used if read is NULL */
	/* Copies up to @bytes, which are CODE_READ_BYTES, at @offset to @out;
	 * *@got: how many there are. 0 or -errno. */
	int (*read)(void *context, uint64_t offset, size_t bytes, void *out,
		    size_t *got);
	void *context;
	uint64_t size; /* of the file, with read */
	/* What was read last: zeros at first; the caller frees window. */
	uint8_t *window;
	uint64_t window_offset, window_bytes;
};

/* Reads the file of @source. 0, or -errno with *@why; release it anyway.
 * file->budget is what all may take. */
int code_file_read(struct code_file *file, struct code_source *source,
		   uint64_t text_max, const char **why);
void code_file_release(struct code_file *file);

/* The @bytes at virtual address @vaddr, or NULL if they are not all in one
 * segment of the file. */
const uint8_t *code_file_at(const struct code_file *file, uint64_t vaddr,
			    uint64_t bytes);
/* Whether the code at @vaddr is an entry of the PLT, and the address of its
 * slot: [endbr64] [mov $number, %r11d] [bnd] jmp *slot(%rip). mold makes the
 * mov.
 */
bool code_file_stub(const struct code_file *file, uint64_t vaddr,
		    uint64_t *slot);
/* The executable segment with the byte at @vaddr, or NULL. */
const struct code_segment *code_file_text(const struct code_file *file,
					  uint64_t vaddr);
/* What the dynamic linker writes to @vaddr, or NULL: nothing that we know. */
const struct code_reloc *code_file_reloc(const struct code_file *file,
					 uint64_t vaddr);
/* The address that the 8 bytes at @vaddr will be, moved with the module, if
 * that is known. */
bool code_file_pointer(const struct code_file *file, uint64_t vaddr,
		       uint64_t *out);

#endif
