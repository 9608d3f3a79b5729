/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_file - reads the ELF files of programs for unwinding: the bytes at a
 * virtual address, and the frame description of an instruction.
 *
 * Files are hostile, and may change or shrink, so they are read page by page
 * and never mapped. The number of pages of all files is limited. At the limit
 * reads fail until unwind_files_edition() drops all pages and everything
 * derived from them. Only for the sampler's thread.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_UNWIND_FILE_H
#define PERFREC_COLLECTOR_PROFILE_UNWIND_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/names/unwind_cfi.h"

struct symbol_file;
struct unwind_file; /* belongs to its unwind_files */
struct unwind_files;

/* Sets *@out, which the caller frees with unwind_files_free(). Returns 0 or
 * -ENOMEM. */
int unwind_files_new(struct unwind_files **out);
/* Frees *@files, which may be NULL, and clears it. */
void unwind_files_free(struct unwind_files **files);
/* Returns the edition. If too many pages were read, drops all of them and
 * starts a new edition. Call it before each stack. */
uint64_t unwind_files_edition(struct unwind_files *files);

/* Returns the file of @symbols, valid until the edition changes; NULL if it
 * cannot be read or too many files are open. The file holds one reference to
 * @symbols, which all recordings share. */
struct unwind_file *unwind_files_get(struct unwind_files *files,
				     struct symbol_file *symbols);

/* Sets *@low and *@high so that all segments of @file lie from virtual address
 * *@low up to *@high - 1. */
void unwind_file_extent(const struct unwind_file *file, uint64_t *low,
			uint64_t *high);
/* Copies the file's @bytes at virtual address @vaddr to @out. Returns false if
 * the file has fewer bytes there. */
bool unwind_file_read(struct unwind_file *file, uint64_t vaddr, void *out,
		      size_t bytes);

struct unwind_fde {
	enum cfi_verdict verdict; /* CFI_BAD: no usable description */
	uint64_t vaddr; /* of the entry */
	uint64_t start; /* vaddr of the first instruction that it describes */
};

/* Sets *@out to the frame description of the instruction at virtual address
 * @vaddr. */
void unwind_file_fde(struct unwind_file *file, uint64_t vaddr,
		     struct unwind_fde *out);

#endif
