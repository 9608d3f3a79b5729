/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_cfi - checks the call frame information of a function before libunwind
 * sees it. That information comes from whoever made the program; libunwind has
 * assertions on it, and follows its loops. Only what compilers make passes.
 *
 * Format: the LSB's .eh_frame, DWARF 5 section 6.4 for instructions and 2.5 for
 * expressions. Pure apart from the reader; any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_UNWIND_CFI_H
#define PERFREC_COLLECTOR_NAMES_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No more is read of an .eh_frame without a table. */
#define CFI_FRAMES_MAX (16u << 20)

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

/* Checks the frame description entry at virtual address @fde. Unless the result
 * is CFI_BAD, *@range is the code that the entry describes. */
enum cfi_verdict unwind_cfi_check(const struct cfi_reader *reader, uint64_t fde,
				  struct cfi_range *range);
/* Only finds the code that the entry at @fde describes, into *@range. False:
 * the entry makes no sense. */
bool unwind_cfi_range(const struct cfi_reader *reader, uint64_t fde,
		      struct cfi_range *range);
/* Finds the first entry at or behind *@at that describes code, in an .eh_frame
 * that ends at @end: sets *@fde to its address, *@range to the code, and *@at
 * to where the entry ends. False: there is none. */
bool unwind_cfi_next(const struct cfi_reader *reader, uint64_t end,
		     uint64_t *at, uint64_t *fde, struct cfi_range *range);
/* Finds the table in the .eh_frame_hdr at virtual address @header. False: it
 * has no table of this kind, the only kind that linkers make. */
bool unwind_cfi_table(const struct cfi_reader *reader, uint64_t header,
		      struct cfi_table *table);

#endif
