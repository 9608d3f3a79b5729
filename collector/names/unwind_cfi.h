/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_cfi - whether libunwind withstands the call frame information of a
 * function. It comes from whoever made the program, and libunwind has
 * assertions on it and follows its loops. So what it is to see is read here
 * first: only what compilers make passes.
 *
 * Format: the LSB's .eh_frame, DWARF 5 section 6.4 for instructions and 2.5
 * for expressions. Pure apart from the reader; any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_UNWIND_CFI_H
#define PERFREC_COLLECTOR_NAMES_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_reader {
	/* Copies @bytes at virtual address @vaddr; false: not all is there. */
	bool (*read)(void *context, uint64_t vaddr, void *out, size_t bytes);
	void *context;
};

enum cfi_verdict {
	CFI_BAD, /* keep it from libunwind */
	CFI_GOOD,
	CFI_SIGNAL, /* good; what is there returns from a signal handler */
};

/* The sorted table of .eh_frame_hdr: entries of two int32_t, where a function
 * begins and where its description lies, relative to the header. */
struct cfi_table {
	uint64_t vaddr;
	uint32_t count; /* as it claims */
};

struct cfi_range {
	uint64_t start, end; /* virtual addresses */
};

/* Of the frame description entry at @fde, whose code is in *@range unless it is
 * CFI_BAD. */
enum cfi_verdict unwind_cfi_check(const struct cfi_reader *reader, uint64_t fde,
				  struct cfi_range *range);
/* The code alone that the entry at @fde is about; false: it makes no sense. */
bool unwind_cfi_range(const struct cfi_reader *reader, uint64_t fde,
		      struct cfi_range *range);
/* The table of the .eh_frame_hdr at @header; false: it has none of this kind,
 * which is the only one that linkers make. */
bool unwind_cfi_table(const struct cfi_reader *reader, uint64_t header,
		      struct cfi_table *table);

#endif
