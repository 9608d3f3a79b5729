/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_file - what unwinding needs of the ELF files of programs: the bytes at
 * a virtual address, and the frame description of an instruction.
 *
 * Files are hostile, and may change or shrink. So they are read, a page at a
 * time, and never mapped. All pages together have a limit. When it is reached
 * nothing more can be read, until all pages are forgotten, with everything that
 * was found out from them (unwind_files_edition()). One thread: the sampler.
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
/* The number of the edition. If too many pages were read, this forgets them
 * all, and the number becomes another one. Call it before each stack. */
uint64_t unwind_files_edition(struct unwind_files *files);

/* The file of @symbols, to which it keeps a reference that all recordings
 * share. NULL: it cannot be read, or too many files are open. Valid until the
 * edition changes. */
struct unwind_file *unwind_files_get(struct unwind_files *files,
				     struct symbol_file *symbols);

/* All segments of @file lie between virtual address *@low and *@high - 1. */
void unwind_file_extent(const struct unwind_file *file, uint64_t *low,
			uint64_t *high);
/* Copies the @bytes at virtual address @vaddr, as they are in the file, to
 * @out. False: the file does not have all of them. */
bool unwind_file_read(struct unwind_file *file, uint64_t vaddr, void *out,
		      size_t bytes);

struct unwind_fde {
	enum cfi_verdict verdict; /* CFI_BAD: none, or none to be used */
	uint64_t vaddr; /* of the entry */
	uint64_t start; /* vaddr of the first instruction that it describes */
};

/* The frame description of the instruction at virtual address @vaddr, into
 * *@out. */
void unwind_file_fde(struct unwind_file *file, uint64_t vaddr,
		     struct unwind_fde *out);

#endif
