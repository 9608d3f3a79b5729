/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_file - what unwinding needs of the ELF files of programs: bytes at
 * virtual addresses, and the frame description of an instruction.
 *
 * Files are hostile and may change or shrink: they are read, never mapped, a
 * page at a time. All pages together have a limit; when it is reached no more
 * can be read until all were forgotten, and what was found out from them. One
 * thread: the sampler.
 */
#ifndef PERFREC_COLLECTOR_STACKS_UNWIND_FILE_H
#define PERFREC_COLLECTOR_STACKS_UNWIND_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/names/unwind_cfi.h"

struct symbol_file;
struct unwind_file; /* belongs to its unwind_files */
struct unwind_files;

/* 0 or -ENOMEM. */
int unwind_files_new(struct unwind_files **out);
/* Also for NULL. */
void unwind_files_free(struct unwind_files **files);
/* A number that is another one when all that was read is forgotten, which
 * happens here, when there is too much of it: ask before each stack. */
uint64_t unwind_files_edition(struct unwind_files *files);

/* The one for @symbols (it keeps a reference), or NULL: it cannot be read, or
 * too many are open. Valid until the edition changes. */
struct unwind_file *unwind_files_get(struct unwind_files *files,
				     struct symbol_file *symbols);

/* The virtual addresses between which its segments lie. */
void unwind_file_extent(const struct unwind_file *file, uint64_t *low,
			uint64_t *high);
/* Copies @bytes at @vaddr, as they are in the file; false: not all of them
 * are. */
bool unwind_file_read(struct unwind_file *file, uint64_t vaddr, void *out,
		      size_t bytes);

struct unwind_fde {
	enum cfi_verdict verdict; /* CFI_BAD: none, or none to be used */
	uint64_t table; /* vaddr of its entry in .eh_frame_hdr */
	uint64_t base; /* vaddr of .eh_frame_hdr, which that is relative to */
};

/* Of the instruction at @vaddr. */
void unwind_file_fde(struct unwind_file *file, uint64_t vaddr,
		     struct unwind_fde *out);

#endif
